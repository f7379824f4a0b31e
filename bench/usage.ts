// The CPU time and memory of other processes, as Linux reports them below /proc.

import { existsSync, readFileSync } from 'node:fs'

/** The unit of CPU time below /proc: a hundredth of a second on every common Linux. */
const TICK_MICROS = 10_000

export interface Usage {
  /** The CPU time of all threads of the process. */
  readonly cpuMicros: number
  readonly rssBytes: number
}

export function usageOf(pid: number): Usage {
  const { user, system } = timesOf(pid)
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return { cpuMicros: user + system, rssBytes: Number(kib) * 1_024 }
}

/**
 * Returns the CPU time of all processes of a server, the ended ones included: the first process is the parent of the
 * others and has inherited the time of those that ended.
 */
export function cpuMicrosOfServer(processes: () => readonly number[]): number {
  for (;;) {
    const [parent = 0, ...children] = processes()
    try {
      const { user, system, endedChildren } = timesOf(parent)
      const ofChildren = children.map(timesOf).reduce((sum, times) => sum + times.user + times.system, 0)
      return user + system + endedChildren + ofChildren
    } catch (error) {
      // A child may have ended since the processes were listed. Then they are listed again.
      if (!existsSync(`/proc/${parent}`)) throw error
    }
  }
}

function timesOf(pid: number): { user: number; system: number; endedChildren: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program is in parentheses and may contain spaces. Eleven other fields follow it, then the times.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields
    .slice(11, 15)
    .map(ticks => Number(ticks) * TICK_MICROS)
  return { user, system, endedChildren: childUser + childSystem }
}
