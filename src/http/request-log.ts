// One log line per request, with the route instead of the address: an address may hold what must not be logged.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

const REQUEST_ID = /^[!-~]{1,128}$/

/** The client's own `X-Request-Id` where it is short, plain and no API key, else a new one. */
export function requestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
  return ({ headers }) => {
    const given = headers['x-request-id']
    const isUsable = typeof given === 'string' && REQUEST_ID.test(given) && !holdsKey(given)
    return isUsable ? given : randomUUID()
  }

  function holdsKey(text: string): boolean {
    return /as_(live|test)_/.test(text) || (extraKey !== undefined && text.includes(extraKey))
  }
}

export async function logRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const start = performance.now()
  reply.raw.setHeader('x-request-id', request.id)
  reply.raw.once('close', () => {
    const status = statusOf(reply.raw)
    const hasLeft = status === null || (reply.raw.headersSent && !reply.raw.writableFinished)
    request.log.info(
      {
        method: request.method,
        route: request.is404 ? null : request.routeOptions.url,
        status,
        durationMs: Math.round((performance.now() - start) * 1000) / 1000,
        keyId: request.caller?.keyId,
        animalId: request.animalId,
        aborted: hasLeft ? true : undefined,
      },
      'request',
    )
  })
}

/** Nothing was sent where the client left first, unless the refusal of a broken body bypassed the response. */
function statusOf({ headersSent, statusCode }: ServerResponse): number | null {
  return headersSent || statusCode !== 200 ? statusCode : null
}
