// Makes system calls of running processes fail or wait, with strace.

import { spawnSync } from 'node:child_process'
import { type Running, start } from './command.ts'
import type { Scope } from './service.ts'

/** The reason to skip a test, or false. */
export const WITHOUT_STRACE = spawnSync('strace', ['-V']).status === 0 ? false : 'strace is not installed'

/**
 * `fault` is what strace's `inject=` takes, such as `fsync,fdatasync:error=EIO`. It lasts until strace is ended. Returns
 * undefined if this user may not trace processes.
 */
export async function inject(
  scope: Scope,
  pids: readonly (number | undefined)[],
  fault: string,
): Promise<Running | undefined> {
  const [calls = ''] = fault.split(':')
  const args = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${fault}`]
  const strace = start(scope, [...args, ...pids.map(pid => `-p${pid}`)], { cwd: '/', program: ['strace'] })
  for (const pid of pids) {
    const isAttached = await strace.said(new RegExp(`Process ${pid} attached`)).then(
      () => true,
      () => false,
    )
    if (!isAttached) return undefined
  }
  return strace
}
