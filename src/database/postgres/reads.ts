// Reads animals and API keys. Reads that arrive in the same event-loop turn are sent in one prepared statement. With 64
// connections, a request then takes 30 to 60 % of the CPU time that it takes with one unprepared statement for each read
// (bench/notes.md). An engine that refuses a statement for several animals gets one statement for each read.

import { type Inventory, renderAnimal, renderAnimals, type Status } from '../../animal.ts'
import type { ApiKey } from '../../api-key.ts'
import { type ServiceError, unavailable } from '../../error.ts'
import { INT64_MAX, INT64_MIN } from '../../json.ts'
import { isSearch, type JsonPage, type Page, type Store, type Warn } from '../../store.ts'
import { type BatchLimits, createBatcher } from '../batching.ts'
import { EMPTY_PAGE, pageStart, toAnimal, toAnimalText, toInventory, toKey } from '../rows.ts'
import { createSearchQueue } from '../searches.ts'
import { isNotSupported } from './errors.ts'
import type { Pool } from './pool.ts'
import * as sql from './statements.ts'

type ReadLimits = Omit<BatchLimits, 'queueTimeoutMs'>

/** The items are animals, at most 6 KB each as JSON. So one batch is at most 12 MB. */
const PAGES: ReadLimits = { size: 2_000, queueLength: 100_000, inFlight: 2 }
const ANIMALS: ReadLimits = { size: 256, queueLength: 4_096, inFlight: 2 }

const SEARCHES_IN_FLIGHT = 2

/** How long a count of all animals is used, where the database cannot keep the inventory, and how long it may take. */
const COUNT_KEPT_MS = 10_000
const COUNT_TIMEOUT_MS = 10_000

/** For an engine that gets one statement for each read. */
const SINGLE_READS: ReadLimits = { size: 1, queueLength: 4_096, inFlight: 8 }

/** A page as the statements take it: the animals from an inclusive bound on, or those before an exclusive one. */
interface Span {
  readonly isBackward: boolean
  readonly bound: bigint
  readonly limit: number
  readonly status: Status | undefined
}

interface Batch<Call, Result> {
  readonly runAll: (calls: readonly Call[]) => Promise<readonly Result[]>
  readonly runOne: (call: Call) => Promise<Result>
  readonly limits: ReadLimits
  readonly sizeOf?: (call: Call) => number
}

export function createAnimalReads(
  pool: Pool,
  warn: Warn,
): Pick<Store, 'listAnimals' | 'listAnimalsAsJson' | 'findAnimalAsJson' | 'countAnimals'> {
  const overloaded = () =>
    unavailable(undefined, 'The catalogue could not be read in time. Try again shortly.')
  const shared = { turns: 1, overloaded }
  const queueTimeoutMs = pool.timeouts.queueMs
  let isBatching = true

  const runLimited = createBatcher<() => Promise<unknown>, unknown>({
    ...shared,
    run: reads => Promise.all(reads.map(read => read())),
    limits: { ...SINGLE_READS, queueTimeoutMs },
  })

  /** Runs one statement. If the engine refuses it, runs several simpler ones, and only those from then on. */
  async function runOrElse<Result>(
    statement: () => Promise<Result>,
    simpler: () => Promise<Result>,
  ): Promise<Result> {
    if (!isBatching) return simpler()
    try {
      return await statement()
    } catch (error) {
      if (!isNotSupported(error)) throw error
      if (isBatching) warn('The database refuses statements for several reads. Sending one for each read.')
      isBatching = false
      return simpler()
    }
  }

  function batch<Call, Result>({ runAll, runOne, limits, ...options }: Batch<Call, Result>) {
    const runSingle = (call: Call) => runLimited(() => runOne(call)) as Promise<Result>
    const run = (calls: readonly Call[]) =>
      runOrElse(
        () => runAll(calls),
        () => Promise.all(calls.map(runSingle)),
      )
    const send = createBatcher({ ...shared, ...options, run, limits: { ...limits, queueTimeoutMs } })
    return (call: Call) => (isBatching ? send(call) : runSingle(call))
  }

  /** Pages of the same kind share a statement. */
  function batchPages(statement: string) {
    return batch<Span, JsonPage>({
      runAll: spans => readPages(pool, statement, spans),
      runOne: span => readPage(pool, span),
      limits: PAGES,
      // A page after the largest id has the limit 0, and must count too.
      sizeOf: ({ limit }) => Math.max(limit, 1),
    })
  }

  const search = createSearchQueue(async page => {
    const span = toSpan(page)
    if (span.limit === 0) return EMPTY_PAGE
    const values = searchValues(span, page)
    return runOrElse(
      () => searchAtOnce(pool, span, values),
      () => searchSimply(pool, span, values),
    )
  }, SEARCHES_IN_FLIGHT)

  const batches = {
    forward: batchPages(sql.LIST_PAGES.forward),
    backward: batchPages(sql.LIST_PAGES.backward),
    forwardByStatus: batchPages(sql.LIST_PAGES.forwardByStatus),
    backwardByStatus: batchPages(sql.LIST_PAGES.backwardByStatus),
  }

  return {
    async listAnimals(page) {
      const { start, limit } = pageStart(page)
      return (await pool.rows(sql.LIST_ANIMALS.forward, [start, limit])).map(toAnimal)
    },

    listAnimalsAsJson(page, isAbandoned) {
      if (isSearch(page)) return search({ page, isAbandoned })
      const span = toSpan(page)
      return batches[kindOf(span)](span)
    },

    countAnimals: createCount(pool, overloaded, warn),

    findAnimalAsJson: batch({
      async runAll(ids: readonly bigint[]) {
        const rows = await pool.textRows(sql.FIND_ANIMALS, [toArray(ids)])
        const found = new Map(rows as [string, string][])
        return ids.map(id => found.get(String(id)))
      },
      async runOne(id) {
        const [row] = await pool.textRows(sql.FIND_ANIMAL, [id])
        return row && renderAnimal(toAnimalText(row))
      },
      limits: ANIMALS,
    }),
  }
}

