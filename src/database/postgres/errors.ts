// Recognises errors of PostgreSQL: those that mean that the database is unavailable, and those that callers handle.

import pg from 'pg'
import { ServiceError, unavailable } from '../../error.ts'

// https://www.postgresql.org/docs/current/errcodes-appendix.html: connection, credentials, unknown database, transaction
// rolled back by the server, resources, object not in the required state, operator intervention, system error, read-only,
// time-outs of the server, corrupt data. Also what a person must repair: no id is left (2200H) or generated (23502); a
// schema, table, column or privilege is missing (3F000, 42P01, 42703, 42501), or the primary key of the idempotency keys
// (42P10).
const UNAVAILABLE =
  /^(08|28|3D|40|53|55|57|58)|^(2200H|23502|25006|25P03|25P04|3F000|42501|42703|42P01|42P10|XX001|XX002)$/

/** The engine cannot run a statement of this form, or a prepared statement is outdated. */
const NOT_SUPPORTED = '0A000'
const UNIQUE_VIOLATION = '23505'

/** Citus reports an unreachable worker as an internal error (XX000). */
const WORKER_LOST = /failure on connection marked as essential/

export class ReadOnlyError extends Error {}

const OTHER_ERRORS = [pg.DatabaseError, ServiceError, ReadOnlyError, TypeError, RangeError]

/** The next id of a new animal is taken. */
export function sequenceBehind(cause?: unknown): ServiceError {
  const message =
    "the sequence of the ids is behind its data; run: select setval('animals_id_seq', max(id)) from animals"
  return unavailable({ cause: new Error(message, { cause }) })
}

/**
 * Returns `unavailable` if the error means that the database cannot be used, otherwise the error itself. Removes the
 * fields that may contain rows or values, because errors are logged in full. `isSent` says whether a statement was sent.
 */
export function toServiceError(error: unknown, isSent = true): unknown {
  if (error instanceof pg.DatabaseError)
    Object.assign(error, { detail: undefined, where: undefined, internalQuery: undefined })
  if (isIdTaken(error)) return sequenceBehind(error)
  const isUnusable =
    error instanceof pg.DatabaseError
      ? meansUnavailable(error)
      : error instanceof ReadOnlyError || isConnectionError(error)
  return isUnusable ? unavailable({ cause: error, isNothingStored: !isSent || isRolledBack(error) }) : error
}

/** The server rolls back a statement that it rejects. After an error of its own, or a shutdown, nobody knows. */
function isRolledBack(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(08|57P|58|XX)/.test(error.code ?? '')
}

/**
 * Returns the reason why a connection could not be opened. Without a password, pg itself fails if the server asks for
 * SCRAM, and for the other methods it sends something that the server rejects (28P01).
 */
export function toConnectError(error: Error, hasPassword: boolean): Error {
  const isPasswordMissing =
    !hasPassword && (error.message.startsWith('SASL:') || databaseError(error)?.code === '28P01')
  return isPasswordMissing
    ? new Error('the server asks for a password, and the URL (or PGPASSWORD) has none', { cause: error })
    : error
}

/** An error that the server did not report is a time-out or a lost connection, unless it is from our own code. */
export function isConnectionError(error: unknown): boolean {
  return !OTHER_ERRORS.some(type => error instanceof type)
}

function meansUnavailable(error: pg.DatabaseError): boolean {
  const { code = '', severity, message } = error
  return (
    // The server closes the connection after such an error.
    severity === 'FATAL' ||
    severity === 'PANIC' ||
    UNAVAILABLE.test(code) ||
    isOutdatedPlan(error) ||
    (code === 'XX000' && WORKER_LOST.test(message))
  )
}

/**
 * Whether a new animal got the id of an existing one. The message names the constraint in every language. Citus appends
 * the number of a shard to its name, and may report it in the message only.
 */
function isIdTaken(error: unknown): boolean {
  const { code, message = '' } = databaseError(error) ?? {}
  return code === UNIQUE_VIOLATION && /\banimals_pkey(_\d+)?\b/.test(message)
}

export function isReadOnly(error: unknown): boolean {
  return error instanceof ReadOnlyError || databaseError(error)?.code === '25006'
}

/** Whether a column that a prepared statement returns has changed its type. The statement has not run. */
export function isOutdatedPlan(error: unknown): boolean {
  const cause = databaseError(error)
  return cause?.code === NOT_SUPPORTED && cause.routine === 'RevalidateCachedQuery'
}

/** Whether the engine cannot run statements of this form, as on Citus. */
export function isUnsupportedStatement(error: unknown): boolean {
  return databaseError(error)?.code === NOT_SUPPORTED && !isOutdatedPlan(error)
}

/** Returns the error that the server reported, if there is one. */
export function databaseError(error: unknown): pg.DatabaseError | undefined {
  const reported = error instanceof ServiceError ? error.cause : error
  return reported instanceof pg.DatabaseError ? reported : undefined
}
