// The connection of the main thread, which only reads. All reads of an event-loop turn share one read transaction: locking the
// file takes as long as reading an animal (bench/notes.md).

import type { Connection } from './connection.ts'
import { retryWhileLocked } from './errors.ts'
import { prepareExact, type Statements } from './statements.ts'

export interface Reader {
  /** Runs a step that only reads. Rejects with `unavailable` while the database cannot be used. */
  read<Result>(step: (statements: Statements) => Result): Promise<Result>
  /** Changes with every change by another connection, in this process or another. Undefined if that is unknown. */
  revision(): string | undefined
  /** Makes the next read see the newest changes, even in this event-loop turn. */
  refresh(): void
  close(): void
}

/** `requireFile` throws if the path no longer leads to the open file: SQLite would go on reading a file that was moved. */
export function createReader({ database, statements }: Connection, requireFile: () => void): Reader {
  const begin = prepareExact(database, 'begin')
  const commit = prepareExact(database, 'commit')
  const dataVersion = database.prepare('pragma data_version')
  let isInTurn = false
  let revision: string | undefined

  function beginTurn(): void {
    if (isInTurn) return
    requireFile()
    if (!database.isTransaction) begin.run()
    isInTurn = true
    setImmediate(endTurn)
  }

  function endTurn(): void {
    if (!isInTurn) return
    isInTurn = false
    revision = undefined
    try {
      if (database.isTransaction) commit.run()
    } catch {
      // The next turn continues this transaction, and ends it.
    }
  }

  function inTurn<Result>(step: () => Result): Result {
    try {
      beginTurn()
      return step()
    } catch (error) {
      endTurn()
      throw error
    }
  }

  return {
    read(step) {
      try {
        return Promise.resolve(inTurn(() => step(statements)))
      } catch {
        return retryWhileLocked(() => inTurn(() => step(statements)))
      }
    },

    revision() {
      try {
        return inTurn(() => {
          revision ??= String(dataVersion.get()?.data_version)
          return revision
        })
      } catch {
        return undefined
      }
    },

    refresh: endTurn,

    close() {
      endTurn()
      if (database.isOpen) database.close()
    },
  }
}
