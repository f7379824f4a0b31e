// Reads animals and API keys. Reads that arrive in the same event-loop turn are sent in one prepared statement. With 64
// connections, a request then takes 30 to 60 % of the CPU time that it takes with one unprepared statement for each read
// (bench/notes.md).

import type { Inventory, Status } from '../../animal.ts'
import { type AnimalText, renderAnimal } from '../../animal-json.ts'
import type { ApiKey } from '../../api-key.ts'
import { unavailable } from '../../error.ts'
import type { JsonPage } from '../../page.ts'
import type { Store, Warn } from '../../store.ts'
import { type BatchLimits, createBatcher } from '../batching.ts'
import { EMPTY_PAGE, formOf, type PageScan, toPage, toPageScan } from '../paging.ts'
import { toAnimal, toAnimalText, toInventory, toKey } from '../rows.ts'
import { createSearchQueue } from '../search-queue.ts'
import { countWithoutTriggers, createReadBatching, readPageUnbatched } from './compatibility.ts'
import type { Pool } from './pool.ts'
import * as sql from './statements.ts'

/** The items are animals, at most 6 KB each as JSON. So one batch is at most 12 MB. */
const PAGES: BatchLimits = { size: 2_000, queueLength: 100_000, inFlight: 2 }
const ANIMALS: BatchLimits = { size: 256, queueLength: 4_096, inFlight: 2 }

/** Each search has a statement of its own: two in one would take twice as long. */
const SEARCHES: BatchLimits = { ...PAGES, size: 1 }
/** How many searches a process runs at once. */
const SEARCHES_AT_ONCE = 2

const COUNT_TIMEOUT_MS = 10_000

export function createAnimalReads(
  pool: Pool,
  warn: Warn,
): Pick<Store, 'listAnimals' | 'listAnimalsAsJson' | 'findAnimalAsJson' | 'countAnimals'> {
  const overloaded = () =>
    unavailable({ message: 'The catalogue could not be read in time. Try again shortly.' })
  const queueing = { turns: 1, overloaded, queueTimeoutMs: pool.timeouts.queueMs }
  const batch = createReadBatching(queueing, warn)
  /** Pages of the same form are read together. */
  const batches: ((scan: PageScan) => Promise<JsonPage>)[] = []

  function readPage(scan: PageScan): Promise<JsonPage> {
    if (scan.limit === 0) return Promise.resolve(EMPTY_PAGE)
    const form = formOf(scan)
    batches[form] ??= batchPages(scan)
    return batches[form](scan)
  }

  function batchPages(first: PageScan) {
    const statement = sql.pageStatement(first)
    return batch<PageScan, JsonPage>({
      together: scans => readPages(pool, statement, scans),
      alone: scan => readPageUnbatched(scan, each => list(pool, each)),
      limits: first.search === undefined ? PAGES : SEARCHES,
      sizeOf: ({ limit }) => limit,
    })
  }

  const search = createSearchQueue(readPage, SEARCHES_AT_ONCE)

  const readInventory = createBatcher<undefined, Inventory | undefined>({
    async run(calls) {
      const [[isKept, ...counts] = []] = await pool.rows(sql.READ_INVENTORY, [])
      return Array(calls.length).fill(isKept ? toInventory(counts) : undefined)
    },
    ...queueing,
    limits: ANIMALS,
  })

  async function countAll(): Promise<Inventory> {
    const config = { text: sql.COUNT_ANIMALS, rowMode: 'array' as const, query_timeout: COUNT_TIMEOUT_MS }
    const { rows } = await pool.withClient(client => client.query<unknown[]>(config))
    return toInventory(rows[0] ?? [])
  }

  return {
    async listAnimals(page) {
      const scan = toPageScan(page)
      return (await pool.rows(sql.listStatement(scan), [scan.bound, scan.limit])).map(toAnimal)
    },

    listAnimalsAsJson(page) {
      const scan = toPageScan(page)
      return scan.search === undefined ? readPage(scan) : search(scan)
    },

    countAnimals: countWithoutTriggers(() => readInventory(undefined), countAll, warn),

    findAnimalAsJson: batch({
      async together(ids: readonly bigint[]) {
        const rows = await pool.textRows(sql.FIND_ANIMALS, [toArray(ids)])
        const found = new Map(rows as [string, string][])
        return ids.map(id => found.get(String(id)))
      },
      async alone(id) {
        const [row] = await pool.textRows(sql.FIND_ANIMAL, [id])
        return row && renderAnimal(toAnimalText(row))
      },
      limits: ANIMALS,
    }),
  }
}

/** Reads equal pages once. */
async function readPages(pool: Pool, statement: string, scans: readonly PageScan[]): Promise<JsonPage[]> {
  const distinct = new Map<string, number>()
  const sent: PageScan[] = []
  const positions = scans.map(scan => {
    const { bound, limit, status, search } = scan
    const key = `${bound},${limit},${status},${search?.categoryId},${search?.nameContains}`
    const position = distinct.get(key) ?? sent.push(scan)
    distinct.set(key, position)
    return position
  })
  const rows = await pool.textRows(statement, pageValues(sent))
  const pages = new Map(
    rows.map(([position, json, first, last, before, after]) => [
      Number(position),
      toPage({
        json: json as string,
        first: toId(first),
        last: toId(last),
        isAnyBefore: before === 't',
        isAnyAfter: after === 't',
      }),
    ]),
  )
  return positions.map(position => pages.get(position) as JsonPage)
}

/** The lists that the statement takes. All pages have the same form. */
function pageValues(scans: readonly PageScan[]): unknown[] {
  const values: unknown[] = [
    toArray(scans.map(({ bound }) => bound)),
    toArray(scans.map(({ limit }) => limit)),
  ]
  if (scans[0]?.status !== undefined) values.push(toArray(scans.map(({ status }) => status as Status)))
  if (scans[0]?.search !== undefined)
    values.push(
      scans.map(({ search }) => search?.categoryId ?? null),
      scans.map(({ search }) => search?.nameContains ?? null),
    )
  return values
}

async function list(pool: Pool, { bound, limit, ...form }: PageScan): Promise<AnimalText[]> {
  const values = form.status === undefined ? [bound, limit] : [bound, limit, form.status]
  return (await pool.textRows(sql.listStatement(form), values)).map(toAnimalText)
}

/** Renders a PostgreSQL array. pg would escape and quote each value, although none of these needs it. */
function toArray(values: readonly (bigint | number | Status)[]): string {
  return `{${values.join()}}`
}

function toId(id: string | null | undefined): bigint | undefined {
  return id === null || id === undefined ? undefined : BigInt(id)
}

/** Anyone can make up strings that look like keys, so the queue is bounded. */
const KEYS: BatchLimits = { size: 256, queueLength: 4_096 }

/** Looks up API keys by their digests. */
export function createKeyLookups(pool: Pool): Store['findKey'] {
  return createBatcher<string, ApiKey | undefined>({
    async run(digests) {
      // A list of text is cheaper than a list of buffers, and the digests are hexadecimal.
      const list = `{${digests.map(digest => `"\\\\x${digest}"`).join()}}`
      const { rows } = await pool.query(sql.FIND_KEYS_BY_DIGEST, [list])
      const found = new Map(rows.map(toKey).map(key => [key.digest, key]))
      return digests.map(digest => found.get(digest))
    },
    limits: KEYS,
    queueTimeoutMs: pool.timeouts.queueMs,
    // A client that was just rejected sends its next key in the next turn.
    turns: 2,
    overloaded: () =>
      unavailable({ message: 'The API key could not be checked in time. Try again shortly.' }),
  })
}
