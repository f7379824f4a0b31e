// Loaded before a command: counts its calls of file functions, and kills its process before call number KILL_AT_STEP. A
// test can thus stop a command at every step.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

let step = 0
for (const name of [
  'openSync',
  'linkSync',
  'rmSync',
  'renameSync',
  'fsyncSync',
  'mkdirSync',
  'mkdtempSync',
]) {
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
