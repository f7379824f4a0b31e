// One request with its response, and what the service has found out about it so far.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiKey } from '../../api-key.ts'

export interface Exchange {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** Everything after the first question mark. */
  readonly query: string
  /** The path as the documentation writes it, or undefined if the path is unknown. */
  route: string | undefined
  /** Set once the request is authenticated. */
  apiKey: ApiKey | undefined
  animalId: bigint | undefined
  /** Headers of every reply to this request: alternating names and values. */
  headers: readonly string[]
}
