// What a pooler or another engine may lack, and what the service does then. Each lack is noticed when it matters, and logged once.
//
// - Prepared statements: a pooler may refuse them (PgBouncer before 1.21, or without max_prepared_statements). Statements are then
//   parsed and planned each time.
// - One statement for several reads: another engine may refuse it (Citus). Each read then has a statement of its own.
// - One statement for several changes and removals: another engine may refuse it (Citus). Each then has a transaction of its own
//   (write-animals.ts).
// - The inventory: another engine may refuse its triggers (Citus). Animals are then counted when somebody asks.
// - Cancelling a statement that takes too long (pool.ts): through a pooler it has no effect, because the id of the process is the
//   pooler's. docs/postgresql.md says which time-out to set in the server instead.

import { hash } from 'node:crypto'
import type pg from 'pg'
import { foldName, type Inventory } from '../../animal.ts'
import { type AnimalText, renderAnimals } from '../../animal-json.ts'
import { INT64_MAX, INT64_MIN } from '../../int64.ts'
import { type JsonPage, MAX_EXAMINED } from '../../page.ts'
import type { Warn } from '../../store.ts'
import { type BatchLimits, type BatchOptions, createBatcher } from '../batching.ts'
import { EMPTY_PAGE, type PageScan, toPage } from '../paging.ts'
import { databaseError, isOutdatedPlan, isUnsupportedStatement } from './errors.ts'

type Send = (config: pg.QueryConfig) => Promise<pg.QueryResult>

/**
 * Returns a function that sends statements as prepared ones, which are parsed and planned once per connection, unless a pooler
 * refuses that. The name is a hash of the text, so that clients that share a connection cannot use one name for two texts.
 */
export function prepareIfSupported(send: Send, warn: Warn): Send {
  /** There are only a few statements. */
  const names = new Map<string, string>()
  let isPreparing = true

  function nameOf(text: string): string {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = `animal_store_${hash('sha256', text).slice(0, 32)}`
    names.set(text, name)
    return name
  }

  return async config => {
    if (!isPreparing) return send(config)
    try {
      return await send({ ...config, name: nameOf(config.text) })
    } catch (error) {
      // In both cases nothing ran, so that even a creation can be sent again.
      if (isOutdatedPlan(error)) return send(config)
      if (!isPreparedStatementRefused(error)) throw error
      if (isPreparing)
        warn(
          'Prepared statements do not work, probably because of a connection pooler. Going on without them.',
        )
      isPreparing = false
      return send(config)
    }
  }
}

/**
 * Whether a prepared statement is unknown to the server or prepared twice, because a pooler gave us another server
 * connection. PgBouncer uses 08P01 for most of its own errors.
 */
function isPreparedStatementRefused(error: unknown): boolean {
  const { code = '', message = '' } = databaseError(error) ?? {}
  return ['26000', '42P05'].includes(code) || (code === '08P01' && /prepared statement/i.test(message))
}

/** Fewer than a process has connections, so that other requests get one. */
const SEPARATE_READS: BatchLimits = { size: 1, queueLength: 4_096, inFlight: 8 }

type Queueing = Pick<BatchOptions<never, never>, 'turns' | 'overloaded' | 'queueTimeoutMs'>

interface Reads<Call, Result> {
  readonly together: (calls: readonly Call[]) => Promise<readonly Result[]>
  readonly alone: (call: Call) => Promise<Result>
  readonly limits: BatchLimits
  readonly sizeOf?: (call: Call) => number
}

/** Returns a function that batches reads, which run one by one once the engine has refused a statement for several. */
export function createReadBatching(queueing: Queueing, warn: Warn) {
  let isBatching = true

  const runAlone = createBatcher<() => Promise<unknown>, unknown>({
    ...queueing,
    run: reads => Promise.all(reads.map(read => read())),
    limits: SEPARATE_READS,
  })

  return function batch<Call, Result>({ together, alone, ...options }: Reads<Call, Result>) {
    const readAlone = (call: Call) => runAlone(() => alone(call)) as Promise<Result>
    const send = createBatcher<Call, Result>({
      ...queueing,
      ...options,
      async run(calls) {
        try {
          return await together(calls)
        } catch (error) {
          if (!isUnsupportedStatement(error)) throw error
          if (isBatching)
            warn('The database refuses statements for several reads. Sending one for each read.')
          isBatching = false
          return Promise.all(calls.map(readAlone))
        }
      },
    })
    return (call: Call) => (isBatching ? send(call) : readAlone(call))
  }
}

/**
 * Reads one page. A search reads all animals that it examines. On a distributed engine each statement asks every shard, so none
 * is sent to find out what is known: whether animals follow a list, or precede the first page.
 */
export async function readPageUnbatched(
  scan: PageScan,
  list: (scan: PageScan) => Promise<readonly AnimalText[]>,
): Promise<JsonPage> {
  const { isBackward, bound, limit, search } = scan
  const size = search === undefined ? limit + 1 : MAX_EXAMINED
  const examined = await list({ ...scan, limit: size })
  const animals = examined.filter(animal => isMatch(animal, search)).slice(0, limit)
  const farthest = animals.length === limit ? animals.at(-1) : examined.at(-1)
  const nearest = examined[0]
  if (nearest === undefined || farthest === undefined) return EMPTY_PAGE

  const isAnyIn = async (side: Partial<PageScan>) => (await list({ ...scan, ...side, limit: 1 })).length > 0
  const last = BigInt(farthest.id)
  const isAnyBeyond = () => isAnyIn({ bound: isBackward ? last : last + 1n })
  const hasMore =
    farthest !== examined.at(-1) || (examined.length === size && last < INT64_MAX && (await isAnyBeyond()))
  const hasOthers = (isBackward || bound > INT64_MIN) && (await isAnyIn({ isBackward: !isBackward }))
  const first = BigInt(nearest.id)
  return isBackward
    ? toPage({
        json: renderAnimals(animals.reverse()),
        first: last,
        last: first,
        isAnyBefore: hasMore,
        isAnyAfter: hasOthers,
      })
    : toPage({ json: renderAnimals(animals), first, last, isAnyBefore: hasOthers, isAnyAfter: hasMore })
}

function isMatch({ name, categoryId }: AnimalText, wanted: PageScan['search'] = {}): boolean {
  if (wanted.categoryId !== undefined && String(categoryId) !== String(wanted.categoryId)) return false
  return wanted.nameContains === undefined || foldName(name).includes(wanted.nameContains)
}

const COUNT_KEPT_MS = 10_000

/** Returns a function that counts the animals only if there is no inventory, and keeps the count for ten seconds. */
export function countWithoutTriggers(
  readInventory: () => Promise<Inventory | undefined>,
  countAll: () => Promise<Inventory>,
  warn: Warn,
): () => Promise<Inventory> {
  let counted: Promise<Inventory> | undefined
  let countedAt = Number.NEGATIVE_INFINITY
  let hasWarned = false

  return async () => {
    const inventory = await readInventory()
    if (inventory !== undefined) return inventory
    if (!hasWarned)
      warn(
        'The database does not keep the inventory: a trigger whose name begins with animals_inventory is missing, as on Citus, or disabled. Animals are counted when they are asked for, at most every 10 seconds.',
      )
    hasWarned = true
    if (counted === undefined || performance.now() - countedAt > COUNT_KEPT_MS) {
      countedAt = performance.now()
      const counting = countAll()
      counting.catch(() => {
        if (counted === counting) counted = undefined
      })
      counted = counting
    }
    return counted
  }
}
