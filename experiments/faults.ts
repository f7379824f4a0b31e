// All experiments with faults, overload and strangers. The full run takes up to 20 minutes and writes README.md; `--quick`
// takes up to two, and every change must pass it. With the names of experiments, such as `kills disks`, only those run, and
// nothing is written.

import { parseArgs } from 'node:util'
import { databases } from './faults/databases.ts'
import { disks } from './faults/disks.ts'
import { runExperiments } from './faults/figure.ts'
import { kills } from './faults/kills.ts'
import { output } from './faults/output.ts'
import { overload } from './faults/overload.ts'
import { smuggling } from './faults/smuggling.ts'
import { strangers } from './faults/strangers.ts'
import { unknownKeys } from './faults/unknown-keys.ts'

const EXPERIMENTS = {
  'The service is killed': kills,
  'The disk fails': disks,
  'The output stalls': output,
  'PostgreSQL fails': databases,
  'Too many requests': overload,
  'Strangers and slow clients': strangers,
  'Unknown keys': unknownKeys,
  'Request smuggling': smuggling,
}

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const chosen = Object.entries(EXPERIMENTS).filter(
  ([, { name }]) => positionals.length === 0 || positionals.includes(name),
)
if (chosen.length < positionals.length) {
  const names = Object.values(EXPERIMENTS).map(({ name }) => name)
  throw new Error(`The experiments are ${names.join(', ')}.`)
}
await runExperiments(Object.fromEntries(chosen), {
  quick: values.quick,
  ...(positionals.length === 0 && { writeTo: 'faults.ts' }),
})
// The clients of an experiment that could not be completed would go on.
process.exit()