function searchValues({ bound, limit, status }: Span, { categoryId, nameContains }: Page): unknown[] {
  const values = [bound, limit, categoryId ?? null, nameContains ?? null]
  return status === undefined ? values : [...values, status]
}

async function searchAtOnce(pool: Pool, span: Span, values: readonly unknown[]): Promise<JsonPage> {
  const [row = []] = await pool.textRows(sql.SEARCH[kindOf(span)], values)
  const [json, previous, next] = row
  return { json: json as string, previous: toId(previous), next: toId(next) }
}

/** For engines that refuse the other statement. Two more statements find out whether there are animals beyond those examined. */
async function searchSimply(pool: Pool, span: Span, values: readonly unknown[]): Promise<JsonPage> {
  const rows = await pool.textRows(sql.SEARCH_ANIMALS[kindOf(span)], values)
  const matches = rows.filter(([isMatch]) => isMatch === 't').slice(0, span.limit)
  const farthest = matches.length === span.limit ? matches.at(-1) : rows.at(-1)
  const ends = [toId(rows[0]?.[1]), toId(farthest?.[1])]
  const [first, last] = span.isBackward ? ends.reverse() : ends
  if (first === undefined || last === undefined) return EMPTY_PAGE
  const isAnimal = async (side: Pick<Span, 'isBackward' | 'bound'>) =>
    (await readSpan(pool, { ...side, status: span.status, limit: 1 })).length > 0
  const animals = matches.map(([, ...values]) => toAnimalText(values))
  if (span.isBackward) animals.reverse()
  return {
    json: renderAnimals(animals),
    previous: (await isAnimal({ isBackward: true, bound: first })) ? first : undefined,
    next: last < INT64_MAX && (await isAnimal({ isBackward: false, bound: last + 1n })) ? last : undefined,
  }
}

/** Requests that arrive together share one statement. */
function createCount(pool: Pool, overloaded: () => ServiceError, warn: Warn): Store['countAnimals'] {
  let hasWarned = false

  const readInventory = createBatcher<undefined, Inventory | undefined>({
    async run(calls) {
      const [[isKept, ...counts] = []] = await pool.rows(sql.READ_INVENTORY, [])
      const inventory = isKept ? toInventory(counts) : undefined
      return calls.map(() => inventory)
    },
    limits: { ...ANIMALS, queueTimeoutMs: pool.timeouts.queueMs },
    turns: 1,
    overloaded,
  })

  const countAll = keepFor(COUNT_KEPT_MS, async () => {
    const config = { text: sql.COUNT_ANIMALS, rowMode: 'array' as const, query_timeout: COUNT_TIMEOUT_MS }
    const { rows } = await pool.withClient(client => client.query<unknown[]>(config))
    return toInventory(rows[0] ?? [])
  })

  return async () => {
    const kept = await readInventory(undefined)
    if (kept !== undefined) return kept
    if (!hasWarned)
      warn(
        'The database does not keep the inventory: the trigger animals_inventory is missing, as on Citus, or disabled. Animals are counted when they are asked for, at most every 10 seconds.',
      )
    hasWarned = true
    return countAll()
  }
}

/** Returns the same function, except that it returns an earlier result for this long. */
function keepFor<Result>(ms: number, read: () => Promise<Result>): () => Promise<Result> {
  let kept: Promise<Result> | undefined
  let readAt = 0
  return () => {
    if (kept === undefined || performance.now() - readAt > ms) {
      readAt = performance.now()
      const reading = read()
      reading.catch(() => {
        if (kept === reading) kept = undefined
      })
      kept = reading
    }
    return kept
  }
}

