// `npm run bench -- [--quick]`: every contender on every workload, in turns, and bench/results.md with the outcome.

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import { catalogueFor, postgresOf } from './catalogues.ts'
import { chart } from './chart.ts'
import { ANIMAL_STORE, BARE, type Contender, OTHERS } from './contenders.ts'
import { GENERATOR, ON_LAST_CORE, ON_OTHER_CORES } from './load.ts'
import { type Growth, type Measured, measure, measureGrowth, type Rounds, type Table } from './measure.ts'
import { type Running, start } from './processes.ts'
import { report } from './report.ts'
import { WORKLOADS } from './workloads.ts'

/** Keeps a core busy, and ends by itself should nobody end it. */
const SPIN = 'const end = Date.now() + 120_000; while (Date.now() < end);'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    sizes: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const sizes = (values.sizes ?? (values.quick ? '1000' : '1000,1000000,10000000')).split(',').map(Number)
const rounds: Rounds = {
  warmUp: values.quick ? 1 : 3,
  count: Number(values.rounds ?? (values.quick ? 2 : 5)),
  seconds: Number(values.seconds ?? 1),
}
const startedAt = new Date()
const folder = mkdtempSync(join(tmpdir(), 'animal-store-bench-'))
const tables: Table[] = []
const growths: Growth[] = []
const loops: { size: number; cpuMicros: number }[] = []
try {
  console.log(
    `Load comes from ${GENERATOR}. Each contender in turn, ${rounds.count} rounds of ${rounds.seconds} s.`,
  )
  for (const size of sizes) {
    const contenders = [BARE, ANIMAL_STORE, ...OTHERS].filter(({ most = Infinity }) => size <= most)
    tables.push(await compare('SQLite', size, contenders, contender => catalogueFor(contender, size, folder)))
  }
  // In a folder of its own: beside those of before lies what was written to them.
  const fresh = mkdtempSync(join(folder, 'growth-'))
  growths.push(...(await compareSizes('SQLite', size => catalogueFor(ANIMAL_STORE, size, fresh))))
  const postgres = await startPostgres([])
  try {
    const urls = new Map<number, string>()
    for (const size of sizes) {
      const url = await postgresOf(size, postgres.url)
      urls.set(size, url)
      tables.push(
        await compare('PostgreSQL', size, [BARE, ANIMAL_STORE], async () => ({ DATABASE_URL: url })),
      )
      loops.push({ size, cpuMicros: await loopOfQueries(url, size) })
    }
    const onPostgres = async (size: number) => ({ DATABASE_URL: urls.get(size) as string })
    growths.push(...(await compareSizes('PostgreSQL', onPostgres)))
  } finally {
    await postgres.stop()
  }
} finally {
  rmSync(folder, { recursive: true })
}
const results = report({ startedAt, args: process.argv.slice(2), rounds, tables, sizes, growths, loops })
if (values.quick) console.log(`\n${results}`)
else {
  writeFileSync(new URL('results.md', import.meta.url), results)
  writeFileSync(new URL('chart.svg', import.meta.url), chart(tables))
  console.log('Wrote bench/results.md and bench/chart.svg.')
}

async function compare(
  database: Table['database'],
  size: number,
  contenders: readonly Contender[],
  environmentOf: (contender: Contender) => Promise<Record<string, string>>,
): Promise<Table> {
  const running: Running[] = []
  const measured: Measured[] = []
  try {
    for (const contender of contenders) running.push(await start(contender, await environmentOf(contender)))
    const imitated = running.find(({ contender }) => contender === ANIMAL_STORE) as Running
    for (const workload of WORKLOADS) {
      const results = await measure(workload, size, running, imitated, rounds)
      measured.push(...results)
      for (const { contender, cpuMicros, requestsPerSecond, ratio } of results) {
        console.log(
          `${database}, ${size} animals, ${workload.name}: ${contender.padEnd(24)} ${cpuMicros.toFixed(1).padStart(8)} µs of CPU, ratio ${ratio.toFixed(2)}, ${Math.round(requestsPerSecond)}/s`,
        )
      }
    }
  } finally {
    for (const each of running) await each.stop()
  }
  return { database, size, measured }
}

/** The pages and one animal, on all sizes at once; with a single size there is nothing to compare. */
async function compareSizes(
  database: Table['database'],
  environmentOf: (size: number) => Promise<Record<string, string>>,
): Promise<Growth[]> {
  if (sizes.length < 2) return []
  const services: { size: number; running: Running }[] = []
  const found: Growth[] = []
  try {
    for (const size of sizes) {
      services.push({ size, running: await start(ANIMAL_STORE, await environmentOf(size)) })
    }
    for (const workload of WORKLOADS.filter(({ isReading }) => isReading)) {
      const costs = await measureGrowth(workload, services, { ...rounds, count: 2 * rounds.count })
      found.push({ database, workload: workload.name, costs })
      console.log(
        `${database}, ${workload.name}, by size: ${costs.map(({ cpuMicros, ratio }) => `${cpuMicros.toFixed(1)} µs of CPU, ${ratio.toFixed(2)}`).join('; ')}`,
      )
    }
  } finally {
    for (const { running } of services) await running.stop()
  }
  return found
}

/** Under the same conditions as the service: on the contenders' cores, while that of the load generator is busy. */
async function loopOfQueries(url: string, size: number): Promise<number> {
  const script = fileURLToPath(new URL('servers/pg-loop.ts', import.meta.url))
  const [program = '', ...args] = [...ON_OTHER_CORES, process.execPath, script, url, String(size)]
  const [spinner = '', ...spinnerArgs] = [...ON_LAST_CORE, process.execPath, '-e', SPIN]
  const spinning = spawn(spinner, spinnerArgs)
  const { stdout } = await promisify(execFile)(program, args).finally(() => spinning.kill())
  const cpuMicros = Number(stdout)
  console.log(
    `PostgreSQL, ${size} animals, random page: a bare loop of the query: ${cpuMicros.toFixed(1)} µs of CPU`,
  )
  return cpuMicros
}
