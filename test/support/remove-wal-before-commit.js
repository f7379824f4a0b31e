// Loaded before the writer thread: removes the write-ahead log right after the check that precedes the first commit.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** The check before the database is opened comes first. */
const CHECK_BEFORE_COMMIT = 2

const original = fs.statSync
let checks = 0
fs.statSync = (path, ...options) => {
  const stats = original(path, ...options)
  if (String(path).endsWith('-wal') && ++checks === CHECK_BEFORE_COMMIT) fs.rmSync(path)
  return stats
}
syncBuiltinESMExports()
