// Mixed load for half an hour on each database, while processes are killed, keys are rotated, and animals are imported,
// exported and backed up. No acknowledged creation, change or removal may be lost, and memory must not grow.
//
// On SQLite the service has two workers, and the second one is killed. On PostgreSQL there are two instances, and the
// second one is killed. So the memory of the others can be measured for the whole time. After that comes a last part, a
// sixth as long, in which any worker and whole services are killed.
//
//   node experiments/soak.ts [--minutes 30] [--database sqlite|postgresql]

import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Animal } from '../src/animal.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { type Scope, temporaryFolder } from '../test/support/service.ts'
import { type Figure, runExperiments } from './faults/figure.ts'
import { startLoad } from './faults/mixed-load.ts'
import { compare } from './faults/own-animals.ts'
import { inScope } from './faults/processes.ts'
import { describe, isIntact, send } from './faults/writes.ts'
import { createCommands } from './soak/commands.ts'
import { watchMemory } from './soak/memory.ts'
import { type Size, startServices } from './soak/services.ts'

const MINUTE_MS = 60_000

/** A shorter run prints how memory grows, and does not fail because of it: the caches are still filling up. */
const FULL_MINUTES = 30

/** How much longer the last part takes, in which anything is killed. */
const TOTAL = 7 / 6

/** The pause between two kills, on average. */
const KILL_MS = 20_000

const ANIMALS_PER_IMPORT = 100

/** How long a rotated key keeps working, and after which time no process may accept it any more. */
const OVERLAP_SECONDS = 30
const OLD_KEY_MS = (OVERLAP_SECONDS + 7) * 1_000
const REQUESTS_WITH_OLD_KEY = 10

const SAMPLE_MS = 1_000

interface Database extends Size {
  readonly name: string
  /** Returns the URL, and the path of the database if it is a file. */
  open(scope: Scope): Promise<{ readonly url: string; readonly path?: string }>
}

const DATABASES: Readonly<Record<string, Database>> = {
  sqlite: {
    name: 'SQLite',
    instances: 1,
    workers: 2,
    async open() {
      const path = `${temporaryFolder()}/animals.db`
      return { url: `sqlite:${path}`, path }
    },
  },
  postgresql: {
    name: 'PostgreSQL',
    instances: 2,
    workers: 1,
    async open(scope) {
      const postgres = await startPostgres([])
      scope.after(() => postgres.stop())
      return { url: postgres.url }
    },
  },
}

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: String(FULL_MINUTES) }, database: { type: 'string' } },
})
const minutes = Number(values.minutes)
const chosen = values.database === undefined ? Object.keys(DATABASES) : [values.database]
if (!(minutes > 0) || !chosen.every(key => key in DATABASES))
  throw new Error('usage: node experiments/soak.ts [--minutes 30] [--database sqlite|postgresql]')
for (const key of chosen) {
  const database = DATABASES[key] as Database
  await runExperiments(
    { [`${minutes} minutes on ${database.name}`]: () => inScope(scope => soak(scope, database)) },
    { quick: minutes < FULL_MINUTES, writeTo: `soak.ts on ${database.name}` },
  )
}

