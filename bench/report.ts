// The outcome as Markdown.

import { readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { ANIMAL_STORE, BARE } from './contenders.ts'
import { CONNECTIONS, GENERATOR, ON_LAST_CORE } from './load.ts'
import type { Growth, Measured, Rounds, Table } from './measure.ts'

export interface Outcome {
  readonly startedAt: Date
  /** What it was started with. */
  readonly args: readonly string[]
  readonly rounds: Rounds
  readonly tables: readonly Table[]
  readonly sizes: readonly number[]
  readonly growths: readonly Growth[]
  /** What a random page costs in a bare loop of its query through pg. */
  readonly loops: readonly { readonly size: number; readonly cpuMicros: number }[]
}

const PACKAGES = ['@platformatic/db', 'better-sqlite3', 'fastify', 'json-server']

/** CPU per request that the service is to reach, as a ratio to the bare server, on SQLite. */
const TARGETS: Readonly<Record<string, number>> = {
  'first page': 0.85,
  'random page': 0.55,
  'one by id': 0.7,
  creation: 0.7,
  'rejected key': 0.85,
}

export function report({ startedAt, args, rounds, tables, sizes, growths, loops }: Outcome): string {
  return `${[
    '# Results',
    `${startedAt.toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}. Node.js ${process.versions.node} with SQLite ${process.versions.sqlite}; ${PACKAGES.map(name => `${name} ${versionOf(name)}`).join(', ')}. Made by \`${['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ')}\`.`,
    `Load comes from ${GENERATOR} on ${CONNECTIONS} connections, on the same machine${ON_LAST_CORE.length > 0 ? ', where it has one core and the contenders have the others' : ''}. Contenders take turns, ${rounds.count} rounds of ${rounds.seconds} s after ${rounds.warmUp} to warm up; each figure is the median of its rounds, but for **memory**, which is the most, and for **CPU**, which is that of the best round: what else the machine does can only add to it. It is what the process itself says it used, threads included, divided by its requests. **Ratio** is the CPU of a bare \`node:http\` server that sends the same bytes divided by that of the contender in the same round (so it is not quite what the column of CPU gives): 1.0 is as fast as Node.js goes, and more is better. In brackets stands how many times that of the bare server a figure is. All writes are durable (\`synchronous = full\`; json-server writes its file without a sync). None writes a log line for each request.`,
    ...targets(tables),
    ...growth(sizes, growths),
    ...loopRatios(tables, loops),
    ...tables.map(section),
  ].join('\n\n')}\n`
}

function section(results: Table): string {
  const rows = results.measured.map(each => {
    const bare = find(results, each.workload, BARE.name)
    const compared = (name: 'requestsPerSecond' | 'p50Ms' | 'p99Ms' | 'memoryMiB', digits: number) =>
      `${each[name].toFixed(digits)} (${(each[name] / (bare?.[name] ?? Number.NaN)).toFixed(2)})`
    return [
      each.workload,
      each.contender === ANIMAL_STORE.name ? `**${each.contender}**` : each.contender,
      each.ratio.toFixed(2),
      each.cpuMicros.toFixed(1),
      compared('requestsPerSecond', 0),
      compared('p50Ms', 2),
      compared('p99Ms', 2),
      compared('memoryMiB', 0),
    ]
  })
  return [
    `## ${results.database}, ${words(results.size)} animals`,
    table(['workload', 'contender', 'ratio', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms', 'memory MiB'], rows),
  ].join('\n\n')
}

function targets(tables: readonly Table[]): string[] {
  const onSqlite = tables.filter(({ database }) => database === 'SQLite')
  const rows = Object.entries(TARGETS).map(([workload, target]) => [
    workload,
    target.toFixed(2),
    ...onSqlite.map(each => find(each, workload, ANIMAL_STORE.name)?.ratio.toFixed(2) ?? ''),
  ])
  const heads = onSqlite.map(({ size }) => `${words(size)} animals`)
  return [
    '## This service on SQLite: ratio to the bare server',
    table(['workload', 'target', ...heads], rows),
  ]
}

function growth(sizes: readonly number[], growths: readonly Growth[]): string[] {
  if (growths.length === 0) return []
  const rows = growths.map(({ database, workload, costs }) => [
    database,
    workload,
    ...costs.map(({ cpuMicros, ratio }) => `${cpuMicros.toFixed(1)} µs, ${ratio.toFixed(2)}`),
  ])
  const heads = sizes.map(size => `${words(size)} animals`)
  return [
    '## Cost as the catalogue grows',
    'CPU of the same service on catalogues of each size, which take turns within one run, in its best round, and how many times that of the smallest it is, in the median of the rounds.',
    table(['database', 'workload', ...heads], rows),
  ]
}

function loopRatios(tables: readonly Table[], loops: Outcome['loops']): string[] {
  const rows = loops.map(({ size, cpuMicros }) => {
    const onPostgres = tables.find(each => each.database === 'PostgreSQL' && each.size === size)
    const ours = onPostgres && find(onPostgres, 'random page', ANIMAL_STORE.name)
    return [
      words(size),
      cpuMicros.toFixed(1),
      ours?.cpuMicros.toFixed(1) ?? '',
      ((ours?.cpuMicros ?? 0) / cpuMicros).toFixed(2),
    ]
  })
  return [
    '## A random page on PostgreSQL, and a bare loop of its query through pg',
    'Each in its best round. The loop runs after the service, not in turns with it.',
    table(['animals', 'loop, CPU µs', 'service, CPU µs', 'service / loop'], rows),
  ]
}

export function find({ measured }: Table, workload: string, contender: string): Measured | undefined {
  return measured.find(each => each.workload === workload && each.contender === contender)
}

export function words(size: number): string {
  if (size === 1_000) return '1 thousand'
  return size % 1_000_000 === 0 ? `${size / 1_000_000} million` : String(size)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const isNumber = (column: number) => rows.every(row => /^[\d.]*( \([\d.]+\))?$/.test(row[column] ?? ''))
  const rule = head.map((_, column) => (isNumber(column) ? '--:' : '---'))
  return [head, rule, ...rows].map(row => `| ${row.join(' | ')} |`).join('\n')
}

function versionOf(name: string): string {
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).version
}
