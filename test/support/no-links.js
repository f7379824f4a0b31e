// Loaded before a command: hard links fail, as on a file system without them.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

fs.linkSync = () => {
  throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM', syscall: 'link' })
}
syncBuiltinESMExports()
