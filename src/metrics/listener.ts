// The listener for operators: /metrics, and the health checks of the service, which a crowd on the main port cannot delay here.
// It rejects malformed requests like the service itself, with the error object.

import { ServiceError } from '../error.ts'
import type { Exchange } from '../http/server/exchange.ts'
import { internalError, methodNotAllowed } from '../http/server/protocol-errors.ts'
import { API_HEADERS, errorReply, OK_REPLY, type Reply } from '../http/server/reply.ts'
import { checkExpectation, checkMessage } from '../http/server/request.ts'
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../http/server/server.ts'
import { CONTENT_TYPE } from './metrics.ts'

/** Each Prometheus server and each load balancer needs one connection. */
const MAX_CONNECTIONS = 100

/** What the listener answers with. */
export interface MetricsSource {
  /** Returns the metrics of all processes. Scrapes that arrive together share one result. */
  render(): Promise<string>
  /** Rejects with `unavailable` if the service should get no requests. */
  checkReadiness(): Promise<void>
}

export function createMetricsServer(source: MetricsSource, log: HttpServerOptions['log']): HttpServer {
  let rendering: Promise<string> | undefined

  function renderShared(): Promise<string> {
    rendering ??= source.render().finally(() => {
      rendering = undefined
    })
    return rendering
  }

  const routes = new Map<string, () => Reply | Promise<Reply>>([
    ['/livez', () => OK_REPLY],
    ['/readyz', () => source.checkReadiness().then(() => OK_REPLY)],
    ['/metrics', async () => metricsReply(await renderShared())],
  ])

  async function answer({ request, path }: Exchange): Promise<Reply> {
    checkMessage(request)
    checkExpectation(request)
    const route = routes.get(path)
    if (route === undefined)
      throw new ServiceError('not_found', `Only ${[...routes.keys()].join(', ')} are served here.`)
    if (!['GET', 'HEAD'].includes(String(request.method))) throw methodNotAllowed('GET, HEAD')
    return route()
  }

  function reportError(error: unknown): Reply {
    if (error instanceof ServiceError) return errorReply(error)
    log.error({ err: error }, 'a request could not be answered')
    return errorReply(internalError(error))
  }

  return createHttpServer({
    answer: exchange => answer(exchange).catch(reportError),
    log,
    limits: { connections: MAX_CONNECTIONS },
  })
}

function metricsReply(text: string): Reply {
  const body = Buffer.from(text)
  const headers = ['content-type', CONTENT_TYPE, 'content-length', String(body.length), ...API_HEADERS]
  return { status: 200, headers, body }
}
