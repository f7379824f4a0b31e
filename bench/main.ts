// `npm run bench`: measures every contender on every workload, in turns, and writes bench/results.md and chart.svg.

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import { createCatalogue, createPostgresCatalogue, databaseUrl } from './catalogues.ts'
import { chart } from './chart.ts'
import { ANIMAL_STORE, BARE, type Contender, OTHERS } from './contenders.ts'
import { interrupted, runInterruptibly } from './interruption.ts'
import { GENERATOR, ON_LAST_CORE, ON_OTHER_CORES } from './load.ts'
import {
  type Comparison,
  type Growth,
  type Measurement,
  measure,
  measureGrowth,
  type Rounds,
} from './measure.ts'
import { buildNativeContenders } from './native.ts'
import { isWholeNumber, misuse } from './options.ts'
import { type RunningContender, startContender } from './processes.ts'
import { report } from './report.ts'
import { WORKLOADS } from './workloads.ts'

const USAGE = `npm run bench -- [OPTIONS]

  --quick         one small catalogue, two rounds; prints the results and writes no file
  --sizes LIST    the sizes of the catalogues, smallest first, separated by commas (default 1000,1000000,10000000)
  --rounds COUNT  the measured rounds for each workload (default 5)
  --seconds COUNT the length of a round (default 1)`

const QUERY_LOOP_TIMEOUT_MS = 120_000
/** Keeps a core busy. It ends by itself if the benchmark is killed. */
const BUSY_LOOP = `const end = Date.now() + ${QUERY_LOOP_TIMEOUT_MS}; while (Date.now() < end);`

const { isQuick, sizes, rounds } = readOptions()
await runInterruptibly(isQuick ? printResults : writeResults)

function readOptions(): { isQuick: boolean; sizes: number[]; rounds: Rounds } {
  const values = parseOptions()
  if (values.help) {
    console.log(USAGE)
    process.exit()
  }
  const sizeList = (values.sizes ?? (values.quick ? '1000' : '1000,1000000,10000000')).split(',')
  const count = values.rounds ?? (values.quick ? '2' : '5')
  const seconds = values.seconds ?? '1'
  if (!sizeList.every(size => isWholeNumber(size, 1_000, 100_000_000)))
    misuse('--sizes must be whole numbers from 1000 to 100000000.', USAGE)
  if (!isWholeNumber(count, 1, 1_000)) misuse('--rounds must be a whole number from 1 to 1000.', USAGE)
  if (!isWholeNumber(seconds, 1, 600)) misuse('--seconds must be a whole number from 1 to 600.', USAGE)
  return {
    isQuick: values.quick,
    sizes: sizeList.map(Number),
    rounds: { warmUp: values.quick ? 1 : 3, count: Number(count), seconds: Number(seconds) },
  }
}

function parseOptions() {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        sizes: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
      },
    }).values
  } catch (error) {
    misuse((error as Error).message, USAGE)
  }
}

async function printResults(): Promise<void> {
  console.log(`\n${(await runAll()).markdown}`)
}

async function writeResults(): Promise<void> {
  const { markdown, svg } = await runAll()
  writeFileSync(new URL('results.md', import.meta.url), markdown)
  writeFileSync(new URL('chart.svg', import.meta.url), svg)
  console.log('Wrote bench/results.md and bench/chart.svg.')
}

async function runAll(): Promise<{ markdown: string; svg: string }> {
  const startedAt = new Date()
  console.log(
    `Load comes from ${GENERATOR}. The contenders take turns: ${rounds.count} rounds of ${rounds.seconds} s.`,
  )
  const natives = await buildNativeContenders()
  const onSqlite = await runOnSqlite([BARE, ANIMAL_STORE, ...natives, ...OTHERS])
  const onPostgres = await runOnPostgres([BARE, ANIMAL_STORE, ...natives])
  const comparisons = [...onSqlite.comparisons, ...onPostgres.comparisons]
  const growths = [...onSqlite.growths, ...onPostgres.growths]
  const { queryLoops } = onPostgres
  const args = process.argv.slice(2)
  return {
    markdown: report({ startedAt, args, rounds, comparisons, sizes, growths, queryLoops }),
    svg: chart(comparisons),
  }
}

