// Stops a benchmark early, on a signal, or when the npm that started it ends, and ends every process that it started.

import { constants } from 'node:os'
import { stopWithParentProcess } from '../src/cli/stop-signals.ts'

const CLEAN_UP_TIMEOUT_MS = 30_000

const interruption = new AbortController()

/** Aborted by the first signal. Everything that takes long stops then, so that the `finally` blocks run. */
export const interrupted = interruption.signal

/** Runs a benchmark until it ends or is interrupted. The exit code after a signal is 128 plus its number. */
export async function runInterruptibly(benchmark: () => Promise<void>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  const isStartedByNpm = process.env.npm_lifecycle_event !== undefined
  if (isStartedByNpm) stopWithParentProcess(() => interrupt('SIGTERM'))
  try {
    await benchmark()
  } catch (error) {
    if (!interrupted.aborted) throw error
  }
}

function interrupt(signal: NodeJS.Signals): void {
  // npm and the terminal may each send the signal.
  if (interrupted.aborted) return
  console.error('Interrupted: stopping all processes of the benchmark.')
  process.exitCode = 128 + constants.signals[signal]
  interruption.abort()
  setTimeout(() => process.exit(), CLEAN_UP_TIMEOUT_MS).unref()
}
