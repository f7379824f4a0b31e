// Which request ids the service accepts from clients.

import type { IncomingMessage } from 'node:http'
import { ALL_PREFIXES } from '../api-key.ts'
import { headerValues } from './server/request.ts'
import { newRequestId } from './server/request-log.ts'

const REQUEST_ID = /^[!-~]{1,128}$/

/** Uses the client's own `X-Request-Id` if it is short, visible ASCII and contains no API key. */
export function createRequestIds(extraKey: string | undefined): (request: IncomingMessage) => string {
  function containsKey(text: string): boolean {
    return [...ALL_PREFIXES, extraKey].some(part => part !== undefined && text.includes(part))
  }

  return request => {
    const [given, second] = headerValues(request, 'x-request-id')
    const isUsable =
      given !== undefined && second === undefined && REQUEST_ID.test(given) && !containsKey(given)
    return isUsable ? given : newRequestId()
  }
}
