// `npm run bench:slow-disk`: 64 clients create and 8 clients list, while strace delays every sync of the service by 50 ms.
// The exit code is 1 if listings waited for the disk, or if creations were not batched. Needs strace.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCatalogue } from './catalogues.ts'
import { ANIMAL_STORE, API_KEY } from './contenders.ts'
import { runInterruptibly } from './interruption.ts'
import { CONNECTIONS, generateLoad } from './load.ts'
import { startContender } from './processes.ts'

const SYNC_DELAY_MS = 50
const SIZE = 1_000
const WARM_UP_SECONDS = 2
const SECONDS = 10
const LIST_CONNECTIONS = 8
const MAX_LIST_P99_MS = 20
const MIN_CREATIONS_PER_SECOND = 100

const STRACE = [
  ...['strace', '--follow-forks', '--seccomp-bpf', '--output=/dev/null', '--trace=fsync,fdatasync'],
  `--inject=fsync,fdatasync:delay_exit=${SYNC_DELAY_MS * 1_000}`,
]

await runInterruptibly(run)

async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-slow-disk-'))
  try {
    const environment = await createCatalogue(ANIMAL_STORE, SIZE, folder)
    const service = await startContender(ANIMAL_STORE, environment, { launcher: STRACE })
    try {
      await measure(service.address)
    } finally {
      await service.stop()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measure(address: string): Promise<void> {
  const common = { address, key: API_KEY, expectsRejection: false }
  const creations = [ANIMAL_STORE.requestFor({ kind: 'creation' })]
  const lists = [
    ANIMAL_STORE.requestFor({ kind: 'page', after: 0 }),
    ANIMAL_STORE.requestFor({ kind: 'page', after: 500 }),
  ]
  await generateLoad({ ...common, requests: [...creations, ...lists], seconds: WARM_UP_SECONDS })
  const [writes, reads] = await Promise.all([
    generateLoad({ ...common, requests: creations, seconds: SECONDS }),
    generateLoad({ ...common, requests: lists, connections: LIST_CONNECTIONS, seconds: SECONDS }),
  ])
  for (const { wrong, failed } of [writes, reads]) {
    if (wrong > 0 || failed > 0) throw new Error(`${wrong} wrong responses, ${failed} failed requests`)
  }
  const creationsPerSecond = writes.requestCount / writes.seconds
  console.log(`Every sync takes ${SYNC_DELAY_MS} ms longer.`)
  console.log(
    `${CONNECTIONS} clients create ${Math.round(creationsPerSecond)} animals per second (minimum ${MIN_CREATIONS_PER_SECOND}).`,
  )
  console.log(
    `Meanwhile ${LIST_CONNECTIONS} clients list ${Math.round(reads.requestCount / reads.seconds)} pages per second: p50 ${reads.p50Ms.toFixed(2)} ms, p99 ${reads.p99Ms.toFixed(2)} ms (limit ${MAX_LIST_P99_MS} ms).`,
  )
  if (creationsPerSecond < MIN_CREATIONS_PER_SECOND || reads.p99Ms >= MAX_LIST_P99_MS) process.exitCode = 1
}
