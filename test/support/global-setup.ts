// Runs once around all tests: starts PostgreSQL, unless TEST_POSTGRES_URL names a server that is already running.

import { randomBytes } from 'node:crypto'
import { dropDatabases, type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  process.env.TEST_RUN = randomBytes(4).toString('hex')
  if (process.env.TEST_POSTGRES_URL !== undefined) return
  server = await startPostgres(['-c', 'fsync=off', '-c', 'shared_preload_libraries=pg_stat_statements'])
  process.env.TEST_POSTGRES_URL = server.url
}

export async function globalTeardown(): Promise<void> {
  if (server === undefined) await dropDatabases()
  else await server.stop()
}
