#!/usr/bin/env node
// The command `animal-store`: runs src/main.ts (src/main.js in the published package) on a Node.js that is new enough.
// This file must also run on Node.js 20.

import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { canReplaceProcess, ownOrBundledRuntime, run } from './runtime.js'

/** The flags of V8 that the service runs with. One that was given to this process, or is in NODE_OPTIONS, is kept. */
const FLAGS = [
  // Each half of the young generation gets at most 4 MiB instead of 16, which saves memory (docs/performance.md).
  '--max-semi-space-size=4',
  // V8 would allocate requests in the old generation after a burst of connections (bench/notes.md).
  '--no-allocation-site-pretenuring',
  // One background thread of V8 instead of four, each of which has memory of its own (bench/notes.md).
  '--v8-pool-size=1',
]

const args = process.argv.slice(2)
const given = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(' ')].map(nameOf)
// A worker inherits the flags of its primary process.
const flags = args[0] === 'serve' ? FLAGS.filter(flag => !given.includes(nameOf(flag))) : []
const runtime = ownOrBundledRuntime()
// On Windows the service runs without the flags: a second process would stay in memory.
if (runtime === process.execPath && (flags.length === 0 || !canReplaceProcess)) {
  // The cache saves time and memory (bench/notes.md). It lies among the packages because code must not be loaded from
  // a folder that others can write to, such as the system's temporary folder.
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/animal-store', import.meta.url)))
  const source = new URL('../src/main.ts', import.meta.url)
  await import(existsSync(source) ? source.href : '../src/main.js')
} else {
  // Otherwise the new process would check the machine's own Node.js again.
  delete process.env.npm_node_execpath
  run(runtime, [...process.execArgv, ...flags, fileURLToPath(import.meta.url), ...args])
}

/** V8 accepts underscores for hyphens, and `no-` for the opposite. */
function nameOf(flag) {
  return flag
    .split('=')[0]
    .replaceAll('_', '-')
    .replace(/^--no-/, '--')
}
