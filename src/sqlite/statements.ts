// Every statement the store runs, whole and visible.

import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

export type Statements = ReturnType<typeof prepareStatements>

/**
 * As `renderAnimal` of animal.ts does it. Written once: that animals are rendered alike matters more than to see each
 * statement whole.
 */
const RENDERED = `
  iif(status is null,
    json_object('id', id, 'name', name, 'categoryId', category_id),
    json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status))`

interface RowStatement {
  all(...values: SQLInputValue[]): unknown[][]
  get(...values: SQLInputValue[]): unknown[] | undefined
  run(...values: SQLInputValue[]): { readonly lastInsertRowid: number | bigint }
}

export function prepareStatements(database: DatabaseSync) {
  /** For animals: their integers are int64, and a double would round them. Rows are arrays, which are made faster. */
  function exact(sql: string): RowStatement {
    const statement = database.prepare(sql)
    statement.setReadBigInts(true)
    statement.setReturnArrays(true)
    return statement as unknown as RowStatement
  }

  return {
    // A bare `limit ?` would have SQLite plan the statement anew for every value, a quarter of what a page takes.
    listAnimals: exact(`
      select id, name, category_id, status from animals
      where id > ? order by id limit ? + 0`),
    listAnimalsByStatus: exact(`
      select id, name, category_id, status from animals
      where status = ? and id > ? order by id limit ? + 0`),
    // SQLite takes half as long to render a page as to hand over its values. It promises no order of what is gathered,
    // but because of its limit it has to run the inner query as it is, in order; the Store's contract tests that.
    renderPage: exact(`
      select json, iif(exists (select 1 from animals where id > last), last, null) from (
        select json_group_array(${RENDERED}) as json, max(id) as last from (
          select id, name, category_id, status from animals
          where id > ? order by id limit ? + 0))`),
    renderPageByStatus: exact(`
      select json, iif(exists (select 1 from animals where status = ?1 and id > last), last, null) from (
        select json_group_array(${RENDERED}) as json, max(id) as last from (
          select id, name, category_id, status from animals
          where status = ?1 and id > ?2 order by id limit ?3 + 0))`),
    renderAnimal: exact(`
      select ${RENDERED} from animals where id = ?`),
    insertAnimal: exact(`
      insert into animals (name, category_id, status) values (?, ?, ?)`),

    findRemembered: exact(`
      select animals.id, name, category_id, status
      from idempotency_keys join animals on animals.id = animal_id
      where scope = ? and key = ? and created_at > ?`),
    remember: database.prepare(`
      insert into idempotency_keys (scope, key, animal_id, created_at) values (?, ?, ?, ?)
      on conflict (scope, key) do update set animal_id = excluded.animal_id, created_at = excluded.created_at`),
    forget: database.prepare(`
      delete from idempotency_keys where (scope, key) in
        (select scope, key from idempotency_keys where created_at <= ? order by created_at limit ?)`),

    findKeyByDigest: database.prepare('select * from api_keys where digest = ?'),
    findKey: database.prepare('select * from api_keys where id = ? and environment = ?'),
    listKeys: database.prepare('select * from api_keys where environment = ? order by created_at, id'),
    insertKey: database.prepare(`
      insert into api_keys (id, name, environment, digest, scope, created_at, expires_at, revoked_at)
      values (?, ?, ?, ?, ?, ?, ?, ?)`),
    hasKeys: database.prepare('select 1 from api_keys where environment = ? limit 1'),
    revokeKey: database.prepare(
      'update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ? and environment = ?',
    ),
    expireKey: database.prepare(
      'update api_keys set expires_at = min(coalesce(expires_at, ?1), ?1) where id = ?2 and environment = ?3',
    ),

    ping: database.prepare('select 1 from sqlite_schema limit 1'),
  }
}