/** Reads equal pages once. */
async function readPages(pool: Pool, statement: string, spans: readonly Span[]): Promise<JsonPage[]> {
  const distinct = new Map<string, number>()
  const bounds: bigint[] = []
  const limits: number[] = []
  const statuses: Status[] = []
  const positions = spans.map(({ bound, limit, status }) => {
    const key = `${bound},${limit},${status}`
    const known = distinct.get(key)
    if (known !== undefined) return known
    if (status !== undefined) statuses.push(status)
    distinct.set(key, limits.push(limit))
    return bounds.push(bound)
  })
  const lists = [bounds, limits, ...(statuses.length > 0 ? [statuses] : [])]
  const rows = await pool.textRows(statement, lists.map(toArray))
  const pages = new Map(
    rows.map(([position, json, previous, next]) => [
      Number(position),
      { json: json as string, previous: toId(previous), next: toId(next) },
    ]),
  )
  return positions.map(position => pages.get(position) as JsonPage)
}

/**
 * Finds out with a second statement whether there are animals on the other side of the bound. On a distributed engine
 * that statement asks every shard, so it is left out for an empty page, which has no links, and for the first page.
 */
async function readPage(pool: Pool, span: Span): Promise<JsonPage> {
  // One row more than the limit shows whether more animals follow in the direction of reading.
  const rows = await readSpan(pool, { ...span, limit: span.limit === 0 ? 0 : span.limit + 1 })
  const hasMore = rows.length > span.limit
  const hasOthers =
    rows.length > 0 &&
    (span.isBackward || span.bound > INT64_MIN) &&
    (await readSpan(pool, { ...span, isBackward: !span.isBackward, limit: 1 })).length > 0
  const animals = rows.slice(0, span.limit).map(toAnimalText)
  if (span.isBackward) animals.reverse()
  const [hasPrevious, hasNext] = span.isBackward ? [hasMore, hasOthers] : [hasOthers, hasMore]
  return {
    json: renderAnimals(animals),
    previous: hasPrevious ? toId(animals[0]?.id) : undefined,
    next: hasNext ? toId(animals.at(-1)?.id) : undefined,
  }
}

function toSpan(page: Page): Span {
  const { before, status } = page
  if (before !== undefined) return { isBackward: true, bound: before, limit: page.limit, status }
  const { start, limit } = pageStart(page)
  return { isBackward: false, bound: start, limit, status }
}

function kindOf({ isBackward, status }: Span): keyof typeof sql.LIST_PAGES {
  if (status === undefined) return isBackward ? 'backward' : 'forward'
  return isBackward ? 'backwardByStatus' : 'forwardByStatus'
}

function readSpan(pool: Pool, span: Span): Promise<(string | null)[][]> {
  const { bound, limit, status } = span
  const values = status === undefined ? [bound, limit] : [bound, limit, status]
  return pool.textRows(sql.LIST_ANIMALS[kindOf(span)], values)
}

/** Renders a PostgreSQL array. pg would escape and quote each value, although none of these needs it. */
function toArray(values: readonly (bigint | number | Status)[]): string {
  return `{${values.join()}}`
}

function toId(id: bigint | string | null | undefined): bigint | undefined {
  return id === null || id === undefined ? undefined : BigInt(id)
}

const KEYS_PER_BATCH = 256
const KNOWN_KEYS_QUEUE_LENGTH = 4_096
const OTHER_KEYS_QUEUE_LENGTH = 1_024

/** Digests of keys that were found are kept, about 100 bytes each. */
const MAX_KNOWN_KEYS = 10_000

/**
 * Looks up API keys by their digests. Anyone can make up strings that look like keys, so digests that were never found have a
 * queue of their own and take at most one connection: a flood of them delays no known key.
 */
export function createKeyLookups(pool: Pool): Store['findKey'] {
  /** In order of their last look-up, so that the first one is the oldest. */
  const known = new Set<string>()

  async function run(digests: readonly string[]): Promise<(ApiKey | undefined)[]> {
    // A list of text is cheaper than a list of buffers, and the digests are hexadecimal.
    const list = `{${digests.map(digest => `"\\\\x${digest}"`).join()}}`
    const { rows } = await pool.query(sql.FIND_KEYS_BY_DIGEST, [list])
    const found = new Map(rows.map(toKey).map(key => [key.digest, key]))
    return digests.map(digest => {
      const key = found.get(digest)
      known.delete(digest)
      if (key !== undefined) remember(digest)
      return key
    })
  }

  function remember(digest: string): void {
    const oldest = known.size >= MAX_KNOWN_KEYS ? known.values().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    known.add(digest)
  }

  const overloaded = () =>
    unavailable(undefined, 'The API key could not be checked in time. Try again shortly.')

  function batch(queueLength: number, turns: number) {
    const limits = { size: KEYS_PER_BATCH, queueLength, queueTimeoutMs: pool.timeouts.queueMs }
    return createBatcher({ run, limits, turns, overloaded })
  }

  const findKnown = batch(KNOWN_KEYS_QUEUE_LENGTH, 1)
  // Unknown keys wait one turn longer, for larger batches: a client that was just rejected sends its next key then.
  const findOther = batch(OTHER_KEYS_QUEUE_LENGTH, 2)
  return digest => (known.has(digest) ? findKnown(digest) : findOther(digest))
}
