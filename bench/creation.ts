// Creation on PostgreSQL with 64 connections: this service, which groups what arrives together, in turns with itself
// with a plain insert for each request, and with a bare server that does the same and checks nothing.
// `npm run bench:creation -- [seconds per round]`. Durable: PostgreSQL runs with its own defaults.

import { fileURLToPath } from 'node:url'
import { administer, startPostgres } from '../test/support/postgres.ts'
import { postgresOf } from './catalogues.ts'
import { ANIMAL_STORE, API_KEY, type Contender } from './contenders.ts'
import { putLoad } from './load.ts'
import { median } from './measure.ts'
import { type Running, start } from './processes.ts'

/** Rounds that do not count: Node compiles what it runs often. */
const WARM_UP = 3
const ROUNDS = 5
const seconds = Number(process.argv[2] ?? 2)

/** How long a sync takes, in microseconds more than here: PostgreSQL waits so long before it flushes a commit. */
const DISKS = [
  ['this disk', 0],
  ['a disk that syncs in 5 ms', 5_000],
] as const

const contenders: Contender[] = [
  ANIMAL_STORE,
  { ...ANIMAL_STORE, name: 'this service, a plain insert for each', ...script('ungrouped.ts') },
  { ...ANIMAL_STORE, name: 'bare server, a plain insert for each', ...script('one-insert-per-request.ts') },
]

const postgres = await startPostgres([])
const running: Running[] = []
try {
  const environment = { DATABASE_URL: await postgresOf(1_000, postgres.url) }
  for (const contender of contenders) running.push(await start(contender, environment))
  for (const [disk, delayUs] of DISKS) {
    await administer(`alter system set commit_delay = ${delayUs}`, postgres.url)
    await administer('alter system set commit_siblings = 0', postgres.url)
    await administer('select pg_reload_conf()', postgres.url)
    await compare(disk)
  }
} finally {
  for (const each of running) await each.stop()
  await postgres.stop()
}

async function compare(disk: string): Promise<void> {
  const rates = new Map(running.map(each => [each, [] as number[]]))
  for (let round = 1 - WARM_UP; round <= ROUNDS; round++) {
    for (const each of running) {
      const rate = await creationsPerSecond(each)
      if (round < 1) continue
      rates.get(each)?.push(rate)
      console.log(
        `${disk}, round ${round}: ${each.contender.name.padEnd(38)} ${Math.round(rate)} creations/s`,
      )
    }
  }
  const [ours = [], ...others] = [...rates.values()]
  for (const [index, rate] of others.entries()) {
    const ratios = ours.map((mine, round) => mine / (rate[round] ?? Number.NaN))
    console.log(`${disk}: ${median(ratios).toFixed(2)} times ${running[index + 1]?.contender.name}`)
  }
}

async function creationsPerSecond({ address, contender }: Running): Promise<number> {
  const asks = [contender.ask({ kind: 'creation' })]
  const load = await putLoad({ address, asks, key: API_KEY, isRejected: false, seconds })
  if (load.wrong > 0 || load.broken > 0) throw new Error('a creation failed: this run does not count')
  return load.requests / load.seconds
}

function script(name: string): Pick<Contender, 'file' | 'args'> {
  return { file: fileURLToPath(new URL(`servers/${name}`, import.meta.url)), args: [] }
}
