// One request, the response to it, and what has become known of it on the way.

import type { IncomingMessage, ServerResponse } from 'node:http'

/** Who sent a request. */
export interface Caller {
  readonly keyId: string
  readonly scope: string
}

export interface Exchange {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** All that follows the first question mark. */
  readonly query: string
  /** The path as the documentation writes it; there if it is one of ours. */
  route: string | undefined
  /** There once the credential was accepted. */
  caller: Caller | undefined
  animalId: bigint | undefined
  /** Sent with every answer from here on, names and values in turn. */
  headers: readonly string[]
}
