// Loaded before a command: kills its process before the call of a file function whose number is in KILL_AT_STEP. So a
// test can stop a command at every step.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

let step = 0
for (const name of ['openSync', 'linkSync', 'rmSync', 'renameSync', 'fsyncSync', 'mkdirSync']) {
  const original = fs[name]
  fs[name] = (...args) => {
    if (String(args[0]).includes('production.db') || typeof args[0] === 'number') {
      step++
      if (step === Number(process.env.KILL_AT_STEP)) process.kill(process.pid, 'SIGKILL')
    }
    return original(...args)
  }
}
syncBuiltinESMExports()
