// The listener of the metrics: /metrics, and nothing else. It rejects malformed requests like the service itself, with the
// error object.

import { ServiceError } from '../error.ts'
import type { Exchange } from '../http/server/exchange.ts'
import { methodNotAllowed } from '../http/server/protocol-errors.ts'
import { API_HEADERS, errorReply, type Reply } from '../http/server/reply.ts'
import { checkExpectation, checkMessage } from '../http/server/request.ts'
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../http/server/server.ts'
import { CONTENT_TYPE } from './metrics.ts'

/** Each Prometheus server needs one connection. */
const MAX_CONNECTIONS = 100

/** `render` returns the metrics of all processes. Scrapes that arrive together share one result. */
export function createMetricsServer(
  render: () => Promise<string>,
  log: HttpServerOptions['log'],
): HttpServer {
  let rendering: Promise<string> | undefined

  function renderShared(): Promise<string> {
    rendering ??= render().finally(() => {
      rendering = undefined
    })
    return rendering
  }

  async function scrape({ request, path }: Exchange): Promise<Reply> {
    checkMessage(request)
    checkExpectation(request)
    if (path !== '/metrics') throw new ServiceError('not_found', 'Only /metrics is served here.')
    if (!['GET', 'HEAD'].includes(String(request.method))) throw methodNotAllowed('GET, HEAD')
    const body = Buffer.from(await renderShared())
    const headers = ['content-type', CONTENT_TYPE, 'content-length', String(body.length), ...API_HEADERS]
    return { status: 200, headers, body }
  }

  function reportError(error: unknown): Reply {
    if (error instanceof ServiceError) return errorReply(error)
    log.error({ err: error }, 'the metrics could not be collected')
    return errorReply(new ServiceError('internal_error', 'The metrics could not be collected.'))
  }

  return createHttpServer({
    answer: exchange => scrape(exchange).catch(reportError),
    log,
    limits: { connections: MAX_CONNECTIONS },
  })
}
