// What a Patroni cluster needs on this machine: programs of the distribution, and Patroni itself in a virtual environment.

import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'

export interface Programs {
  readonly etcd: string
  readonly patroni: string
  /** The folder with PostgreSQL's programs. */
  readonly postgres: string
  /** Undefined if HAProxy is not installed. */
  readonly haproxy: string | undefined
}

/** The message says what is missing, one line each. */
export class Missing extends Error {}

/** Debian and Ubuntu have one folder for each version. Elsewhere, pg_config prints the folder. */
function postgresFolder(): string | undefined {
  const candidates = globSync('/usr/lib/postgresql/*/bin').sort().reverse()
  const configured = output('pg_config', '--bindir')?.trim()
  return [...candidates, ...(configured ? [configured] : [])].find(folder =>
    ['initdb', 'postgres', 'pg_basebackup', 'pg_rewind', 'psql'].every(name =>
      existsSync(join(folder, name)),
    ),
  )
}

/** Installs Patroni into the folder. Throws a Missing that says what the machine lacks. */
export function preparePrograms(folder: string): Programs {
  const missing: string[] = []
  const etcd = find('etcd')
  if (etcd === undefined) missing.push('etcd is not installed (Debian: apt install etcd-server)')
  const postgres = postgresFolder()
  if (postgres === undefined)
    missing.push(
      'PostgreSQL with pg_basebackup and pg_rewind is not installed (Debian: apt install postgresql)',
    )
  if (process.getuid?.() === 0 && output('id', '-u', 'postgres') === undefined)
    missing.push('there is no user postgres, and PostgreSQL does not run as root')
  const python = '/usr/bin/python3'
  if (output(python, '-c', 'import ensurepip, venv') === undefined)
    missing.push('Python cannot make virtual environments (Debian: apt install python3-venv)')
  if (etcd === undefined || postgres === undefined || missing.length > 0)
    throw new Missing(missing.join('\n'))

  const environment = join(folder, 'venv')
  execFileSync(python, ['-m', 'venv', environment])
  const packages = ['patroni[etcd3]==4.*', 'psycopg2-binary']
  try {
    execFileSync(join(environment, 'bin/pip'), ['install', '--quiet', ...packages], { stdio: 'pipe' })
  } catch {
    throw new Missing(`pip could not install ${packages.join(' and ')}`)
  }
  return { etcd, patroni: join(environment, 'bin/patroni'), postgres, haproxy: find('haproxy') }
}

function find(program: string): string | undefined {
  return output('sh', '-c', `PATH="$PATH:/usr/sbin" command -v ${program}`)?.trim()
}

function output(program: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
