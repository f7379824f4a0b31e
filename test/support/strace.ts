// Makes system calls of running processes fail or wait, with strace.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Running, start } from './command.ts'
import { skipWithout } from './programs.ts'
import type { Scope } from './service.ts'

/** The reason to skip a test, or false. */
export const WITHOUT_STRACE = skipWithout('strace')

/**
 * `fault` is what strace's `inject=` takes, such as `fsync,fdatasync:error=EIO`. It concerns all files, or only `path`, and lasts
 * until strace is ended. Returns undefined if this user may not trace processes.
 */
export async function inject(
  scope: Scope,
  pids: readonly (number | undefined)[],
  fault: string,
  path?: string,
): Promise<Running | undefined> {
  const [calls = ''] = fault.split(':')
  const args = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${fault}`]
  if (path !== undefined) args.push('-P', path)
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

/** Whether a thread of the process waits for the disk to write what it has. */
export function isWaitingForDisk(pid: number): boolean {
  const syscalls = spawnSync('sh', ['-c', `cat /proc/${pid}/task/*/syscall`], { encoding: 'utf8' }).stdout
  // 74 and 75 are the numbers of fsync and fdatasync on x64, 82 and 83 on ARM.
  return /^(74|75|82|83) /m.test(syscalls)
}

/** Whether the main thread has ended. strace keeps the process in the process table until a delay ends. */
export function hasEnded(pid: number | undefined): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}
