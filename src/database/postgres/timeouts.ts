// How long to wait for PostgreSQL, and how many connections to open. This file does not import pg, so that a start on
// SQLite need not load it.

/** How many connections a process opens at most, unless the settings say otherwise. */
export const DEFAULT_CONNECTIONS = 10

export interface Timeouts {
  /** How long a call may wait in a queue, while the batches before it run. */
  readonly queueMs: number
  /** How long to wait for a free connection, or for a new connection to one host. */
  readonly connectMs: number
  /** After this time no further host is tried. */
  readonly allHostsMs: number
  readonly statementMs: number
}

/** A client is waiting: if PostgreSQL does not answer, the client gets a 503 within three seconds. */
export const REQUEST_TIMEOUTS: Timeouts = {
  queueMs: 600,
  connectMs: 500,
  allHostsMs: 500,
  statementMs: 1_200,
}

/** For commands: better to wait for a busy server than to start an import again. */
export const COMMAND_TIMEOUTS: Timeouts = {
  queueMs: 60_000,
  connectMs: 10_000,
  allHostsMs: 60_000,
  statementMs: 60_000,
}
