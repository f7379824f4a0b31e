// One request with its response, and what is known about it so far.

import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Exchange<Context = unknown> {
  readonly id: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** Everything after the first question mark. */
  readonly query: string
  /** The path as the documentation writes it, or undefined if the path is unknown. */
  route: string | undefined
  /** What the application has found out about the request. */
  context: Context | undefined
  /** For the log: the client's address, and when the request began. Only set if it is logged or measured. */
  readonly address: string | undefined
  readonly startedAt: number
  /** The request is carried out without its body. So what follows in the body, malformed or not, cannot change the response. */
  ignoresBody: boolean
  /** Whether the connection closes after the response. */
  isLast: boolean
  /** Whether it was logged and measured. */
  isReported: boolean
  /** Headers of every reply to this request: alternating names and values. */
  headers: readonly string[]
}
