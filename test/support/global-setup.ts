// Runs once around all tests: PostgreSQL is started, unless TEST_POSTGRES_URL names one that runs already.

import { type PostgresServer, startPostgres } from './postgres.ts'

let server: PostgresServer | undefined

export async function globalSetup(): Promise<void> {
  if (process.env.TEST_POSTGRES_URL !== undefined) return
  server = await startPostgres()
  process.env.TEST_POSTGRES_URL = server.url
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
