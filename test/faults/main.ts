// `npm run test:faults`: all experiments with faults, overload and strangers. The full run takes up to 20 minutes and
// writes test/faults/results.md; `-- --quick` takes up to three, and every change must pass it.

import { databases } from './databases.ts'
import { disks } from './disks.ts'
import { type Experiment, runExperiments } from './figure.ts'
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

await runExperiments('npm run test:faults', EXPERIMENTS, { quick: process.argv.includes('--quick') })
