// What an operator must know about the files of the database: one message when a problem begins, and one when it ends.

import type { StoreLog } from '../../store.ts'
import type { Lost } from './files.ts'

export type ProblemName = 'database' | 'wal' | 'checkpoint' | 'writer'

/** Called with a message while there is a problem, and with undefined while there is none. */
export type SetProblem = (name: ProblemName, problem: string | undefined) => void

const ENDED: Readonly<Record<ProblemName, string>> = {
  database: 'The database file is back.',
  wal: 'The write-ahead log is back. Animals are added again.',
  checkpoint: 'The write-ahead log was truncated.',
  writer: 'The writer thread runs again.',
}

/** Returns a function that may be called as often as its caller likes, and calls `onChange` only if something has changed. */
export function createProblems(onChange: SetProblem): SetProblem {
  const current = new Map<ProblemName, string | undefined>()
  return (name, problem) => {
    if (current.get(name) === problem) return
    current.set(name, problem)
    onChange(name, problem)
  }
}

/** Logs each problem when it begins, and when it ends. */
export function createProblemLog(log: StoreLog): SetProblem {
  return createProblems((name, problem) => {
    if (problem === undefined) log.warn(ENDED[name])
    else if (name === 'checkpoint') log.warn(problem)
    else log.error(problem)
  })
}

export function databaseProblem(path: string, lost: Lost): string {
  const found =
    lost === 'removed'
      ? `The database ${path} is gone.`
      : `Another file is in the place of the database ${path}. It is not used.`
  return `${found} All requests get 503. Move the same file back, or stop the service, run animal-store restore FILE, and start the service. After a volume was detached, restart the service.`
}
