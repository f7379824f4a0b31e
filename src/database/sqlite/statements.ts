// The SQL statements of the store, and every change as a function that runs within a transaction.

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { type Animal, type AnimalChanges, applyChanges, type NewAnimal, searchName } from '../../animal.ts'
import { renderAnimal } from '../../animal-json.ts'
import type { ApiKey, Environment } from '../../api-key.ts'
import { IDEMPOTENCY_WINDOW_MS } from '../../idempotency.ts'
import { INT64_MIN } from '../../int64.ts'
import { MAX_EXAMINED } from '../../page.ts'
import { failedCondition, type Outcome, replay, type Write } from '../../write.ts'
import { formOf, type PageScan } from '../paging.ts'
import { keyValues, toAnimal, toKey } from '../rows.ts'

export type Statements = ReturnType<typeof prepareStatements>

export interface OpenDatabase {
  readonly database: DatabaseSync
  readonly statements: Statements
}

/** Renders the same JSON as `renderAnimal` in animal-json.ts; test/store.contract.ts compares the two. */
const ANIMAL_JSON = `
  iif(status is null,
    json_object('id', id, 'name', name, 'categoryId', category_id),
    json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status))`

/** For a bare `limit ?` SQLite would plan the statement again for each value, which takes a quarter of the time of a page. */
const LIST_ANIMALS = `
  select id, name, category_id, status from animals
  where id >= ? order by id limit ? + 0`

/**
 * The statement for a page (FoundPage): at most ?2 animals, forward from ?1 on or backward before ?1, of the status ?3 if the page has
 * one. Rendering a page in SQLite takes half as long (bench/notes.md) as passing its values to JavaScript. SQLite does not promise
 * the order of json_group_array, but the limit forces it to run the inner query in order; test/store.contract.ts checks that.
 *
 * A search examines the first animals of that order, for the category ?4 and the folded text ?5, either of which may be null. SQLite
 * stops at the last match if the page is full. Otherwise the search has examined all animals up to the limit. Forward, and for any
 * status, its statement is in short:
 *
 *     select json, first, last, <whether an animal precedes the first>, <whether one follows the last>
 *     from (
 *       select <the matches as JSON> as json, <the first id that was examined> as first,
 *         iif(<the page is full>, max(id), <the last id that was examined>) as last
 *       from (
 *         select … from (select … from animals where id >= ?1 order by id limit 10000)
 *         where <the category and the name match> limit ?2))
 */
function pageStatement({ isBackward, status, search }: PageScan): string {
  const ofStatus = status === undefined ? '' : 'status = ?3 and '
  const candidates = `animals where ${ofStatus}id ${isBackward ? '<' : '>='} ?1`
  const inOrder = `${candidates} order by id ${isBackward ? 'desc' : ''}`
  let animals = inOrder
  let [first, last] = ['min(id)', 'max(id)']
  if (search !== undefined) {
    animals = `(select id, name, category_id, status, search_name from ${inOrder} limit ${MAX_EXAMINED})
      where (?4 is null or category_id = ?4)
        and (?5 is null or instr(coalesce(search_name, lower(name)), ?5) > 0)`
    const farthest = isBackward ? 'min(id)' : 'max(id)'
    const nearestExamined = `(select id from ${inOrder} limit 1)`
    const farthestExamined = `
      iif(count(*) = ?2, ${farthest},
        coalesce((select id from ${inOrder} limit 1 offset ${MAX_EXAMINED - 1}),
          (select ${farthest} from ${candidates})))`
    ;[first, last] = isBackward ? [farthestExamined, nearestExamined] : [nearestExamined, farthestExamined]
  }
  const isAny = (condition: string) => `exists (select 1 from animals where ${ofStatus}${condition})`
  return `
    select json, first, last, ${isAny('id < first')}, ${isAny('id > last')}
    from (
      select json_group_array(${ANIMAL_JSON} ${isBackward ? 'order by id' : ''}) as json,
        ${first} as first, ${last} as last
      from (select id, name, category_id, status from ${animals} limit ?2 + 0))`
}

/**
 * The inventory counts the animals up to its last id. An older version or another program may have stored more. No row if somebody
 * has deleted that of the inventory.
 */
