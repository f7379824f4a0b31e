// Loaded before a command: links fail, as on a file system that has none.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

fs.linkSync = () => {
  throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM', syscall: 'link' })
}
syncBuiltinESMExports()
