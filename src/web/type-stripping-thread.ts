// The thread that strips the types from the scripts of the pages. scripts.ts says why it is a thread.

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

/** The source imports .ts files; browsers load .js. */
const IMPORT = /(\bfrom '\.[\w./-]+)\.ts'/g

const paths: readonly string[] = workerData
parentPort?.postMessage(Object.fromEntries(paths.map(path => [path, toJavaScript(path)])))

function toJavaScript(path: string): string {
  const text = readFileSync(new URL(`../../${path}.ts`, import.meta.url), 'utf8')
  return stripTypeScriptTypes(text).replaceAll(IMPORT, "$1.js'")
}
