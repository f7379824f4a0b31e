// The listener of the metrics: /metrics, and nothing else.

import { createServer, type Server, type ServerResponse } from 'node:http'
import { renderError, ServiceError } from '../error.ts'
import { CONTENT_TYPE } from './metrics.ts'

const OPTIONS = { headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 16 * 1024 }

const HEADERS = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']
const ALLOW = 'GET, HEAD'

/** Each Prometheus server needs one connection. */
const MAX_CONNECTIONS = 100

/** `render` returns the metrics of all processes. Scrapes that arrive together share one result. */
export function createMetricsServer(render: () => Promise<string>): Server {
  let rendering: Promise<string> | undefined

  function rendered(): Promise<string> {
    rendering ??= render().finally(() => {
      rendering = undefined
    })
    return rendering
  }

  const server = createServer(OPTIONS, async (request, response) => {
    const [path] = (request.url ?? '').split('?', 1)
    if (path !== '/metrics')
      return sendError(response, new ServiceError('not_found', 'Only /metrics is served here.'))
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendError(
        response,
        new ServiceError('method_not_allowed', `This path supports ${ALLOW} only.`, {
          headers: ['allow', ALLOW],
        }),
      )
    try {
      const body = await rendered()
      response.writeHead(200, ['content-type', CONTENT_TYPE, ...HEADERS]).end(body)
    } catch (error) {
      console.error(error)
      sendError(response, new ServiceError('internal_error', 'The metrics could not be collected.'))
    }
  })
  server.maxConnections = MAX_CONNECTIONS
  return server
}

function sendError(response: ServerResponse, error: ServiceError): void {
  response
    .writeHead(error.status, ['content-type', 'application/json', ...HEADERS, ...error.headers])
    .end(renderError(error))
}
