// PgBouncer in transaction mode, if it is installed: each transaction may get another connection to the server.

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { administer, freePort } from './postgres.ts'
import { waitUntil } from './wait.ts'

interface Pooler {
  readonly url: string
  /** PgBouncer supports prepared statements from 1.21 on. */
  readonly hasPreparedStatements: boolean
  stop(): void
}

/** Debian installs it here, which is not in everybody's PATH. If there is one in the PATH, that one is used instead. */
const DEBIAN_PATH = '/usr/sbin/pgbouncer'

/** Connects to the database of the URL with its user and password. Returns undefined if PgBouncer is not installed. */
export async function startPooler(url: string, poolSize = 10): Promise<Pooler | undefined> {
  const found = findProgram('pgbouncer') ?? findProgram(DEBIAN_PATH)
  if (found === undefined) return undefined
  const { program, hasPreparedStatements } = found
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-pgbouncer-'))
  chmodSync(folder, 0o755)
  const server = new URL(url)
  const port = await freePort()
  writeFileSync(join(folder, 'users.txt'), `"${server.username}" "${server.password}"\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 200
server_login_retry = 1
${hasPreparedStatements ? 'max_prepared_statements = 100\n' : ''}`,
  )
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const child = spawn(program, ['-q', ...user, join(folder, 'pgbouncer.ini')], { stdio: 'ignore' })
  const poolerUrl = Object.assign(new URL(url), { port: String(port) }).href
  const isReady = () =>
    administer('select 1', poolerUrl).then(
      () => true,
      () => false,
    )
  await waitUntil(isReady, { what: 'PgBouncer accepts connections' })
  return {
    url: poolerUrl,
    hasPreparedStatements,
    stop() {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function findProgram(program: string): { program: string; hasPreparedStatements: boolean } | undefined {
  try {
    const printed = execFileSync(program, ['--version'], { encoding: 'utf8' })
    const [, minor = '0'] = /^PgBouncer 1\.(\d+)/.exec(printed) ?? []
    return { program, hasPreparedStatements: Number(minor) >= 21 }
  } catch {
    return undefined
  }
}
