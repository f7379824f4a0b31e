// The modules that browsers load, as JavaScript: in a checkout they are TypeScript, whose types are taken out when the
// first one is asked for; in the published package they were built with the rest. Their addresses mirror src/, so that
// the imports between them hold.

import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'

type Texts = Readonly<Record<string, string>>

const IS_BUILT = import.meta.url.endsWith('.js')

/** Takes the names of files below src/, without their extensions, and gives each as JavaScript. */
export function scripts(names: readonly string[]): (name: string) => Promise<string> {
  let texts: Promise<Texts> | undefined
  return async name => {
    texts ??= (IS_BUILT ? readAll(names) : stripAll(names)).catch(error => {
      texts = undefined
      throw error
    })
    const text = (await texts)[name]
    if (text === undefined) throw new Error(`there is no module ${name}`)
    return text
  }
}

async function readAll(names: readonly string[]): Promise<Texts> {
  const texts = names.map(async name => [
    name,
    await readFile(new URL(`../${name}.js`, import.meta.url), 'utf8'),
  ])
  return Object.fromEntries(await Promise.all(texts))
}

/** On a thread of its own: it takes a tenth of a second, for which everyone else would have to wait. */
function stripAll(names: readonly string[]): Promise<Texts> {
  const thread = new Worker(new URL('./stripping-thread.ts', import.meta.url), {
    workerData: names,
    // Node still calls it an experiment, which is no news to whoever runs this.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  return new Promise((resolve, reject) => {
    thread.once('message', resolve).once('error', reject)
    thread.once('exit', () => reject(new Error('the modules could not be made')))
  })
}
