// Looks at other processes of this machine, as Linux reports them below /proc.

import { existsSync, readFileSync } from 'node:fs'

/** The unit of CPU time below /proc: a hundredth of a second on every common Linux. */
const TICK_MICROS = 10_000

export function childrenOf(pid: number | undefined): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The memory that a process uses now, in MiB. */
export function memoryOf(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}

/** The CPU time of all threads of a process, in microseconds. */
export function cpuMicrosOf(pid: number): number {
  return timesOf(pid).own
}

/**
 * Returns the CPU time of all processes of a server, the ended ones included: the first process is the parent of the
 * others and has inherited the time of those that ended.
 */
export function cpuMicrosOfServer(processes: () => readonly number[]): number {
  for (;;) {
    const [parent = 0, ...children] = processes()
    try {
      const { own, endedChildren } = timesOf(parent)
      return children.map(cpuMicrosOf).reduce((sum, each) => sum + each, own + endedChildren)
    } catch (error) {
      // A child may have ended since the processes were listed. Then they are listed again.
      if (!existsSync(`/proc/${parent}`)) throw error
    }
  }
}

function timesOf(pid: number): { own: number; endedChildren: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program is in parentheses and may contain spaces. Eleven other fields follow it, then the times.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields
    .slice(11, 15)
    .map(ticks => Number(ticks) * TICK_MICROS)
  return { own: user + system, endedChildren: childUser + childSystem }
}