async function runOnSqlite(contenders: readonly Contender[]) {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'))
  const comparisons: Comparison[] = []
  try {
    for (const size of sizes) {
      const participants = contenders.filter(({ maxAnimals = Infinity }) => size <= maxAnimals)
      comparisons.push(
        await compare('SQLite', size, participants, async contender =>
          startContender(contender, await createCatalogue(contender, size, folder)),
        ),
      )
    }
    // New copies, because the first ones contain created animals now.
    const copies = mkdtempSync(join(folder, 'growth-'))
    const growths = await compareSizes('SQLite', async size =>
      startContender(ANIMAL_STORE, await createCatalogue(ANIMAL_STORE, size, copies)),
    )
    return { comparisons, growths }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Each contender has a PostgreSQL server of its own, so that the CPU time of the server can be added to its own. */
async function runOnPostgres(contenders: readonly Contender[]) {
  const servers = new Map<Contender, PostgresServer>()
  const comparisons: Comparison[] = []
  const queryLoops: { size: number; cpuMicros: number }[] = []

  async function start(contender: Contender, size: number): Promise<RunningContender> {
    const postgres = servers.get(contender)
    if (postgres === undefined) return startContender(contender, {})
    return startContender(contender, { DATABASE_URL: databaseUrl(postgres, size) }, { postgres })
  }

  try {
    for (const contender of contenders) {
      if (contender.supportsPostgres) servers.set(contender, await startPostgres([]))
    }
    for (const size of sizes) {
      for (const { url } of servers.values()) await createPostgresCatalogue(size, url)
      comparisons.push(await compare('PostgreSQL', size, contenders, contender => start(contender, size)))
      const own = servers.get(ANIMAL_STORE) as PostgresServer
      queryLoops.push({ size, cpuMicros: await measureQueryLoop(databaseUrl(own, size), size) })
    }
    const growths = await compareSizes('PostgreSQL', size => start(ANIMAL_STORE, size))
    return { comparisons, growths, queryLoops }
  } finally {
    await Promise.all([...servers.values()].map(server => server.stop()))
  }
}

async function compare(
  database: Comparison['database'],
  size: number,
  contenders: readonly Contender[],
  start: (contender: Contender) => Promise<RunningContender>,
): Promise<Comparison> {
  const running: RunningContender[] = []
  const measurements: Measurement[] = []
  try {
    for (const contender of contenders) running.push(await start(contender))
    const animalStore = running.find(({ contender }) => contender === ANIMAL_STORE) as RunningContender
    for (const workload of WORKLOADS) {
      const results = await measure(workload, size, running, animalStore, rounds)
      measurements.push(...results)
      for (const result of results) console.log(`${database}, ${size} animals, ${oneLine(result)}`)
    }
  } finally {
    await Promise.all(running.map(each => each.stop()))
  }
  return { database, size, measurements }
}

function oneLine(result: Measurement): string {
  const { workload, contender, cpuMicros, databaseCpuMicros, relativeToService } = result
  const database = databaseCpuMicros === 0 ? '' : ` + ${databaseCpuMicros.toFixed(1)} in PostgreSQL`
  const rate = `${Math.round(result.requestsPerSecond)}/s`
  return `${workload}: ${contender.padEnd(24)} ${cpuMicros.toFixed(1).padStart(8)} µs of CPU${database}, ${relativeToService.toFixed(2)} times ours, ${rate}`
}

/** Measures the read-only workloads on all sizes. Returns nothing if there is only one size. */
async function compareSizes(
  database: Comparison['database'],
  start: (size: number) => Promise<RunningContender>,
): Promise<Growth[]> {
  if (sizes.length < 2) return []
  const services: { size: number; running: RunningContender }[] = []
  const growths: Growth[] = []
  try {
    for (const size of sizes) services.push({ size, running: await start(size) })
    for (const workload of WORKLOADS.filter(({ isReadOnly }) => isReadOnly)) {
      const costs = await measureGrowth(workload, services, { ...rounds, count: 2 * rounds.count })
      growths.push({ database, workload: workload.name, costs })
      console.log(
        `${database}, ${workload.name}, by size: ${costs.map(({ cpuMicros, ratio }) => `${cpuMicros.toFixed(1)} µs of CPU, ${ratio.toFixed(2)}`).join('; ')}`,
      )
    }
  } finally {
    await Promise.all(services.map(({ running }) => running.stop()))
  }
  return growths
}

/**
 * Runs the loop under the same conditions as the service: on the contenders' cores, while the load generator's core is
 * busy.
 */
async function measureQueryLoop(url: string, size: number): Promise<number> {
  const script = fileURLToPath(new URL('query-loop.ts', import.meta.url))
  const [program = '', ...args] = [...ON_OTHER_CORES, process.execPath, script, url, String(size)]
  const [busyProgram = '', ...busyArgs] = [...ON_LAST_CORE, process.execPath, '-e', BUSY_LOOP]
  const busy = spawn(busyProgram, busyArgs, { stdio: 'ignore' })
  try {
    const options = { signal: interrupted, timeout: QUERY_LOOP_TIMEOUT_MS }
    const { stdout } = await promisify(execFile)(program, args, options)
    const cpuMicros = Number(stdout)
    console.log(
      `PostgreSQL, ${size} animals, random page: ${cpuMicros.toFixed(1)} µs of CPU in a bare loop of the query`,
    )
    return cpuMicros
  } finally {
    busy.kill()
  }
}
