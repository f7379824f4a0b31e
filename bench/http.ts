// One HTTP request to a contender, outside the measured load.

import { type Agent, type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'

const RESPONSE_TIMEOUT_MS = 30_000

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface HttpResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export function sendRequest(
  address: string,
  agent: Agent,
  key: string,
  { method, path, body }: HttpRequest,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
    }
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
    const outgoing = request(`${address}${path}`, { agent, method, headers, signal }, incoming => {
      text(incoming).then(
        received => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: received }),
        reject,
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
