// Daily backups: runs `animal-store backup` in a process of its own whenever the newest backup in the folder is older than a day, and
// deletes the oldest ones.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { type Clock, systemClock, UNIT_MS } from '../../clock.ts'
import type { DatabaseAddress } from '../../database/open.ts'
import { describeSystemError } from '../../system-error.ts'
import type { ServiceSettings } from '../settings.ts'

const RETRY_MS = UNIT_MS.h

/** How often the clock is compared with the names in the folder. */
const CHECK_INTERVAL_MS = 10_000

/** How long a stop waits until an unfinished backup has cleaned up. */
const STOP_TIMEOUT_MS = 2_000

const PRIVATE_FOLDER = 0o700

const LAUNCHER = fileURLToPath(new URL('../../../bin/animal-store.js', import.meta.url))

type BackupSettings = Pick<ServiceSettings, 'backupFolder' | 'backupKeep'>

export interface DailyBackups {
  /** Stops an unfinished backup, and deletes what there is of it. */
  stop(): Promise<void>
}

/** A backup's age is what its name says. */
interface Backup {
  readonly file: string
  readonly time: number
}

/** What the folder has of this database. */
interface Found {
  /** The oldest first. */
  readonly backups: readonly Backup[]
  /** The folders in which a backup was copied when its process was killed (src/database/new-file.ts). */
  readonly unfinished: readonly string[]
}

/** Returns the time of the newest backup of this database, or undefined if there is none. */
export async function findNewestBackup(
  folder: string,
  database: string,
  now = systemClock(),
): Promise<number | undefined> {
  const { backups } = await findBackups(folder, database).catch(() => ({ backups: [] }))
  return newestOf(backups, now)
}

function newestOf(backups: readonly Backup[], now: number): number | undefined {
  return untilTomorrow(backups, now).at(-1)?.time
}

/** A later backup was made while the clock was wrong. It must neither put off the others nor push them out. */
function untilTomorrow(backups: readonly Backup[], now: number): readonly Backup[] {
  return backups.filter(({ time }) => time <= now + UNIT_MS.d)
}

async function findBackups(folder: string, database: string): Promise<Found> {
  const entries = await readdir(folder, { withFileTypes: true })
  const unfinished: string[] = []
  const backups: Backup[] = []
  for (const entry of entries) {
    const [, file = '', rest] = /^(.+?\.db)(\.unfinished-\w+)?$/.exec(entry.name) ?? []
    const time = timeOf(file, database)
    if (time === undefined) continue
    if (rest === undefined && entry.isFile()) backups.push({ file, time })
    if (rest !== undefined && entry.isDirectory()) unfinished.push(entry.name)
  }
  return { backups: backups.sort((one, other) => one.time - other.time), unfinished }
}

function backupName(database: string, time: number): string {
  const stamp = `${new Date(time).toISOString().slice(0, 19).replaceAll(/[:-]/g, '')}Z`
  return `${basename(database, extname(database))}-${stamp}.db`
}

/** Returns undefined if this is not the name of a backup of this database. */
function timeOf(name: string, database: string): number | undefined {
  const digits = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/.exec(name)
  if (digits === null) return undefined
  const [year, month, day, hour, minute, second] = digits.slice(1)
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return !Number.isNaN(time) && backupName(database, time) === name ? time : undefined
}

/** Returns undefined if the settings ask for no backups. */
export function startDailyBackups(
  { backupFolder, backupKeep }: BackupSettings,
  address: DatabaseAddress,
  log: Pick<Logger, 'info' | 'error'>,
  clock: Clock = systemClock,
  checkIntervalMs = CHECK_INTERVAL_MS,
): DailyBackups | undefined {
  if (backupFolder === undefined || address.kind !== 'sqlite') return undefined
  const database = address.path
  // A relative one could begin with a hyphen, like a flag.
  const folder = resolve(backupFolder)
  const stopping = new AbortController()
  let failedAt: number | undefined

  async function check(): Promise<void> {
    const now = clock()
    if (failedAt !== undefined && now >= failedAt && now - failedAt < RETRY_MS) return
    try {
      await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
      const { backups, unfinished } = await findBackups(folder, database)
      await deleteAll(unfinished)
      const newest = newestOf(backups, now)
      if (newest === undefined || now - newest > UNIT_MS.d) await backUp(now)
      failedAt = undefined
    } catch (error) {
      if (stopping.signal.aborted) return
      failedAt = now
      const reason = error instanceof BackupFailed ? error.message : describeSystemError(error)
      log.error({ folder, reason }, 'the daily backup failed; the next attempt is in an hour')
    }
  }

  async function backUp(now: number): Promise<void> {
    const start = performance.now()
    const file = join(folder, backupName(database, now))
    await runBackup(database, file, stopping.signal)
    const seconds = Number(((performance.now() - start) / 1_000).toFixed(1))
    const { backups } = await findBackups(folder, database)
    const deleted = untilTomorrow(backups, now)
      .slice(0, -backupKeep)
      .map(({ file }) => file)
    await deleteAll(deleted)
    log.info({ file, seconds, ...(deleted.length > 0 && { deleted }) }, 'the daily backup is written')
  }

  async function deleteAll(names: readonly string[]): Promise<void> {
    for (const name of names) await rm(join(folder, name), { recursive: true, force: true })
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await check()
      await delay(checkIntervalMs, undefined, { ref: false, signal: stopping.signal }).catch(() => {})
    }
    const { unfinished } = await findBackups(folder, database).catch(() => ({ unfinished: [] }))
    await deleteAll(unfinished)
  }

  const running = run()
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}

/** The message is what the command has printed last. */
class BackupFailed extends Error {}

/** Runs the command in a process of its own, so that requests do not wait for it. */
async function runBackup(database: string, file: string, signal: AbortSignal): Promise<void> {
  const args = [LAUNCHER, 'backup', file, '--database-url', `sqlite:${database}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = async () => {
    child.kill('SIGTERM')
    // It notices a signal only between two steps, and the check of a large copy is one step.
    await delay(STOP_TIMEOUT_MS, undefined, { ref: false })
    child.kill('SIGKILL')
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    const [said, [code, killedBy]] = await Promise.all([text(child.stderr), once(child, 'close')])
    if (code === 0) return
    throw new BackupFailed(said.trim().split('\n').at(-1) || `the process ended with ${killedBy ?? code}`)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
