// Programs that some tests need. Where one is missing, its tests are skipped, and the end of the run says so.

import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

/** Returns the reason to skip a test, or false. In CI on GitHub, every program must be there. */
export function skipWithout(program: string, isFound = isInstalled(program)): string | false {
  if (isFound) return false
  const reason = `${program} is not installed`
  if (process.env.GITHUB_ACTIONS !== undefined && process.platform === 'linux') throw new Error(reason)
  if (process.env.TEST_RUN !== undefined) appendFileSync(listFile(), `${reason}\n`)
  return reason
}

/** Prints once for each program that tests were skipped. Called at the end of all tests. */
export function reportSkipped(): void {
  try {
    const reasons = new Set(readFileSync(listFile(), 'utf8').trim().split('\n'))
    for (const reason of reasons) console.log(`Some tests were skipped: ${reason}.`)
    rmSync(listFile())
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** The test files run in processes of their own. */
function listFile(): string {
  return join(tmpdir(), `animal-store-skipped-${process.env.TEST_RUN}`)
}
