// Which errors of PostgreSQL mean that the database is unavailable, and what some of them tell.

import pg from 'pg'
import { ServiceError, unavailable } from '../../error.ts'

// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, credentials, unknown database, transaction
// rolled back by the server, resources, object not in the required state, operator intervention, system error, read-only.
const UNAVAILABLE = /^(08|28|3D|40|53|55|57|58)|^25(006|P03|P04)$/

// What a person must repair: no id is left (2200H); a schema, table or column is missing (3F000, 42P01, 42703); a
// privilege is missing (42501).
const NEEDS_REPAIR = new Set(['2200H', '3F000', '42P01', '42703', '42501'])

const UNIQUE_VIOLATION = '23505'
const INTERNAL_ERROR = 'XX000'

/** Citus reports an unreachable worker as an internal error. */
const WORKER_LOST = /failure on connection marked as essential/

/** What pg reports of a notice. */
interface Notice {
  readonly routine?: string | undefined
  readonly message?: string | undefined
}

export class ReadOnlyError extends Error {}

/** An error that the server did not report is a connection error, unless it is our own bug. */
export function toServiceError(error: unknown): unknown {
  if (error instanceof ServiceError || error instanceof TypeError || error instanceof RangeError) return error
  return error instanceof pg.DatabaseError && !meansUnavailable(error) ? error : unavailable(error)
}

function meansUnavailable(error: pg.DatabaseError): boolean {
  const { code = '', severity, message } = error
  return (
    // The server closes the connection after such an error.
    severity === 'FATAL' ||
    severity === 'PANIC' ||
    UNAVAILABLE.test(code) ||
    NEEDS_REPAIR.has(code) ||
    isIdTaken(error) ||
    (code === INTERNAL_ERROR && WORKER_LOST.test(message))
  )
}

/**
 * Whether a new animal got the id of an existing one, because the sequence of ids is behind its data. The primary key is
 * the only unique constraint of the table. Citus appends the number of a shard to its name.
 */
export function isIdTaken(error: unknown): boolean {
  const cause = databaseError(error)
  return cause?.code === UNIQUE_VIOLATION && /^animals(_\d+)?$/.test(cause.table ?? '')
}

export function isReadOnly(error: unknown): boolean {
  return error instanceof ReadOnlyError || databaseError(error)?.code === '25006'
}

/** Returns the error that the server reported, if there is one. */
export function databaseError(error: unknown): pg.DatabaseError | undefined {
  const reported = error instanceof ServiceError ? error.cause : error
  return reported instanceof pg.DatabaseError ? reported : undefined
}

/**
 * Whether a commit did not wait for a synchronous standby, because the wait was cancelled. PostgreSQL has committed then,
 * and reports only a warning. Its text depends on the language of the server, the name of the routine does not.
 */
export function isCancelledStandbyWait({ routine, message = '' }: Notice): boolean {
  return routine === 'SyncRepWaitForLSN' || /^canceling (the )?wait for synchronous replication/.test(message)
}
