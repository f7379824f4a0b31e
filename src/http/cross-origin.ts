// Pages of other origins that may use the service from a browser (docs/decisions/cross-origin.md).

import type { IncomingMessage } from 'node:http'
import { headerValues } from './headers.ts'
import type { Reply } from './reply.ts'

const EXPOSED = 'Link, Location, Deprecation, Sunset, Retry-After, X-Request-Id, Idempotent-Replayed'

const PERMISSION_HEADERS = Object.entries({
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
  // The longest that any browser keeps to.
  'access-control-max-age': '86400',
}).flat()

const PERMISSION: Reply = { status: 204, headers: PERMISSION_HEADERS, body: '' }

const NONE: readonly string[] = []

export interface CrossOrigin {
  /** What is sent with every answer to the request, names and values in turn. */
  headersFor(request: IncomingMessage): readonly string[]
  /** The answer to a browser that asks whether a page may send a request; undefined for anything else. */
  preflight(request: IncomingMessage): Reply | undefined
}

/** Takes the origins that are let in, `*` for all. */
export function crossOrigin(origins: readonly string[]): CrossOrigin {
  const isAnyLetIn = origins.includes('*')

  function allowedOrigin(request: IncomingMessage): string | undefined {
    if (isAnyLetIn) return '*'
    const [origin = '', second] = headerValues(request, 'origin')
    return second === undefined && origins.includes(origin) ? origin : undefined
  }

  return {
    headersFor(request) {
      if (origins.length === 0) return NONE
      const allowed = allowedOrigin(request)
      // Whoever keeps answers must keep one for each origin, also of those that are not let in.
      const headers = isAnyLetIn ? [] : ['vary', 'Origin']
      if (allowed === undefined) return headers
      return [...headers, 'access-control-allow-origin', allowed, 'access-control-expose-headers', EXPOSED]
    },

    preflight(request) {
      const isAsked =
        request.method === 'OPTIONS' &&
        origins.length > 0 &&
        headerValues(request, 'origin').length === 1 &&
        headerValues(request, 'access-control-request-method').length === 1
      if (!isAsked || allowedOrigin(request) === undefined) return undefined
      return PERMISSION
    },
  }
}
