// One log line per request. It has the route instead of the URL, because a URL may contain a secret.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { KEY_PREFIX } from '../../api-key.ts'
import type { ClientAddress } from './client-address.ts'
import type { Exchange } from './exchange.ts'
import { headerValues } from './headers.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** Makes the request ids of this process different from those of every other process. */
const PROCESS_PREFIX = randomBytes(8).toString('hex')
let requests = 0

export function newRequestId(): string {
  return `${PROCESS_PREFIX}-${++requests}`
}

/** Uses the client's own `X-Request-Id` if it is short, visible ASCII and contains no API key. */
export function createRequestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
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

/** Called for each request that was answered. There is no exchange if the HTTP parser rejected the request. */
export type OnAnswered = (exchange: Exchange | undefined, status: number, durationMs: number) => void

export function logRequest(
  exchange: Exchange,
  log: Logger,
  clientAddress: ClientAddress,
  onAnswered: OnAnswered | undefined,
): void {
  const isLogged = log.isLevelEnabled('info')
  if (!isLogged && onAnswered === undefined) return
  const start = performance.now()
  const { id: requestId, request, response } = exchange
  // Read now, because Node.js forgets it when the connection closes.
  const address = isLogged ? clientAddress(request.socket, request) : undefined
  response.once('close', () => {
    const status = statusOf(response)
    const durationMs = performance.now() - start
    if (status !== null) onAnswered?.(exchange, status, durationMs)
    if (!isLogged) return
    const isAborted = status === null || (response.headersSent && !response.writableFinished)
    log.info(
      {
        requestId,
        address,
        method: request.method,
        route: exchange.route ?? null,
        status,
        durationMs: Math.round(durationMs * 1000) / 1000,
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
