// Waits at the start for a server that is not up yet, or not writable yet.

import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { ServiceError } from '../../error.ts'
import { isReadOnly } from './errors.ts'

const RETRY_INTERVAL_MS = 250

/**
 * The server is starting, shutting down or a standby (57), or has no connection left (53300). Credentials and the name of
 * the database are wrong until a person corrects them.
 */
const TEMPORARY_STATES = /^(57P0[1-3]|53300)$/

/** A host name may be unknown for a moment too: the name of a container resolves only once that container runs. */
const TEMPORARY_ERRORS = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // The socket file of a server that has not started yet.
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
])

/** pg gives these errors no code. */
const TEMPORARY_MESSAGE = /time-?out|connection terminated/i

/** Runs the step again while the server is unreachable or read-only. `onWait` is called once, with the reason. */
export async function retryWhileStarting<Result>(
  step: () => Promise<Result>,
  { waitMs, onWait }: { readonly waitMs: number; readonly onWait: (reason: string) => void },
): Promise<Result> {
  const deadline = performance.now() + waitMs
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await step()
    } catch (error) {
      if (!isTemporary(causeOf(error)) || performance.now() >= deadline) throw error
      if (isFirst) onWait(describeFailure(error))
      await delay(RETRY_INTERVAL_MS)
    }
  }
}

/** Returns the reason in one line. */
export function describeFailure(error: unknown): string {
  const cause = causeOf(error)
  const reason = cause instanceof Error ? cause.message || codeOf(cause) || cause.name : String(cause)
  return reason.split('\n', 1)[0] as string
}

function causeOf(error: unknown): unknown {
  return error instanceof ServiceError ? error.cause : error
}

function isTemporary(cause: unknown): boolean {
  if (isReadOnly(cause)) return true
  if (cause instanceof pg.DatabaseError) return TEMPORARY_STATES.test(cause.code ?? '')
  return (
    cause instanceof Error && (TEMPORARY_ERRORS.has(codeOf(cause)) || TEMPORARY_MESSAGE.test(cause.message))
  )
}

/** If a host name has several addresses, the error for all of them has a code, but no message. */
function codeOf(error: Error): string {
  return String((error as NodeJS.ErrnoException).code ?? '')
}
