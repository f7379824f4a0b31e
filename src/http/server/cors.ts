// CORS: which pages of other origins may use the API from a browser (docs/decisions/cross-origin.md).

import type { IncomingMessage } from 'node:http'
import { API_HEADERS, type Reply } from './reply.ts'
import { headerValues } from './request.ts'

const EXPOSED_HEADERS =
  'ETag, Link, Location, Deprecation, Sunset, Retry-After, X-Request-Id, Idempotent-Replayed, RateLimit-Policy, RateLimit'

const PREFLIGHT_HEADERS = Object.entries({
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id',
  // The longest time that any browser respects.
  'access-control-max-age': '86400',
}).flat()

/** `*` among the origins allows all of them. `methods` are those of the API, separated by commas. */
export function createCors(origins: readonly string[], methods: string) {
  const allowsAll = origins.includes('*')
  const headers = [...API_HEADERS, 'access-control-allow-methods', methods, ...PREFLIGHT_HEADERS]
  const preflightReply: Reply = { status: 204, headers, body: '' }

  function allowedOrigin(request: IncomingMessage): string | undefined {
    if (allowsAll) return '*'
    const [origin = '', second] = headerValues(request, 'origin')
    return second === undefined && origins.includes(origin) ? origin : undefined
  }

  return {
    /** Returns the CORS headers of every reply to this request: alternating names and values. */
    headersFor(request: IncomingMessage): readonly string[] {
      const allowed = allowedOrigin(request)
      // Caches must keep the replies to different origins apart, including those to origins that are not allowed.
      const headers = allowsAll ? [] : ['vary', 'Origin']
      if (allowed === undefined) return headers
      return [
        ...headers,
        ...['access-control-allow-origin', allowed],
        ...['access-control-expose-headers', EXPOSED_HEADERS],
      ]
    },

    /** Returns the reply if the request is a preflight from an allowed origin, otherwise undefined. */
    preflight(request: IncomingMessage): Reply | undefined {
      const isPreflight =
        request.method === 'OPTIONS' &&
        headerValues(request, 'origin').length === 1 &&
        headerValues(request, 'access-control-request-method').length === 1
      return isPreflight && allowedOrigin(request) !== undefined ? preflightReply : undefined
    },
  }
}
