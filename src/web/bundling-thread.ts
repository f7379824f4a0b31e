// The thread that bundles the scripts of the pages. scripts.ts says why it is a thread.

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { bundle } from './bundle.ts'

const entries: readonly string[] = workerData
const read = import.meta.url.endsWith('.js') ? readBuilt : stripTypes
parentPort?.postMessage(Object.fromEntries(entries.map(entry => [entry, bundle(entry, read)])))

/** The published package contains JavaScript. */
function readBuilt(path: string): string {
  return readFileSync(new URL(`../assets/${path}.js`, import.meta.url), 'utf8')
}

function stripTypes(path: string): string {
  return stripTypeScriptTypes(readFileSync(new URL(`../../${path}.ts`, import.meta.url), 'utf8'))
}
