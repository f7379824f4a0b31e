// Finds out whether requests can be served: the tables, the privileges, and the sequence that assigns ids.

import type { QueryResult } from 'pg'
import { unavailable } from '../../error.ts'
import { INT64_MAX } from '../../json.ts'
import { isIdTaken, ReadOnlyError } from './errors.ts'
import type { Pool } from './pool.ts'
import * as sql from './statements.ts'

/**
 * How long, at least, the service is not ready after a creation has failed because its id was taken, unless a later
 * creation succeeds.
 */
const MIN_NOT_READY_MS = 2_000

export interface Readiness {
  /** Resolves if the database has what every request needs. Otherwise rejects with `unavailable`. */
  ping(): Promise<void>
  /**
   * Runs the work, which stores animals. If the sequence is behind its data, moves the sequence and runs the work again,
   * because the failed statement has stored nothing.
   */
  runCreation<Result>(work: () => Promise<Result>): Promise<Result>
}

export function createReadiness(pool: Pool): Readiness {
  /** Set while the last creation failed because its id was taken. */
  let lastIdTakenAt: number | undefined

  async function attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work()
      lastIdTakenAt = undefined
      return result
    } catch (error) {
      if (isIdTaken(error)) lastIdTakenAt = performance.now()
      throw error
    }
  }

  /**
   * A load balancer sends no creation to an instance that is not ready, so no creation can show that the instance has
   * recovered. After MIN_NOT_READY_MS, it checks by itself whether the next id is free.
   */
  async function checkSequence(): Promise<void> {
    if (lastIdTakenAt === undefined) return
    const isRecent = performance.now() - lastIdTakenAt < MIN_NOT_READY_MS
    if (isRecent || (await pool.rows(sql.FIND_TAKEN_NEXT_ID, [])).length > 0) {
      throw unavailable(new Error('the sequence of the ids is behind its data'))
    }
  }

  return {
    async ping() {
      const mayCreate = await pool.withClient(async client => {
        // One round trip for several statements, of which only the last one's result matters.
        const results = (await client.query(sql.PING)) as unknown as QueryResult<PingRow>[]
        const row = results.at(-1)?.rows[0]
        if (row?.read_only !== 'off') throw new ReadOnlyError('the database is read-only')
        return row.may_create
      })
      if (!mayCreate) throw unavailable(new Error('a privilege to create animals is missing'))
      await checkSequence()
    },

    async runCreation(work) {
      try {
        return await attempt(work)
      } catch (error) {
        if (!isIdTaken(error) || !(await moveSequence(pool))) throw error
        return attempt(work)
      }
    },
  }
}

interface PingRow {
  readonly read_only: string
  readonly may_create: boolean
}

/**
 * Moves the sequence to the largest id, never back. Locks out other writers meanwhile. Returns false if that failed,
 * for example because the service lacks the privilege.
 */
async function moveSequence(pool: Pool): Promise<boolean> {
  try {
    await pool.transact(async client => {
      await client.query(sql.LOCK_ANIMALS)
      await client.query(sql.MOVE_SEQUENCE, [INT64_MAX])
    })
    return true
  } catch {
    return false
  }
}
