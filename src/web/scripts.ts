// The scripts of the pages, as JavaScript. In a checkout they are TypeScript, and Node.js strips the types when a browser
// first asks for one; in the published package they are built already. Their URLs mirror the repository, so that the
// relative imports between them work.

import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

type Scripts = Readonly<Record<string, string>>

const IS_BUILT = import.meta.url.endsWith('.js')

/** Takes paths in the repository without extension. The result returns the JavaScript of one of them. */
export function scripts(paths: readonly string[]): (path: string) => Promise<string> {
  let loaded: Promise<Scripts> | undefined
  return async path => {
    loaded ??= (IS_BUILT ? readBuilt(paths) : stripTypes(paths)).catch(error => {
      loaded = undefined
      throw error
    })
    const script = (await loaded)[path]
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

/** Uses a thread, because it takes 0.1 s, for which every other request would have to wait. */
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
