// Reads while the disk is slow: strace holds every sync of the service up for 50 ms, 64 clients create, and others list.
// `npm run bench:slow-disk`; it ends with 1 if a listing had to wait for the disk, or creations did not go together.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { catalogueFor } from './catalogues.ts'
import { ANIMAL_STORE, API_KEY } from './contenders.ts'
import { putLoad } from './load.ts'
import { start } from './processes.ts'

const SYNC_MS = 50
const SIZE = 1_000
const SECONDS = 10
const MOST_P99_MS = 20
const LEAST_CREATIONS = 100

const folder = mkdtempSync(join(tmpdir(), 'animal-store-slow-disk-'))
const slowly = [
  ...['strace', '--follow-forks', '--seccomp-bpf', '--output=/dev/null', '--trace=fsync,fdatasync'],
  `--inject=fsync,fdatasync:delay_exit=${SYNC_MS * 1_000}`,
]
try {
  const service = await start(ANIMAL_STORE, await catalogueFor(ANIMAL_STORE, SIZE, folder), slowly)
  try {
    const { address } = service
    const common = { address, key: API_KEY, isRejected: false }
    const creations = [ANIMAL_STORE.ask({ kind: 'creation' })]
    const lists = [
      ANIMAL_STORE.ask({ kind: 'page', after: 0 }),
      ANIMAL_STORE.ask({ kind: 'page', after: 500 }),
    ]
    await putLoad({ ...common, asks: [...creations, ...lists], seconds: 2 })
    const [writing, reading] = await Promise.all([
      putLoad({ ...common, asks: creations, seconds: SECONDS }),
      putLoad({ ...common, asks: lists, connections: 8, seconds: SECONDS }),
    ])
    for (const { wrong, broken } of [writing, reading]) {
      if (wrong > 0 || broken > 0) throw new Error(`${wrong} answers were wrong, ${broken} never came`)
    }
    const created = writing.requests / writing.seconds
    console.log(`Every sync takes ${SYNC_MS} ms longer.`)
    console.log(
      `64 clients create ${Math.round(created)} animals a second (at least ${LEAST_CREATIONS} are asked for).`,
    )
    console.log(
      `Meanwhile 8 clients list ${Math.round(reading.requests / reading.seconds)} pages a second: p50 ${reading.p50Ms.toFixed(2)} ms, p99 ${reading.p99Ms.toFixed(2)} ms (less than ${MOST_P99_MS} is asked for).`,
    )
    if (created < LEAST_CREATIONS || reading.p99Ms >= MOST_P99_MS) process.exitCode = 1
  } finally {
    await service.stop()
  }
} finally {
  rmSync(folder, { recursive: true })
}
