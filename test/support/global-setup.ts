// Runs once around all tests: starts PostgreSQL, unless TEST_POSTGRES_URL names a server that is already running.

import { randomBytes } from 'node:crypto'
import { existsSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dropDatabases, type PostgresServer, startPostgres } from './postgres.ts'
import { reportSkipped } from './programs.ts'

/** The compile cache of the command line (bin/animal-store.js). */
const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/animal-store', import.meta.url))

/** How long each npm script takes on two quiet cores. A busy or slower machine may need several times as long. */
const MINUTES: Readonly<Record<string, string>> = {
  test: 'one to two minutes',
  'test:all': 'five to ten minutes',
}

const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES = 2 * 1024 ** 3

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  const minutes = MINUTES[process.env.npm_lifecycle_event ?? '']
  if (minutes)
    console.error(`The tests take ${minutes} on two quiet cores, and longer on a busy or slower machine.\n`)
  useMemoryForFiles()
  process.env.TEST_RUN = randomBytes(4).toString('hex')
  // Saves most of the CPU time of loading modules, which each test file does, and the writer thread of each SQLite store. With cached
  // code V8 counts branches less precisely, but the lines of the coverage are the same.
  process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE
  if (process.env.TEST_POSTGRES_URL !== undefined) return
  server = await startPostgres(['-c', 'fsync=off', '-c', 'shared_preload_libraries=pg_stat_statements'])
  process.env.TEST_POSTGRES_URL = server.url
}

/** On a disk that other programs keep busy, a commit may take longer than the service waits for it. Linux has files in memory. */
function useMemoryForFiles(): void {
  if (!existsSync(MEMORY_FOLDER)) return
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
  if (bavail * bsize >= MEMORY_BYTES) process.env.TMPDIR ??= MEMORY_FOLDER
}

export async function globalTeardown(): Promise<void> {
  reportSkipped()
  if (server === undefined) await dropDatabases()
  else await server.stop()
}
