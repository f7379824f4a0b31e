// The memory and the open files of the processes that live through a soak test, and the size of the WAL of SQLite.

import { readdirSync, statSync } from 'node:fs'
import { MAX_WAL_BYTES } from '../../src/database/sqlite/files.ts'
import { memoryOf } from '../../test/support/processes.ts'
import type { Figure } from '../faults/figure.ts'
import type { Services } from './services.ts'

/**
 * When memory is read, as parts of the test. A reading is the highest sample of the sixth before it: memory grows between
 * two garbage collections, which may be minutes apart.
 */
const READINGS = [1 / 6, 1 / 2, 1]
const SIXTH = 1 / 6

/** What is allowed after the first reading. Connections come and go. */
const MAX_MEMORY_GROWTH = 1.1
const MAX_MORE_FILES = 8

/** The WAL cannot be truncated while a backup or an export reads. */
const MAX_WAL_MIB = (1.25 * MAX_WAL_BYTES) / 2 ** 20

interface Sample {
  /** The part of the test that had passed. */
  readonly at: number
  readonly mebibytes: number
  readonly files: number
}

export interface Memory {
  sample(at: number): void
  figures(): Figure[]
}

/** `path` is the database file, on SQLite. */
export function watchMemory(services: Services, minutes: number, path: string | undefined): Memory {
  const steady = Object.entries(services.steady).map(([name, pid]) => ({
    name,
    pid,
    samples: [] as Sample[],
  }))
  let longestWal = 0

  const walMebibytes = () => (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20

  function sample(at: number): void {
    longestWal = Math.max(longestWal, walMebibytes())
    if (at > 1) return
    for (const { pid, samples } of steady)
      samples.push({ at, mebibytes: memoryOf(pid), files: readdirSync(`/proc/${pid}/fd`).length })
  }

  function read(what: 'mebibytes' | 'files', isAllowed: (later: number, first: number) => boolean) {
    const all = steady.map(({ name, samples }) => ({
      name,
      readings: READINGS.map(end => {
        const recent = samples.filter(({ at }) => at > end - SIXTH && at <= end)
        return Math.round(Math.max(...recent.map(sample => sample[what])))
      }),
    }))
    return {
      measured: all.map(({ name, readings }) => `${name} ${readings.join(', ')}`).join('; '),
      holds: all.every(({ readings: [first = 0, ...later] }) =>
        later.every(value => isAllowed(value, first)),
      ),
    }
  }

  function figures(): Figure[] {
    const when = `after ${READINGS.map(part => Number((part * minutes).toFixed(1))).join(', ')} minutes`
    const memory = read('mebibytes', (later, first) => later <= first * MAX_MEMORY_GROWTH)
    const files = read('files', (later, first) => later <= first + MAX_MORE_FILES)
    return [
      {
        promise: `memory in MiB of what lives on, ${when}: at most 10 % more than at first`,
        ...memory,
        isSpeed: true,
      },
      {
        promise: `open files of what lives on, ${when}: at most ${MAX_MORE_FILES} more than at first`,
        ...files,
      },
      ...(path === undefined
        ? []
        : [
            {
              promise: `the WAL has at most ${MAX_WAL_MIB} MiB`,
              measured: `at most ${longestWal.toFixed(1)}, ${walMebibytes().toFixed(1)} at the end`,
              holds: longestWal <= MAX_WAL_MIB,
            },
          ]),
    ]
  }
  return { sample, figures }
}
