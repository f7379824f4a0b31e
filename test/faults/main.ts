// `npm run test:faults`: all experiments with faults, overload and strangers. The full run takes up to 15 minutes and
// writes test/faults/results.md; `-- --quick` takes up to three, and every change must pass it.

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import { databases } from './databases.ts'
import { disks } from './disks.ts'
import { type Experiment, type Figure, type Options, print } from './figure.ts'
import { hostile } from './hostile.ts'
import { kills } from './kills.ts'
import { locks } from './locks.ts'
import { overload } from './overload.ts'
import { smuggling } from './smuggling.ts'
import { strangers } from './strangers.ts'
import { unknownKeys } from './unknown-keys.ts'

const EXPERIMENTS: Readonly<Record<string, Experiment>> = {
  'The service is killed': kills,
  'The disk fails': disks,
  'The database is locked': locks,
  'PostgreSQL fails': databases,
  'Too many requests': overload,
  'Strangers and slow clients': strangers,
  'Unknown keys': unknownKeys,
  'Request smuggling': smuggling,
  'Hostile requests': hostile,
}

const REPORT = fileURLToPath(new URL('results.md', import.meta.url))
const START = '<!-- written by npm run test:faults -->'
const END = '<!-- end -->'

const options: Options = { quick: process.argv.includes('--quick') }
const results = new Map<string, Figure[]>()
let holds = true
for (const [title, experiment] of Object.entries(EXPERIMENTS)) {
  const startedAt = performance.now()
  console.log(`\n${title}`)
  const figures = await experiment(options).catch(failed)
  holds = print(figures, options) && holds
  results.set(title, figures)
  console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s`)
}
if (!options.quick) writeReport()
process.exitCode = holds ? 0 : 1

/** One experiment that cannot be completed does not stop the others. */
function failed(error: unknown): Figure[] {
  console.log(error)
  return [{ promise: 'the experiment can be completed', measured: String(error), holds: false }]
}

function writeReport(): void {
  const rows = [...results].flatMap(([title, figures]) => [
    `\n## ${title}\n`,
    '| promise | measured | holds |',
    '|---|---|---|',
    ...figures.map(
      ({ promise, measured, holds }) => `| ${promise} | ${measured} | ${holds ? 'yes' : '**no**'} |`,
    ),
  ])
  const machine = `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${type()} ${release()}, Node.js ${process.versions.node}.`
  const text = readFileSync(REPORT, 'utf8')
  const before = text.slice(0, text.indexOf(START) + START.length)
  writeFileSync(REPORT, `${before}\n\n${machine}\n${rows.join('\n')}\n\n${text.slice(text.indexOf(END))}`)
}
