// One read transaction for all reads of an event-loop turn. Locking the file takes as long as reading an animal: with a
// transaction for each read, a request took 22.3 µs instead of 16.7.

import type { DatabaseSync, StatementSync } from 'node:sqlite'

export interface ReadSession {
  readonly database: DatabaseSync
  readonly begin: StatementSync
  readonly commit: StatementSync
}

export interface Turn<Session> {
  readonly session: Session
  /** The revision of the database in this transaction, once it has been read. */
  revision: string | undefined
}

export interface ReadTransaction<Session> {
  /** Returns the transaction of this event-loop turn, and begins it if necessary. */
  current(): Turn<Session>
  /** Ends the transaction early, so that the next read sees the newest changes. */
  end(): void
}

export function createReadTransaction<Session extends ReadSession>(
  openSession: () => Session,
): ReadTransaction<Session> {
  let turn: Turn<Session> | undefined

  function end(): void {
    if (turn === undefined) return
    const { database, commit } = turn.session
    turn = undefined
    try {
      if (database.isOpen && database.isTransaction) commit.run()
    } catch {
      // The next read opens the file again.
      database.close()
    }
  }

  return {
    current() {
      if (turn === undefined) {
        const session = openSession()
        session.begin.run()
        turn = { session, revision: undefined }
        setImmediate(end)
      }
      return turn
    },
    end,
  }
}
