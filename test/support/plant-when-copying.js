// Loaded before a command: puts `planted-wal` beside backup.db as soon as the command has begun to copy it.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const original = fs.promises.copyFile
fs.promises.copyFile = (...args) => {
  fs.copyFileSync('planted-wal', 'backup.db-wal')
  return original(...args)
}
syncBuiltinESMExports()
