// Creation on PostgreSQL from 64 connections, in turns: this service, which batches creations; this service with one
// insert per request; and a bare server with one insert per request. PostgreSQL runs with its default, durable settings.

import { startPostgres } from '../test/support/postgres.ts'
import { createPostgresCatalogue, execute } from './catalogues.ts'
import { ANIMAL_STORE, API_KEY, type Contender, serverPath } from './contenders.ts'
import { runInterruptibly } from './interruption.ts'
import { generateLoad } from './load.ts'
import { median } from './measure.ts'
import { isWholeNumber, misuse } from './options.ts'
import { type RunningContender, startContender } from './processes.ts'

const USAGE = 'npm run bench:creation -- [SECONDS PER ROUND] (default 2)'

/** Rounds that do not count: V8 compiles hot code first. */
const WARM_UP_ROUNDS = 3
const ROUNDS = 5

/** A slower disk is simulated: PostgreSQL waits this many microseconds before it flushes a commit. */
const DISKS = [
  { disk: 'this disk', commitDelayMicros: 0 },
  { disk: 'a disk that syncs in 5 ms', commitDelayMicros: 5_000 },
]

const CONTENDERS: readonly Contender[] = [
  ANIMAL_STORE,
  {
    ...ANIMAL_STORE,
    name: 'this service, one insert per request',
    file: serverPath('unbatched.ts'),
    args: [],
  },
  {
    ...ANIMAL_STORE,
    name: 'bare server, one insert per request',
    file: serverPath('one-insert-per-request.ts'),
    args: [],
  },
]

const [secondsText = '2'] = process.argv.slice(2)
if (!isWholeNumber(secondsText, 1, 600))
  misuse('The seconds per round must be a whole number from 1 to 600.', USAGE)
const seconds = Number(secondsText)
await runInterruptibly(run)

async function run(): Promise<void> {
  const postgres = await startPostgres([])
  const running: RunningContender[] = []
  try {
    const environment = { DATABASE_URL: await createPostgresCatalogue(1_000, postgres.url) }
    for (const contender of CONTENDERS) running.push(await startContender(contender, environment))
    for (const { disk, commitDelayMicros } of DISKS) {
      await execute(postgres.url, `alter system set commit_delay = ${commitDelayMicros}`)
      await execute(postgres.url, 'alter system set commit_siblings = 0')
      await execute(postgres.url, 'select pg_reload_conf()')
      await compare(disk, running)
    }
  } finally {
    await Promise.all(running.map(each => each.stop()))
    await postgres.stop()
  }
}

async function compare(disk: string, running: readonly RunningContender[]): Promise<void> {
  const rates = running.map(each => ({ name: each.contender.name, values: [] as number[] }))
  for (let round = 1 - WARM_UP_ROUNDS; round <= ROUNDS; round++) {
    for (const [index, each] of running.entries()) {
      const rate = await creationsPerSecond(each)
      if (round < 1) continue
      rates[index]?.values.push(rate)
      console.log(
        `${disk}, round ${round}: ${each.contender.name.padEnd(38)} ${Math.round(rate)} creations/s`,
      )
    }
  }
  const [service, ...others] = rates
  for (const { name, values } of others) {
    const ratios = values.map((rate, round) => (service?.values[round] ?? Number.NaN) / rate)
    console.log(`${disk}: ${median(ratios).toFixed(2)} times the rate of "${name}"`)
  }
}

async function creationsPerSecond({ address, contender }: RunningContender): Promise<number> {
  const requests = [contender.requestFor({ kind: 'creation' })]
  const load = await generateLoad({ address, requests, key: API_KEY, expectsRejection: false, seconds })
  if (load.wrong > 0 || load.failed > 0)
    throw new Error(`${contender.name}: ${load.wrong} wrong responses, ${load.failed} failed requests`)
  return load.requestCount / load.seconds
}
