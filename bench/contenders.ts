// The contenders. Each is a process that takes its settings from the environment: PORT, DATABASE (a SQLite file) or
// DATABASE_URL, ANIMAL_STORE_API_KEY, and LOG_LEVEL, which is `info` if it shall log each request.

import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Builds and catalogues that are kept for the next run. */
export const CACHE_FOLDER = fileURLToPath(new URL('.data/', import.meta.url))

const BUILD_TIMEOUT_MS = 15 * 60_000

export interface Contender {
  readonly name: string
  readonly command: readonly string[]
  /** It does not take part on PostgreSQL. */
  readonly isSqliteOnly?: boolean
}

export const BARE: Contender = {
  name: 'bare node:http',
  command: [process.execPath, serverPath('bare.js')],
}

export const ANIMAL_STORE: Contender = {
  name: 'animal-store',
  command: [
    process.execPath,
    // The flags of bin/animal-store.js, which would otherwise start the process again.
    ...['--max-semi-space-size=4', '--no-allocation-site-pretenuring', '--v8-pool-size=1'],
    ...[fileURLToPath(new URL('../bin/animal-store.js', import.meta.url)), 'serve'],
  ],
}

const FASTIFY: Contender = {
  name: 'Fastify + better-sqlite3',
  command: [process.execPath, serverPath('plain-fastify.js')],
  isSqliteOnly: true,
}

export const PLAIN_GO: Contender = {
  name: 'plain Go',
  command: [`${CACHE_FOLDER}plain-go`],
}

export const PLAIN_RUST: Contender = {
  name: 'plain Rust',
  command: [`${CACHE_FOLDER}rust/release/plain-rust`],
}

const BUILDS = [
  {
    contender: PLAIN_GO,
    toolchain: 'Go',
    folder: serverPath('plain-go'),
    command: ['go', 'build', '-trimpath', '-o', `${CACHE_FOLDER}plain-go`, '.'],
  },
  {
    contender: PLAIN_RUST,
    toolchain: 'Rust',
    folder: serverPath('plain-rust'),
    command: ['cargo', 'build', '--locked', '--release', '--target-dir', `${CACHE_FOLDER}rust`],
  },
]

/** Returns all contenders. Those in Go and Rust are built first, and take part where their toolchains are installed. */
export async function buildContenders(): Promise<Contender[]> {
  mkdirSync(CACHE_FOLDER, { recursive: true })
  const built: Contender[] = []
  for (const { contender, toolchain, folder, command } of BUILDS) {
    console.log(`Building ${contender.name}. The first build takes a few minutes.`)
    const [program = '', ...args] = command
    const options = { cwd: folder, timeout: BUILD_TIMEOUT_MS }
    try {
      await promisify(execFile)(program, args, options)
      built.push(contender)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      console.log(`${contender.name} does not take part: ${toolchain} is not installed.`)
    }
  }
  return [BARE, ANIMAL_STORE, ...built, FASTIFY]
}

/** Returns the path of a file or folder in servers/. */
function serverPath(name: string): string {
  return fileURLToPath(new URL(`servers/${name}`, import.meta.url))
}
