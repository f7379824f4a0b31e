#!/usr/bin/env node
// The command `animal-store`: runs src/main.ts (or dist/main.js in the published package) on a Node.js that is new enough.
// This file must also run on Node.js 20.

import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { ownOrBundledRuntime, run } from './runtime.js'

const runtime = ownOrBundledRuntime()
if (runtime === process.execPath) {
  // The cache halves the start-up time and saves 25 MB. It lies among the packages because code must not be loaded from
  // a folder that others can write to, such as the system's temporary folder.
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/animal-store', import.meta.url)))
  const source = new URL('../src/main.ts', import.meta.url)
  await import(existsSync(source) ? source.href : '../dist/main.js')
} else {
  // The runtime must not look for another one in turn.
  delete process.env.npm_node_execpath
  run(runtime, [fileURLToPath(import.meta.url), ...process.argv.slice(2)])
}
