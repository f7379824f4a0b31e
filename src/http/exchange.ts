// One request, the response to it, and what has become known of it on the way.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiKey } from '../api-key.ts'

export interface Exchange {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** All that follows the first question mark. */
  readonly query: string
  /** The path as the documentation writes it; there if it is one of ours. */
  route: string | undefined
  /** The key it was sent with, once that was accepted. */
  caller: ApiKey | undefined
  animalId: bigint | undefined
  /** Sent with every answer from here on, names and values in turn. */
  headers: readonly string[]
}
