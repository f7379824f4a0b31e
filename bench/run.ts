// `npm run bench`: measures every contender on every workload, in turns, and writes bench/results.md and chart.svg.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type PostgresServer, startPostgres } from '../test/support/postgres.ts'
import { isInstalled } from '../test/support/programs.ts'
import { createPostgresCatalogue, createSqliteCatalogue, versionOfPostgres } from './catalogues.ts'
import { chart } from './chart.ts'
import { ANIMAL_STORE, BARE, buildContenders, type Contender } from './contenders.ts'
import { type Comparison, type Measurement, measure, ROUND_SECONDS, type Rounds } from './measure.ts'
import { type RunningContender, startContender } from './processes.ts'
import { report } from './report.ts'
import { WORKLOADS } from './workloads.ts'

const USAGE = `npm run bench -- [OPTIONS]

  --quick         one small catalogue and the main workloads; prints the results and writes no file
  --sizes LIST    the sizes of the catalogues, smallest first, separated by commas (default 1000,1000000)
  --rounds COUNT  the measured rounds for each workload (default 3)

It needs Linux and wrk.`

const { isQuick, sizes, rounds } = readOptions()
const workloads = WORKLOADS.filter(({ isMain }) => isMain || !isQuick)

/** The request log is measured with the smallest catalogue only: it costs the same with every size. */
const passes = [
  ...sizes.map(size => ({ size, log: false })),
  ...sizes.slice(0, 1).map(size => ({ size, log: true })),
]

// The processes that were started end with this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
await run()

function readOptions(): { isQuick: boolean; sizes: number[]; rounds: Rounds } {
  const values = parseOptions()
  if (values.help) {
    console.log(USAGE)
    process.exit()
  }
  if (process.platform !== 'linux' || !isInstalled('wrk'))
    misuse('wrk is not installed, or this is not Linux.')
  const sizes = (values.sizes ?? (values.quick ? '1000' : '1000,1000000')).split(',')
  if (!sizes.every(size => isWholeNumber(size, 1_000, 100_000_000)))
    misuse('--sizes must be whole numbers from 1000 to 100000000.')
  if (!isWholeNumber(values.rounds, 1, 1_000)) misuse('--rounds must be a whole number from 1 to 1000.')
  return {
    isQuick: values.quick,
    sizes: sizes.map(Number),
    rounds: { warmUp: values.quick ? 1 : 2, count: Number(values.rounds) },
  }
}

function parseOptions() {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        sizes: { type: 'string' },
        rounds: { type: 'string', default: '3' },
      },
    }).values
  } catch (error) {
    misuse((error as Error).message)
  }
}

/** Prints what is wrong, followed by the usage, and ends the process with exit code 2. */
function misuse(problem: string): never {
  console.error(`${problem}\n\n${USAGE}`)
  process.exit(2)
}

function isWholeNumber(text: string, min: number, max: number): boolean {
  return /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
}

async function run(): Promise<void> {
  const startedAt = new Date()
  const contenders = await buildContenders()
  console.log(`The contenders take turns: ${rounds.count} rounds of ${ROUND_SECONDS} s for each workload.`)
  const onSqlite = await runOnSqlite(contenders)
  const onPostgres = await runOnPostgres(contenders)
  const comparisons = [...onSqlite, ...onPostgres.comparisons]
  const args = process.argv.slice(2)
  const markdown = report({ startedAt, args, rounds, comparisons, postgresVersion: onPostgres.version })
  console.log(`It took ${Math.round((Date.now() - startedAt.getTime()) / 60_000)} minutes.`)
  if (isQuick) {
    console.log(`\n${markdown}`)
    return
  }
  writeFileSync(new URL('results.md', import.meta.url), markdown)
  writeFileSync(new URL('chart.svg', import.meta.url), chart(comparisons))
  console.log('Wrote bench/results.md and bench/chart.svg.')
}

async function runOnSqlite(contenders: readonly Contender[]): Promise<Comparison[]> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const comparisons: Comparison[] = []
  for (const pass of passes) {
    const start = async (contender: Contender) =>
      startContender(contender, {
        ...logging(pass.log),
        ...(await createSqliteCatalogue(contender, pass.size, folder)),
      })
    comparisons.push(await compare({ database: 'SQLite', ...pass }, contenders, start))
  }
  return comparisons
}

/** Each contender has a PostgreSQL server of its own, so that the CPU time of the server can be added to its own. */
async function runOnPostgres(
  all: readonly Contender[],
): Promise<{ comparisons: Comparison[]; version: string }> {
  const contenders = all.filter(({ isSqliteOnly }) => !isSqliteOnly)
  const servers = new Map<Contender, PostgresServer>()
  const comparisons: Comparison[] = []
  try {
    for (const contender of contenders) {
      if (contender !== BARE) servers.set(contender, await startPostgres([]))
    }
    for (const pass of passes) {
      const start = async (contender: Contender) => {
        const postgres = servers.get(contender)
        if (postgres === undefined) return startContender(contender, logging(pass.log))
        const url = await createPostgresCatalogue(contender, pass.size, postgres.url)
        return startContender(contender, { ...logging(pass.log), DATABASE_URL: url }, postgres)
      }
      comparisons.push(await compare({ database: 'PostgreSQL', ...pass }, contenders, start))
    }
    const { url } = servers.get(ANIMAL_STORE) as PostgresServer
    return { comparisons, version: await versionOfPostgres(url) }
  } finally {
    await Promise.all([...servers.values()].map(server => server.stop()))
  }
}

function logging(log: boolean): Record<string, string> {
  return { LOG_LEVEL: log ? 'info' : 'warn' }
}

async function compare(
  conditions: Omit<Comparison, 'measurements'>,
  contenders: readonly Contender[],
  start: (contender: Contender) => Promise<RunningContender>,
): Promise<Comparison> {
  const { database, size, log } = conditions
  const running: RunningContender[] = []
  const measurements: Measurement[] = []
  try {
    for (const contender of contenders) running.push(await start(contender))
    for (const workload of workloads) {
      const results = await measure(workload, size, running, rounds)
      measurements.push(...results)
      for (const result of results)
        console.log(`${database}, ${size} animals, log ${log ? 'on' : 'off'}, ${oneLine(result)}`)
    }
  } finally {
    await Promise.all(running.map(each => each.stop()))
  }
  return { ...conditions, measurements }
}

function oneLine(result: Measurement): string {
  const { workload, contender, cpuMicros, databaseCpuMicros, timesOurs } = result
  const database = databaseCpuMicros === 0 ? '' : ` + ${databaseCpuMicros.toFixed(1)} in PostgreSQL`
  const rate = `${Math.round(result.requestsPerSecond)}/s`
  return `${workload}: ${contender.padEnd(24)} ${cpuMicros.toFixed(1).padStart(8)} µs of CPU${database}, ${timesOurs.toFixed(2)} times ours, ${rate}`
}
