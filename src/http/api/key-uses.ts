// Which keys are used: stores the day of the last use, and warns of keys that expire soon. Requests only leave a note, and a timer
// does the rest, so that no request waits for it or fails with it.

import { type ApiKey, type Environment, successorOf } from '../../api-key.ts'
import { dayOf, UNIT_MS } from '../../clock.ts'
import type { Store, Warn } from '../../store.ts'
import { ENVIRONMENT_KEY_ID } from './authentication.ts'

/** How long before its end a key is reported. */
const EXPIRES_SOON_MS = 14 * UNIT_MS.d

/** How long notes wait for others. */
const DELAY_MS = 1_000
/** The pause after the database could not be used. */
const RETRY_MS = 60_000

/** A key that expires soon and has no successor, and the day on which it was used. */
export interface ExpiringKey {
  readonly id: string
  readonly name: string
  readonly expiresAt: string
  readonly day: string
}

export function warnOfExpiry(
  log: { warn(fields: object, message: string): void },
  { id, name, expiresAt }: ExpiringKey,
): void {
  log.warn(
    { keyId: id, keyName: name, expiresAt },
    `an API key that is in use expires soon; animal-store keys rotate ${id} creates its successor`,
  )
}

interface KeyUsesOptions {
  readonly store: Pick<Store, 'storeKeyUses' | 'listKeys'>
  readonly environment: Environment
  readonly warn: Warn
  /** Called at most once for each key and day. */
  readonly onExpiring: (key: ExpiringKey) => void
}

interface KeyUses {
  /** Takes the key of a request. */
  note(key: ApiKey, now: number): void
  /** Does at once what the timer would do. Never rejects. */
  flush(): Promise<void>
}

export function createKeyUses({ store, environment, warn, onExpiring }: KeyUsesOptions): KeyUses {
  /** The day, and when it ends. */
  let day = ''
  let [start, end] = [0, 0]
  /** The ids of the keys that were noted on this day. */
  const used = new Set<string>()
  const expiring = new Set<string>()
  /** What the timer has still to do: days by the ids of the keys, and keys. */
  const toStore = new Map<string, string>()
  const toCheck = new Map<string, ExpiringKey>()
  let timer: NodeJS.Timeout | undefined
  let hasFailed = false

  function note({ id, name, expiresAt, lastUsed }: ApiKey, now: number): void {
    if (now < start || now >= end) beginDay(now)
    if (!used.has(id)) {
      used.add(id)
      if (lastUsed !== day && id !== ENVIRONMENT_KEY_ID) toStore.set(id, day)
    }
    if (expiresAt !== undefined && expiresAt.getTime() - now <= EXPIRES_SOON_MS && !expiring.has(id)) {
      expiring.add(id)
      toCheck.set(id, { id, name, expiresAt: expiresAt.toISOString(), day })
    }
    if (timer === undefined && toStore.size + toCheck.size > 0) schedule(DELAY_MS)
  }

  function beginDay(now: number): void {
    start = Math.floor(now / UNIT_MS.d) * UNIT_MS.d
    end = start + UNIT_MS.d
    day = dayOf(now)
    used.clear()
    expiring.clear()
  }

  function schedule(delayMs: number): void {
    timer = setTimeout(async () => {
      await flush()
      timer = undefined
      if (toStore.size + toCheck.size > 0) schedule(hasFailed ? RETRY_MS : DELAY_MS)
    }, delayMs).unref()
  }

  async function flush(): Promise<void> {
    try {
      await checkSuccessors()
      await storeDays()
      hasFailed = false
    } catch (error) {
      // An outage is one line in the log, however long it lasts.
      const { cause = error } = error as Error
      if (!hasFailed) warn(`could not store on which day API keys were used: ${cause}`)
      hasFailed = true
    }
  }

  async function checkSuccessors(): Promise<void> {
    if (toCheck.size === 0) return
    const keys = await store.listKeys(environment)
    for (const [id, expiringKey] of toCheck) {
      toCheck.delete(id)
      const key = keys.find(each => each.id === id)
      if (key !== undefined && successorOf(key, keys) === undefined) onExpiring(expiringKey)
    }
  }

  async function storeDays(): Promise<void> {
    for (const [day, uses] of Map.groupBy([...toStore], ([, day]) => day)) {
      await store.storeKeyUses(
        uses.map(([id]) => id),
        day,
      )
      for (const [id] of uses) if (toStore.get(id) === day) toStore.delete(id)
    }
  }

  return { note, flush }
}
