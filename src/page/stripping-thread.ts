// The thread that makes JavaScript of the modules for browsers, by taking their types out.

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

/** Imports name TypeScript files, where browsers find JavaScript. */
const IMPORT = /(\bfrom '\.[\w./-]+)\.ts'/g

const names: readonly string[] = workerData
parentPort?.postMessage(Object.fromEntries(names.map(name => [name, javaScriptOf(name)])))

function javaScriptOf(name: string): string {
  const text = readFileSync(new URL(`../${name}.ts`, import.meta.url), 'utf8')
  return stripTypeScriptTypes(text).replaceAll(IMPORT, "$1.js'")
}