const READ_INVENTORY = `
  select
    available + count(animals.id) filter (where status = 'available') as available,
    pending + count(animals.id) filter (where status = 'pending') as pending,
    sold + count(animals.id) filter (where status = 'sold') as sold,
    none + count(animals.id) filter (where status is null) as none
  from inventory left join animals on animals.id > last_id
  having count(inventory.id) > 0`

const COUNT_ALL = `
  select coalesce(max(id), ${INT64_MIN}) as last_id,
    count(*) filter (where status = 'available') as available, count(*) filter (where status = 'pending') as pending,
    count(*) filter (where status = 'sold') as sold, count(*) filter (where status is null) as none
  from animals`

/** One statement for 16 animals takes half the time of 16 statements. More animals save little more. */
const ANIMALS_PER_INSERT = 16

interface RowStatement {
  all(...values: SQLInputValue[]): unknown[][]
  get(...values: SQLInputValue[]): unknown[] | undefined
  run(...values: SQLInputValue[]): { readonly lastInsertRowid: number | bigint }
}

/**
 * Reads integers as `bigint`. Without that, even a statement that returns no row fails if the last id that the connection
 * inserted is beyond 2^53.
 */
export function prepareExact(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** For animals: reads rows as arrays, which are faster than objects. */
export function prepareRows(database: DatabaseSync, sql: string): RowStatement {
  const statement = prepareExact(database, sql)
  statement.setReturnArrays(true)
  return statement as unknown as RowStatement
}

export function prepareStatements(database: DatabaseSync) {
  const prepare = (sql: string) => prepareExact(database, sql)
  const rows = (sql: string) => prepareRows(database, sql)
  const inserts = Array.from({ length: ANIMALS_PER_INSERT }, (_, index) =>
    rows(
      `insert into animals (name, category_id, status, search_name)
       values (?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(index)}`,
    ),
  )
  const pages: RowStatement[] = []
  const updates: Record<string, RowStatement> = {}

  return {
    listAnimals: rows(LIST_ANIMALS),
    /** Prepares a statement for each form of page, once. */
    page(scan: PageScan): RowStatement {
      const form = formOf(scan)
      pages[form] ??= rows(pageStatement(scan))
      return pages[form]
    },
    findAnimalAsJson: rows(`
      select ${ANIMAL_JSON} from animals where id = ?`),
    /** For up to ANIMALS_PER_INSERT animals. */
    insertAnimals: (count: number) => inserts[count - 1] as RowStatement,

    readInventory: rows(READ_INVENTORY),
    countAdded: prepare(`
      update inventory set (available, pending, sold, none, last_id) = (
        select
          available + count(*) filter (where status = 'available'),
          pending + count(*) filter (where status = 'pending'),
          sold + count(*) filter (where status = 'sold'),
          none + count(*) filter (where status is null),
          coalesce(max(animals.id), last_id)
        from animals where animals.id > last_id)`),
    /** The last id and the right counts, and then the counts of the inventory, both at the same moment. */
    compareInventory: rows(`
      select counted.*, kept.* from (${COUNT_ALL}) as counted left join (${READ_INVENTORY}) as kept`),
    setInventory: prepare(`
      insert or replace into inventory (id, last_id, available, pending, sold, none) values (1, ?, ?, ?, ?, ?)`),

    findAnimal: rows('select id, name, category_id, status from animals where id = ?'),
    /** Prepares a statement for each set of members, once. Takes their values and the id. */
    updateAnimal(columns: readonly string[]): RowStatement {
      const list = columns.map(column => `${column} = ?`).join()
      updates[list] ??= rows(`update animals set ${list} where id = ?`)
      return updates[list]
    },
    deleteAnimal: prepare('delete from animals where id = ?'),

    /** Returns the request, the id of the animal and the answer (StoredAnswer). */
    findStoredAnswer: rows(`
      select iif(answered_at = created_at, request, null), animal_id,
        iif(answered_at = created_at, answer, (select ${ANIMAL_JSON} from animals where id = animal_id))
      from idempotency_keys where scope = ? and key = ? and created_at > ?`),
    storeIdempotencyKey: prepare(`
      insert or replace into idempotency_keys (scope, key, animal_id, created_at, request, answer, answered_at)
      values (?1, ?2, ?3, ?4, ?5, ?6, ?4)`),
    deleteExpiredIdempotencyKeys: prepare(`
      delete from idempotency_keys where (scope, key) in
        (select scope, key from idempotency_keys where created_at <= ? order by created_at limit ?)`),

    findKeyByDigest: prepare('select * from api_keys where digest = ?'),
    findKey: prepare('select * from api_keys where id = ? and environment = ?'),
    listKeys: prepare('select * from api_keys where environment = ? order by created_at, id'),
    insertKey: prepare(`
      insert into api_keys (id, name, environment, digest, scope, created_at, expires_at, revoked_at, access, last_used)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    hasKeys: prepare('select 1 from api_keys where environment = ? limit 1'),
    revokeKey: prepare(
      'update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ? and environment = ?',
    ),
    expireRotatedKey: prepare(`
      update api_keys as old set expires_at = min(coalesce(expires_at, ?1), ?1)
      where id = ?2 and environment = ?3 and revoked_at is null and not exists (
        select 1 from api_keys as successor
        where scope = old.scope and (created_at, id) > (old.created_at, old.id) and revoked_at is null)`),

    storeKeyUse: prepare(
      'update api_keys set last_used = ?1 where id = ?2 and (last_used is null or last_used < ?1)',
    ),

    // Names every column of every table, so that it fails if one is missing.
    ping: prepare(`
      select exists (select id, name, category_id, status, search_name from animals),
        exists (select available, pending, sold, none, last_id from inventory),
        exists (
          select id, name, environment, digest, scope, created_at, expires_at, revoked_at, access, last_used
          from api_keys),
        exists (select scope, key, animal_id, created_at, request, answer, answered_at from idempotency_keys)`),
  }
}

type Column = string | bigint | null

const COLUMNS_PER_ANIMAL = 4

/** Returns name, category_id, status and search_name of a new animal, in this order. */
export function animalColumns({ name, categoryId, status }: NewAnimal): Column[] {
  return [name, categoryId, status ?? null, searchName(name)]
}

/**
 * Inserts animals, and returns their ids. Takes the columns of all of them in one array: passing that to the writer thread takes a
 * fifth of the time that an array of objects takes. SQLite gives the animals of one statement consecutive ids, in order;
 * test/store.contract.ts checks that.
 */
function insertAnimals(statements: Statements, columns: readonly Column[]): bigint[] {
  const ids: bigint[] = []
  const step = ANIMALS_PER_INSERT * COLUMNS_PER_ANIMAL
  for (let from = 0; from < columns.length; from += step) {
    const inserted = columns.slice(from, from + step)
    const count = inserted.length / COLUMNS_PER_ANIMAL
    const last = BigInt(statements.insertAnimals(count).run(...inserted).lastInsertRowid)
    for (let index = 1; index <= count; index++) ids.push(last - BigInt(count - index))
  }
  return ids
}

/** Changes what differs from the animal as it is, or nothing. */
function updateAnimal(statements: Statements, animal: Animal, changes: AnimalChanges): Outcome {
  const changed = applyChanges(animal, changes)
  const columns: Record<string, Column> = {
    ...(changed.name !== animal.name && { name: changed.name, search_name: searchName(changed.name) }),
    ...(changed.categoryId !== animal.categoryId && { category_id: changed.categoryId }),
    ...(changed.status !== animal.status && { status: changed.status ?? null }),
  }
  const names = Object.keys(columns)
  if (names.length === 0) return { kind: 'unchanged', animal }
  statements.updateAnimal(names).run(...Object.values(columns), animal.id)
  return { kind: 'updated', animal: changed }
}

/** Runs a write whose idempotency key is free. */
function applyWrite(statements: Statements, write: Write): Outcome {
  if (write.kind === 'create') {
    const [id] = insertAnimals(statements, animalColumns(write.animal)) as [bigint]
    return { kind: 'created', animal: { id, ...write.animal } }
  }
  const row = statements.findAnimal.get(write.id)
  if (row === undefined) return { kind: 'missing' }
  const animal = toAnimal(row)
  const failed = failedCondition(animal, write.conditions)
  if (failed !== undefined) return failed
  if (write.kind === 'update') return updateAnimal(statements, animal, write.changes)
  statements.deleteAnimal.run(write.id)
  return { kind: 'deleted', id: write.id }
}

function writeAnimal(statements: Statements, write: Write, now: number): Outcome {
  const { idempotency } = write
  if (idempotency === undefined) return applyWrite(statements, write)
  const { scope, key, request } = idempotency
  const row = statements.findStoredAnswer.get(scope, key, now - IDEMPOTENCY_WINDOW_MS)
  if (row !== undefined) {
    const [request, id, answer] = row as [string | null, bigint, string | null]
    return replay(write, { request, id, answer })
  }
  const outcome = applyWrite(statements, write)
  if ('animal' in outcome)
    statements.storeIdempotencyKey.run(
      scope,
      key,
      outcome.animal.id,
      now,
      request,
      renderAnimal(outcome.animal),
    )
  else if (outcome.kind === 'deleted')
    statements.storeIdempotencyKey.run(scope, key, outcome.id, now, request, '')
  return outcome
}

/** Arguments and results can be sent between threads. */
const TRANSACTIONS = {
  /** Stores animals without idempotency keys, and returns their ids. Takes what `insertAnimals` takes. */
  createAnimals(statements: Statements, columns: readonly Column[]): bigint[] {
    const ids = insertAnimals(statements, columns)
    statements.countAdded.run()
    return ids
  },

  /** Runs any writes, in order. */
  writeAnimals(statements: Statements, writes: readonly Write[], now: number): Outcome[] {
    const outcomes = writes.map(write => writeAnimal(statements, write, now))
    if (outcomes.some(({ kind }) => kind === 'created')) statements.countAdded.run()
    return outcomes
  },

  deleteExpiredIdempotencyKeys(statements: Statements, limit: number, now: number): number {
    return Number(statements.deleteExpiredIdempotencyKeys.run(now - IDEMPOTENCY_WINDOW_MS, limit).changes)
  },

  createKey({ insertKey }: Statements, key: ApiKey): void {
    insertKey.run(...keyValues(key))
  },

  createFirstKey({ hasKeys, insertKey }: Statements, key: ApiKey): boolean {
    if (hasKeys.get(key.environment) !== undefined) return false
    insertKey.run(...keyValues(key))
    return true
  },

  revokeKey(
    { revokeKey, findKey }: Statements,
    id: string,
    environment: Environment,
    at: Date,
  ): ApiKey | undefined {
    revokeKey.run(at.getTime(), id, environment)
    const row = findKey.get(id, environment)
    return row && toKey(row)
  },

  rotateKey({ expireRotatedKey, insertKey }: Statements, id: string, successor: ApiKey, at: Date): boolean {
    const { changes } = expireRotatedKey.run(at.getTime(), id, successor.environment)
    if (Number(changes) === 0) return false
    insertKey.run(...keyValues(successor))
    return true
  },

  storeKeyUses({ storeKeyUse }: Statements, ids: readonly string[], day: string): void {
    for (const id of ids) storeKeyUse.run(day, id)
  },
}

export type TransactionName = keyof typeof TRANSACTIONS

type TransactionArguments<Name extends TransactionName> =
  Parameters<(typeof TRANSACTIONS)[Name]> extends [Statements, ...infer Rest] ? Rest : never

/** Runs a transaction by its name. Resolves once it is on disk. */
export type RunTransaction = <Name extends TransactionName>(
  name: Name,
  ...args: TransactionArguments<Name>
) => Promise<ReturnType<(typeof TRANSACTIONS)[Name]>>

/** Runs the work in a transaction with the write lock. If it throws, nothing is stored. */
export function transact<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec('begin immediate')
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Runs one of the transactions above. */
export function runTransaction(
  { database, statements }: OpenDatabase,
  name: TransactionName,
  args: readonly unknown[],
): unknown {
  const work = TRANSACTIONS[name] as (statements: Statements, ...args: readonly unknown[]) => unknown
  return transact(database, () => work(statements, ...args))
}
