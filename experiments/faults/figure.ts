// One promise of the service, and what an experiment measured.

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, type } from 'node:os'
import { fileURLToPath } from 'node:url'

const REPORT = fileURLToPath(new URL('../README.md', import.meta.url))
const END = '<!-- end -->'

export interface Figure {
  readonly promise: string
  readonly measured: string
  readonly holds: boolean
  /** It depends on the speed of the machine, or on the length of the run. A short run prints it, and only the full run fails because of it. */
  readonly isSpeed?: boolean
}

export interface Options {
  /** Runs the short form, which every change must pass. */
  readonly quick: boolean
  /** What writes its figures into README.md: the part that begins with this name, unless the run is short. */
  readonly writeTo?: string
}

type Experiment = (options: Options) => Promise<Figure[]>

/** Runs the experiments one after the other, and prints their figures. The exit code is 1 if a promise does not hold. */
export async function runExperiments(
  experiments: Readonly<Record<string, Experiment>>,
  options: Options,
): Promise<void> {
  const results = new Map<string, Figure[]>()
  for (const [title, experiment] of Object.entries(experiments)) {
    const startedAt = performance.now()
    console.log(`\n${title}`)
    const figures = await experiment(options).catch(failed)
    for (const { promise, measured, holds, isSpeed } of figures) {
      console.log(`${holds ? 'holds ' : 'BROKEN'}  ${promise}: ${measured}`)
      if (!holds && !(options.quick && isSpeed)) process.exitCode = 1
    }
    results.set(title, figures)
    console.log(`${Math.round((performance.now() - startedAt) / 1_000)} s`)
  }
  if (!options.quick && options.writeTo !== undefined) writeReport(options.writeTo, results)
}

/** One experiment that cannot be completed does not stop the others. */
function failed(error: unknown): Figure[] {
  console.log(error)
  return [{ promise: 'the experiment can be completed', measured: String(error), holds: false }]
}

function writeReport(command: string, results: ReadonlyMap<string, readonly Figure[]>): void {
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
  const start = `<!-- written by ${command} -->`
  const startAt = text.indexOf(start) + start.length
  const after = text.slice(text.indexOf(END, startAt))
  writeFileSync(REPORT, `${text.slice(0, startAt)}\n\n${machine}\n${rows.join('\n')}\n\n${after}`)
}
