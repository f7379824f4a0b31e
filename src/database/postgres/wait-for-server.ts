// Waits at the start for a server that is not up yet, or not writable yet.

import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { ServiceError } from '../../error.ts'
import { describeSystemError, isNetworkError } from '../../system-error.ts'
import { isReadOnly } from './errors.ts'

const RETRY_INTERVAL_MS = 250

/**
 * The server is starting, shutting down or a standby (57), or has no connection left (53300). Wrong credentials and an
 * unknown database are not temporary: a person must correct them.
 */
const TEMPORARY_STATES = /^(57P0[1-3]|53300)$/

/** What PgBouncer answers while its server is down. It has one code, 08P01, for most of its errors. */
const POOLER_WITHOUT_SERVER = /server_login_retry|query_wait_timeout/

/** What to do about an error of the server: a sentence without its full stop. */
const HINTS: Readonly<Record<string, string>> = {
  '3D000': 'Create it, for example with createdb, or correct the URL',
  '42501':
    'Use the role that owns the tables and the schema, or let that role run animal-store migrate and grant this one the rights to use them',
}

/** pg gives these errors no code. */
const TEMPORARY_MESSAGE = /time-?out|connection terminated/i

interface StartOptions {
  readonly waitMs: number
  /** Called once for each reason to wait. */
  readonly onWait: (reason: string) => void
  /** An attempt may end before it has tried every host, so there are as many attempts as hosts, whatever `waitMs` is. */
  readonly minAttempts: number
}

/** Runs the step again while the server is unreachable or read-only. */
export async function retryWhileStarting<Result>(
  step: () => Promise<Result>,
  { waitMs, onWait, minAttempts }: StartOptions,
): Promise<Result> {
  const deadline = performance.now() + waitMs
  const reasons = new Set<string>()
  for (let attempt = 1; ; attempt++) {
    try {
      return await step()
    } catch (error) {
      const isOver = performance.now() >= deadline
      if (!isTemporary(error) || (isOver && attempt >= minAttempts)) throw error
      const reason = describeConnectFailure(error)
      if (!isOver && !reasons.has(reason)) {
        reasons.add(reason)
        onWait(reason)
      }
      await delay(RETRY_INTERVAL_MS)
    }
  }
}

/** Returns the reason in one line, without a code of the operating system. */
export function describeConnectFailure(error: unknown): string {
  const cause = rootCause(error)
  if (!(cause instanceof Error)) return String(cause)
  const { code = '', path, message, name } = cause as NodeJS.ErrnoException
  if (isNetworkError(cause)) return describeSystemError(cause)
  if (isSocketMissing(cause)) return `there is no socket ${'address' in cause ? cause.address : ''}`
  if (path !== undefined) return `cannot read ${path}: ${describeSystemError(cause)}`
  const reason = (message || name).split('\n', 1)[0] as string
  const hint = cause instanceof pg.DatabaseError ? HINTS[code] : undefined
  return hint === undefined ? reason : `${reason}. ${hint}`
}

/** What the server or the network reported. If a host name has several addresses, there is one error for each of them. */
function rootCause(error: unknown): unknown {
  const cause = error instanceof ServiceError ? error.cause : error
  return cause instanceof AggregateError && cause.errors.length > 0 ? cause.errors[0] : cause
}

function isTemporary(error: unknown): boolean {
  const cause = rootCause(error)
  if (isReadOnly(cause)) return true
  if (cause instanceof pg.DatabaseError)
    return TEMPORARY_STATES.test(cause.code ?? '') || POOLER_WITHOUT_SERVER.test(cause.message)
  if (!(cause instanceof Error)) return false
  return isNetworkError(cause) || isSocketMissing(cause) || TEMPORARY_MESSAGE.test(cause.message)
}

/** A socket file is missing until its server has started. A certificate that is missing stays missing. */
function isSocketMissing({ code, syscall }: NodeJS.ErrnoException): boolean {
  return code === 'ENOENT' && syscall === 'connect'
}
