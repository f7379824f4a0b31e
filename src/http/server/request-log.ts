// One log line per request. It has the route instead of the URL, because a URL may contain a secret.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { KEY_PREFIX } from '../../api-key.ts'
import type { Exchange } from './exchange.ts'
import { headerValues } from './headers.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** Makes the request ids of this process different from those of every other process. */
const PROCESS_ID = randomBytes(8).toString('hex')
let requests = 0

export function newRequestId(): string {
  return `${PROCESS_ID}-${++requests}`
}

/** Uses the client's own `X-Request-Id` if it is short, visible ASCII and contains no API key. */
export function requestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
  return request => {
    const [given, second] = headerValues(request, 'x-request-id')
    const isUsable =
      given !== undefined && second === undefined && REQUEST_ID.test(given) && !containsKey(given)
    return isUsable ? given : newRequestId()
  }

  function containsKey(text: string): boolean {
    return [...Object.values(KEY_PREFIX), extraKey].some(part => part !== undefined && text.includes(part))
  }
}

export function logRequest(exchange: Exchange, log: Logger): void {
  if (!log.isLevelEnabled('info')) return
  const start = performance.now()
  const { id: requestId, request, response } = exchange
  response.once('close', () => {
    const status = statusOf(response)
    const isAborted = status === null || (response.headersSent && !response.writableFinished)
    log.info(
      {
        requestId,
        method: request.method,
        route: exchange.route ?? null,
        status,
        durationMs: Math.round((performance.now() - start) * 1000) / 1000,
        keyId: exchange.apiKey?.id,
        animalId: exchange.animalId,
        aborted: isAborted ? true : undefined,
      },
      'request',
    )
  })
}

/** Null if the client disconnected before it was answered. A parser error sets the status without sending headers. */
function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent || statusCode !== 200 ? statusCode : null
}
