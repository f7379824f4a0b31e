// Loads the scripts of the pages as JavaScript. The published package contains JavaScript. In a checkout the scripts are
// TypeScript, and Node.js strips the types on the first request for a script. The URLs of the scripts follow the
// repository's folders, so that the relative imports between them work.

import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

/** JavaScript by path. */
type Scripts = Readonly<Record<string, string>>

const IS_BUILT = import.meta.url.endsWith('.js')

/** Takes paths in the repository, without extension. Returns a function that loads one of these scripts. */
export function createScriptLoader(paths: readonly string[]): (path: string) => Promise<string> {
  let scripts: Promise<Scripts> | undefined
  return async path => {
    scripts ??= (IS_BUILT ? readBuilt(paths) : stripTypes(paths)).catch(error => {
      scripts = undefined
      throw error
    })
    const script = (await scripts)[path]
    if (script === undefined) throw new Error(`there is no script ${path}`)
    return script
  }
}

async function readBuilt(paths: readonly string[]): Promise<Scripts> {
  const entries = paths.map(async path => [
    path,
    await readFile(new URL(`../assets/${path}.js`, import.meta.url), 'utf8'),
  ])
  return Object.fromEntries(await Promise.all(entries))
}

/**
 * Uses a thread, because all other requests would wait on the main thread: the first call takes 55 to 90 ms of CPU there
 * (Node.js 24.21, all scripts). Most of it loads the parser. The service has not loaded it, because the compile cache
 * (bin/animal-store.js) stores its own modules as JavaScript.
 */
function stripTypes(paths: readonly string[]): Promise<Scripts> {
  const thread = new Worker(new URL('./type-stripping-thread.ts', import.meta.url), {
    workerData: paths,
    // Node.js warns that stripTypeScriptTypes is experimental. Users of the service cannot do anything about it.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  return new Promise((resolve, reject) => {
    thread.once('message', resolve).once('error', reject)
    thread.once('exit', () => reject(new Error('the type-stripping thread ended without a result')))
  })
}
