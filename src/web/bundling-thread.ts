// The thread that bundles the scripts of the pages. scripts.ts says why it is a thread.

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { bundle } from './bundle.ts'

const entries: readonly string[] = workerData
parentPort?.postMessage(Object.fromEntries(entries.map(entry => [entry, bundle(entry, read)])))

/** The published package contains JavaScript. */
function read(path: string): string {
  const isBuilt = import.meta.url.endsWith('.js')
  const text = readFileSync(new URL(`../../${path}.${isBuilt ? 'js' : 'ts'}`, import.meta.url), 'utf8')
  if (isBuilt) return text
  // A type becomes as many spaces as it has characters.
  return stripTypeScriptTypes(text).replaceAll(/ {2,}/g, (spaces, start: number) =>
    text.startsWith(spaces, start) ? spaces : ' ',
  )
}
