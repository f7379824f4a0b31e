// Loads the scripts of the pages, one bundle for each page. The first request for a script makes all bundles.

import { Worker } from 'node:worker_threads'

/** Bundles by the path of their entry. */
type Bundles = Readonly<Record<string, string>>

const EXTENSION = import.meta.url.endsWith('.js') ? 'js' : 'ts'

/** Takes paths in the repository, without extension. Returns a function that loads the bundle of one of them. */
export function createScriptLoader(entries: readonly string[]): (entry: string) => Promise<string> {
  let bundles: Promise<Bundles> | undefined
  return async entry => {
    bundles ??= bundleInThread(entries).catch(error => {
      bundles = undefined
      throw error
    })
    const script = (await bundles)[entry]
    if (script === undefined) throw new Error(`there is no script ${entry}`)
    return script
  }
}

/**
 * Uses a thread, because on the main thread all other requests would wait. In a checkout the scripts are TypeScript,
 * and stripping their types takes 55 to 90 ms of CPU (Node.js 24.21), mostly to load the TypeScript parser. The service
 * itself does not need this parser, because the compile cache (bin/animal-store.js) has its modules as JavaScript.
 */
function bundleInThread(entries: readonly string[]): Promise<Bundles> {
  const thread = new Worker(new URL(`./bundling-thread.${EXTENSION}`, import.meta.url), {
    workerData: entries,
    // Node.js warns that stripTypeScriptTypes is experimental. Users of the service cannot do anything about it.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  return new Promise((resolve, reject) => {
    thread.once('message', resolve).once('error', reject)
    thread.once('exit', () => reject(new Error('the bundling thread ended without a result')))
  })
}
