// Loaded before a command: sends Ctrl+C to its process when it first calls the function of node:fs that INTERRUPT_AT names.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const [name, parent = fs] = process.env.INTERRUPT_AT.startsWith('promises.')
  ? [process.env.INTERRUPT_AT.slice('promises.'.length), fs.promises]
  : [process.env.INTERRUPT_AT]
const original = parent[name]
let isInterrupted = false
parent[name] = (...args) => {
  if (!isInterrupted) process.kill(process.pid, 'SIGINT')
  isInterrupted = true
  return original(...args)
}
syncBuiltinESMExports()
