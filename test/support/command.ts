// Runs the command line as a real process.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { addEnvironmentKey, assertNoKey } from './secrets.ts'
import type { Scope } from './service.ts'

export const MAIN = fileURLToPath(new URL('../../bin/animal-store.js', import.meta.url))

/** More than the time within which a signal counts as a duplicate (src/cli/service/stop-signals.ts). */
const SIGNAL_INTERVAL_MS = 300

/** The TypeScript compiler is a Go program. Without garbage collection it takes a third less CPU. */
export const COMPILER_ENV = { GOGC: 'off' }

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly child: ChildProcess
  /** What it has printed so far. */
  readonly printed: { out: string; err: string }
  readonly ended: Promise<Ended>
  /** Resolves with the first match on stderr, as soon as it is printed. */
  said(pattern: RegExp): Promise<string>
}

export interface CommandOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  /** Starts it as the leader of a process group. The whole group is killed at the end of the test. */
  readonly isGroup?: boolean
  /** Its standard input. */
  readonly input?: string | Buffer
  /** Leaves standard input open after `input`, as if more would follow. */
  readonly isInputOpen?: boolean
  /** The program and arguments to start instead of the command itself. */
  readonly program?: readonly string[]
}

/** Starts `animal-store` without any setting from this environment. It is killed at the end of the test. */
export function start(
  t: Scope,
  args: readonly string[],
  { cwd, env = {}, program, isGroup = false, input, isInputOpen = false }: CommandOptions,
): Running {
  const [file = '', ...first] = program ?? [process.execPath, MAIN]
  const { PATH = '', NODE_V8_COVERAGE, NODE_COMPILE_CACHE } = process.env
  const child = spawn(file, [...first, ...args], {
    cwd,
    env: {
      PATH,
      ...(NODE_V8_COVERAGE && { NODE_V8_COVERAGE }),
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      ...env,
    },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    detached: isGroup,
  })
  // A command may end before it has read all of its input.
  child.stdin?.on('error', () => {})
  if (input !== undefined) child.stdin?.write(input)
  if (!isInputOpen) child.stdin?.end()
  const printed = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', text => {
    printed.out += text
  })
  child.stderr?.setEncoding('utf8').on('data', text => {
    printed.err += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, ...printed }))
  })
  addEnvironmentKey(env.ANIMAL_STORE_API_KEY)
  t.after(async () => {
    if (isGroup) killGroup(child.pid)
    else child.kill('SIGKILL')
    await ended
    // On its first run the service prints a key to stderr. Its log goes to stdout.
    if (args[0] === 'serve') assertNoKey(printed.out, 'the log')
  })

  function said(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(printed.err)
        if (found) resolve(found[1] ?? found[0])
      }
      child.stderr?.on('data', look)
      child.on('close', () =>
        reject(new Error(`the process ended without printing ${pattern}: ${printed.err}${printed.out}`)),
      )
      look()
    })
  }
  return { child, printed, ended, said }
}

function killGroup(leader: number | undefined): void {
  try {
    process.kill(-Number(leader), 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}

/** Runs a command and waits for its end. */
export function run(t: Scope, args: readonly string[], options: CommandOptions): Promise<Ended> {
  return start(t, args, options).ended
}

/** Starts the service on a free port and waits until it listens. */
export async function serve(t: Scope, args: readonly string[], options: CommandOptions) {
  const running = start(t, ['serve', '--port', '0', ...args], options)
  const address = await running.said(/listening on (http:\S+)/)
  return { ...running, address }
}

/** Whether a service answers at this address. */
export function isAnswering(address: string): Promise<boolean> {
  return fetch(`${address}/livez`).then(
    () => true,
    () => false,
  )
}

/** Sends a signal again and again, like an impatient person: the service ignores a signal too soon after the first. */
export function signalUntilEnded(child: ChildProcess, signal: NodeJS.Signals): void {
  const timer = setInterval(() => child.kill(signal), SIGNAL_INTERVAL_MS)
  child.once('exit', () => clearInterval(timer))
}