async function soak(scope: Scope, database: Database): Promise<Figure[]> {
  const { url, path } = await database.open(scope)
  const options = { cwd: temporaryFolder(), env: { DATABASE_URL: url } }
  const commands = createCommands(scope, options)
  let key = await commands.createKey()
  const services = await startServices(scope, database, options)
  const address = () => services.addresses()[Math.floor(Math.random() * database.instances)] ?? ''
  const load = startLoad({ address, apiKey: () => key.key })
  scope.after(load.stop)
  const memory = watchMemory(services, minutes, path)
  const imported: string[] = []

  const end = new AbortController()
  const lengthMs = minutes * MINUTE_MS
  const startedAt = performance.now()
  const elapsed = () => (performance.now() - startedAt) / lengthMs

  /** Resolves with false at the end of the test. */
  const pause = (ms: number) => delay(ms, true, { signal: end.signal }).catch(() => false)

  async function repeat(pauseMs: () => number, action: () => unknown): Promise<void> {
    while (await pause(pauseMs())) await action()
  }

  async function repeatTask(promise: string, times: number, task: () => Promise<unknown>): Promise<Figure> {
    let done = 0
    let failed = 0
    const attempt = async () => {
      done++
      await task().catch(error => {
        failed++
        console.log(error)
      })
    }
    await repeat(() => lengthMs / times, attempt)
    return { promise, measured: `${done - failed} of ${done}`, holds: done > 0 && failed === 0 }
  }

  async function importAnimals(): Promise<void> {
    const start = imported.length
    const names = Array.from({ length: ANIMALS_PER_IMPORT }, (_, index) => `imported-${start + index}`)
    await commands.importAnimals(names)
    imported.push(...names)
  }

  /** Fails if an animal that was not written meanwhile is not as it was before. */
  async function checkCopy(copy: () => Promise<Animal[]>): Promise<void> {
    const before = load.own.map(animal => ({ ...animal }))
    const added = [...imported]
    const stored = await copy()
    const own = before.map((animal, index) => {
      const later = load.own[index]
      const isUncertain = animal.isUncertain || later?.isUncertain || later?.now !== animal.now
      return { ...animal, isUncertain }
    })
    const { lost, duplicated } = compare(own, stored, added)
    const total = own.length + added.length
    if (lost + duplicated > 0) throw new Error(`${lost} of ${total} lost, ${duplicated} duplicated`)
  }

  async function rotateKey(): Promise<void> {
    const old = key
    key = await commands.rotateKey(old, OVERLAP_SECONDS)
    if (!(await pause(OLD_KEY_MS))) return
    const statuses = new Set<number | undefined>()
    for (let answers = 0; answers < REQUESTS_WITH_OLD_KEY; ) {
      const reply = await send(address(), false, 'GET', '/v1/pets', { apiKey: old.key })
      statuses.add(reply?.status)
      if (reply !== undefined) answers++
      // The service was killed, and starts again.
      else if (!(await pause(SAMPLE_MS))) return
    }
    if (statuses.has(200)) throw new Error('a key that was rotated still works')
    if (!statuses.has(401)) throw new Error(`a key that was rotated got ${[...statuses]}`)
  }

  const sample = () => memory.sample(elapsed())
  const reportProgress = () =>
    console.log(
      `${(elapsed() * minutes).toFixed(1)} minutes: ${load.acknowledged()} acknowledged, ${services.kills()} kills`,
    )
  const kill = () => (elapsed() < 1 ? services.killOther() : services.killAny())
  const tasks = Promise.all([
    repeatTask(`an import of ${ANIMALS_PER_IMPORT} animals succeeds`, 30, importAnimals),
    repeatTask('an export has every animal as it was acknowledged before it, once', 12, () =>
      checkCopy(commands.exportAnimals),
    ),
    ...(path === undefined
      ? []
      : [
          repeatTask(
            'a backup is intact and has every animal as it was acknowledged before it, once',
            6,
            () => checkCopy(commands.backUp),
          ),
        ]),
    repeatTask('clients use the successor of a rotated key, and the old key ends', 10, rotateKey),
  ])
  const running = Promise.all([
    tasks,
    repeat(() => KILL_MS * (0.5 + Math.random()), kill),
    repeat(() => SAMPLE_MS, sample),
    repeat(() => lengthMs / 6, reportProgress),
  ])
  // Ends early if a service cannot be started again.
  await Promise.race([pause(lengthMs * TOTAL), running]).finally(() => end.abort())
  await running
  await load.stop()
  await services.killAll()
  const outcome = await load.check({ added: imported })
  return [
    {
      promise: `${services.kills()} kills: nothing acknowledged is lost or applied twice, every answer is right, 503 or missing`,
      measured: `${describe(outcome)}; ${outcome.unexpected} wrong answers`,
      holds: isIntact(outcome),
    },
    ...(await tasks),
    ...memory.figures(),
  ]
}
