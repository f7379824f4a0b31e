// The contenders in Go and Rust. They take part where their toolchains are installed.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { animalStoreRequest, type Contender, serverPath } from './contenders.ts'
import { interrupted } from './interruption.ts'

const BUILD_FOLDER = fileURLToPath(new URL('.data/', import.meta.url))
const BUILD_TIMEOUT_MS = 15 * 60_000

export const PLAIN_GO = native('plain Go', 'plain-go')
export const PLAIN_RUST = native('plain Rust', 'rust/release/plain-rust')

const BUILDS = [
  {
    contender: PLAIN_GO,
    toolchain: 'Go',
    folder: serverPath('plain-go'),
    command: ['go', 'build', '-trimpath', '-o', PLAIN_GO.file, '.'],
  },
  {
    contender: PLAIN_RUST,
    toolchain: 'Rust',
    folder: serverPath('plain-rust'),
    command: ['cargo', 'build', '--locked', '--release', '--target-dir', `${BUILD_FOLDER}rust`],
  },
]

/** Builds the programs, and returns those that could be built. The first build downloads their libraries. */
export async function buildNativeContenders(): Promise<Contender[]> {
  // Without /proc, their CPU time and memory cannot be read.
  if (!existsSync('/proc/self/stat')) return []
  mkdirSync(BUILD_FOLDER, { recursive: true })
  const built: Contender[] = []
  for (const { contender, toolchain, folder, command } of BUILDS) {
    console.log(`Building ${contender.name}. The first build takes a few minutes.`)
    try {
      await run(folder, command)
      built.push(contender)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      console.log(`${contender.name} does not take part: ${toolchain} is not installed.`)
    }
  }
  return built
}

function native(name: string, path: string): Contender {
  return {
    name,
    file: `${BUILD_FOLDER}${path}`,
    isProgram: true,
    catalogue: 'sqlite',
    supportsPostgres: true,
    checksKeys: true,
    requestFor: animalStoreRequest,
  }
}

async function run(folder: string, [program = '', ...args]: readonly string[]): Promise<void> {
  await promisify(execFile)(program, args, { cwd: folder, signal: interrupted, timeout: BUILD_TIMEOUT_MS })
}
