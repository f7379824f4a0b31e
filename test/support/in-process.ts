// Runs a command in this process. The start of a process takes most of the time of a command, so tests use this where
// the process itself does not matter.

import { Readable, Writable } from 'node:stream'
import { main } from '../../src/cli/command-line.ts'

export interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function runInProcess(
  args: readonly string[],
  env: Record<string, string>,
  input = '',
): Promise<Result> {
  const stdout = new Collector()
  const stderr = new Collector()
  const stdin = Readable.from([Buffer.from(input)])
  const code = await main(args, env, { stdin, stdout, stderr })
  return { code, out: stdout.text, err: stderr.text }
}

class Collector extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.text += chunk
    callback()
  }
}
