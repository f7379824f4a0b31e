// One log line per request, with the route instead of the address: an address may hold what must not be logged.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'
import { headerValues } from './headers.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** Tells the requests of this process from those of every other. */
const PROCESS_ID = randomBytes(8).toString('hex')
let requests = 0

export function newRequestId(): string {
  return `${PROCESS_ID}-${++requests}`
}

/** The client's own `X-Request-Id` where it is short, plain and no API key, else a new one. */
export function requestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
  return request => {
    const [given, second] = headerValues(request, 'x-request-id')
    const isUsable = given !== undefined && second === undefined && REQUEST_ID.test(given) && !holdsKey(given)
    return isUsable ? given : newRequestId()
  }

  function holdsKey(text: string): boolean {
    return /as_(live|test)_/.test(text) || (extraKey !== undefined && text.includes(extraKey))
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
        keyId: exchange.caller?.id,
        animalId: exchange.animalId,
        aborted: isAborted ? true : undefined,
      },
      'request',
    )
  })
}

/** Nothing was sent where the client left first, unless the refusal of a broken body bypassed the response. */
function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent || statusCode !== 200 ? statusCode : null
}
