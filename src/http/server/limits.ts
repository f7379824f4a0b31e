// The limits of the HTTP server.

export const MAX_HEADER_BYTES = 16 * 1024

/** The largest animal takes about 12 KiB, with every character of its name escaped. */
export const MAX_BODY_BYTES = 64 * 1024

/** Node.js enforces this limit itself. */
export const MAX_CHUNK_EXTENSION_BYTES = 16 * 1024

/** The most that one process keeps for all of its clients together. */
export interface ServerLimits {
  readonly connections: number
  /** With this many requests in flight, no further pipelined request is accepted. */
  readonly requests: number
  /** The size of all responses that wait for clients to read them. */
  readonly waitingBytes: number
}

export const SERVER_LIMITS: ServerLimits = {
  connections: 10_000,
  requests: 5_000,
  waitingBytes: 64 * 1024 * 1024,
}

export function inKib(bytes: number): string {
  return `${bytes / 1024} KiB`
}
