// The SQL statements of the store.

import { MAX_EXAMINED } from '../../page.ts'
import type { Span } from '../paging.ts'

/**
 * Renders the same JSON as `renderAnimal` in animal.ts. `concat` leaves out what is null. With `||` instead, a page takes
 * longer, and with `json_build_object` twice as long.
 */
const ANIMAL_JSON = `
  concat('{"id":', id, ',"name":', to_json(name), ',"categoryId":', category_id,
    ',"status":"' || status || '"', '}')`

/**
 * The animals on one side of an id, the nearest first. Those with a status are sorted by status and id, because only the
 * index animals_by_status has that order. For `status = … order by id` PostgreSQL may walk the primary key instead, past
 * any number of animals with another status.
 */
function animalsBeside(operator: '<' | '>' | '>=', id: string, status: string | undefined): string {
  const [bound, order] = operator === '<' ? ['>=', ' desc'] : ['<=', '']
  return status === undefined
    ? `animals where id ${operator} ${id} order by id${order}`
    : `animals where (status, id) ${operator} (${status}, ${id}) and status ${bound} ${status}
        order by status${order}, id${order}`
}

/** Whether there are animals beyond an id. `exists` may be answered with a scan of the whole table. */
function isAnyBeyond(operator: '<' | '>', id: string, status: string | undefined): string {
  return `(select id from ${animalsBeside(operator, id, status)} limit 1) is not null`
}

const IS_MATCH = `
  (wanted_category is null or category_id = wanted_category)
    and (wanted_name is null or strpos(coalesce(search_name, lower(name collate "C")), wanted_name) > 0)`

/**
 * Several pages (FoundPage) of the same form in one statement. Each has a bound, a limit and, if it has them, a status and what it searches
 * for. The sub-query with the limit yields the animals in order; test/store.contract.ts checks that.
 *
 * For a search, PostgreSQL stops at the last match if the page is full. Otherwise it has examined all animals up to the limit. An
 * aggregate is never merged into the query around it, so that each sub-query runs once. Forward, and for any status, its statement
 * is in short:
 *
 *     select position, json, first, last, <whether an animal precedes the first>, <whether one follows the last>
 *     from <the lists $1, $2, …> as page (bound, size, wanted_category, wanted_name, position)
 *     cross join lateral (
 *       select <the matches as JSON> as json, <the first id that was examined> as first,
 *         case when <the page is full> then max(id) else <the last id that was examined> end as last
 *       from (
 *         select … from (select … from animals where id >= bound order by id limit 10000) as examined
 *         where <the category and the name match> limit size) as animal) as rendered
 *
 * `(select $1)` hides from the planner how many pages there are. If it knew that there are few, it would make a new plan
 * for them instead of using the prepared one, and planning takes twice as long as reading a page.
 */
export function pageStatement({ isBackward, status, search }: Span): string {
  const columns = ['bound bigint', 'size integer']
  if (status !== undefined) columns.push('wanted_status text')
  if (search !== undefined) columns.push('wanted_category bigint', 'wanted_name text')
  const names = columns.map(column => column.split(' ')[0])
  const lists = columns.map((column, index) => `(select $${index + 1}::${column.split(' ')[1]}[])`)
  const wantedStatus = status && 'wanted_status'
  const beside = animalsBeside(isBackward ? '<' : '>=', 'bound', wantedStatus)
  let animals = beside
  let ends = ['min(id)', 'max(id)']
  if (search !== undefined) {
    const farthest = isBackward ? 'min(id)' : 'max(id)'
    animals = `(
        select id, name, category_id, status, search_name
        from ${beside} limit ${MAX_EXAMINED}) as examined
      where ${IS_MATCH}`
    ends = [
      `(select id from ${beside} limit 1)`,
      `case when count(*) = size then ${farthest}
        else (select ${farthest} from (select id from ${beside} limit ${MAX_EXAMINED}) as examined) end`,
    ]
    if (isBackward) ends.reverse()
  }
  return `
  select position, coalesce(json, '[]'), first, last,
    ${isAnyBeyond('<', 'first', wantedStatus)}, ${isAnyBeyond('>', 'last', wantedStatus)}
  from unnest(${lists.join()}) with ordinality as page (${names.join()}, position)
  cross join lateral (
    select '[' || string_agg(${ANIMAL_JSON}, ','${isBackward ? ' order by id' : ''}) || ']' as json,
      ${ends[0]} as first, ${ends[1]} as last
    from (select id, name, category_id, status from ${animals} limit size) as animal) as rendered`
}

/** The animals of one page, which every engine can read: for exports, and for engines that refuse the other statement. */
export function listStatement({ isBackward, status }: Pick<Span, 'isBackward' | 'status'>): string {
  return `
  select id, name, category_id, status
  from ${animalsBeside(isBackward ? '<' : '>=', '$1', status && '$3')} limit $2`
}

/** Whether the trigger exists and fires. Citus refuses triggers. */
const IS_INVENTORY_KEPT = `
  exists (select from pg_trigger
    where tgrelid = 'animals'::regclass and tgname = 'animals_inventory' and tgenabled in ('O', 'A'))`

const SUM_OF_INVENTORY = `
  coalesce(sum(available), 0)::bigint, coalesce(sum(pending), 0)::bigint,
  coalesce(sum(sold), 0)::bigint, coalesce(sum(none), 0)::bigint`

export const READ_INVENTORY = `
  select ${IS_INVENTORY_KEPT}, ${SUM_OF_INVENTORY} from inventory`

export const COUNT_ANIMALS = `
  select count(*) filter (where status = 'available'), count(*) filter (where status = 'pending'),
    count(*) filter (where status = 'sold'), count(*) filter (where status is null)
  from animals`

/** The inventory, and then what it should be, both at the same moment. */
export const COMPARE_INVENTORY = `
  select * from (select ${SUM_OF_INVENTORY} from inventory) as kept, (${COUNT_ANIMALS}) as counted`

export const ADD_TO_INVENTORY = `
  insert into inventory (available, pending, sold, none) values ($1, $2, $3, $4)`

// A name that is not ASCII has more bytes than characters.
export const FIND_WITHOUT_SEARCH_NAME = `
  select id, name from animals
  where id >= $1 and search_name is null and octet_length(name) <> char_length(name)
  order by id limit $2`

export const SET_SEARCH_NAMES = `
  update animals set search_name = folded.search_name
  from unnest($1::bigint[], $2::text[]) as folded (id, search_name)
  where animals.id = folded.id`

export const FIND_ANIMALS = `
  select id, ${ANIMAL_JSON} from animals where id = any ((select $1::bigint[])::bigint[])`

export const FIND_ANIMAL = `
  select id, name, category_id, status from animals where id = $1`

// PostgreSQL assigns the ids after it has sorted the rows, so the smallest id belongs to the first row.
export const CREATE_ANIMALS = `
  insert into animals (name, category_id, status, search_name)
  select name, category_id, status, search_name
  from unnest($1::text[], $2::bigint[], $3::text[], $4::text[])
    with ordinality as sent (name, category_id, status, search_name, position)
  order by position
  returning id`

// For a batch with idempotency keys. Ids are allocated first, because a key refers to its animal. $7 is the current
// time, $8 the start of the idempotency window. A creation whose key is in use inserts nothing; an expired key is
// reused. Keys are inserted in sorted order, so that two batches with the same keys wait for each other instead of
// deadlocking.
export const CREATE_ANIMALS_WITH_KEYS = `
  with sent as (
    select nextval('animals_id_seq') as id, name, category_id, status, search_name, scope, key, position
    from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
      with ordinality as sent (name, category_id, status, search_name, scope, key, position)
  ), claimed as (
    insert into idempotency_keys (scope, key, animal_id, created_at)
    select scope, key, id, $7 from sent where key is not null order by scope, key
    on conflict (scope, key) do update
      set animal_id = excluded.animal_id, created_at = excluded.created_at
      where idempotency_keys.created_at <= $8
    returning animal_id
  ), stored as (
    insert into animals (id, name, category_id, status, search_name)
    select id, name, category_id, status, search_name from sent
    where key is null or id in (select animal_id from claimed)
    order by id
    returning id
  )
  select sent.position, sent.id from sent join stored on stored.id = sent.id`

export const FIND_BY_IDEMPOTENCY_KEY = `
  select scope, key, animals.id, name, category_id, status
  from idempotency_keys join animals on animals.id = animal_id
  where (scope, key) in (select * from unnest($1::text[], $2::text[]))`

export const DELETE_EXPIRED_IDEMPOTENCY_KEYS = `
  delete from idempotency_keys where (scope, key) in
    (select scope, key from idempotency_keys where created_at <= $1 order by created_at limit $2
     for update skip locked)`

export const FIND_KEYS_BY_DIGEST = `
  select id, name, environment, digest, scope, created_at, expires_at, revoked_at
  from api_keys where digest = any ($1::bytea[])`
export const LIST_KEYS = 'select * from api_keys where environment = $1 order by created_at, id'
export const HAS_KEYS = 'select 1 from api_keys where environment = $1 limit 1'

export const INSERT_KEY = `
  insert into api_keys (id, name, environment, digest, scope, created_at, expires_at, revoked_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`

export const REVOKE_KEY = `
  update api_keys set revoked_at = coalesce(revoked_at, $1)
  where id = $2 and environment = $3 returning *`

export const LOCK_KEY = 'select from api_keys where id = $1 for update'

export const EXPIRE_ROTATED_KEY = `
  update api_keys as old set expires_at = least(coalesce(expires_at, $1), $1)
  where id = $2 and environment = $3 and revoked_at is null and not exists (
    select from api_keys as successor
    where scope = old.scope and (created_at, id) > (old.created_at, old.id) and revoked_at is null)`

// Touches every table and column that requests need. An index finds each row at once. `order by` makes Citus ask every
// shard.
export const PING = `
  select id, name, category_id, status, search_name from animals order by id limit 1;
  select available, pending, sold, none from inventory limit 1;
  select scope, key, animal_id, created_at from idempotency_keys where scope = '' and key = '';
  select id, name, environment, digest, scope, created_at, expires_at, revoked_at from api_keys where id = '';
  select current_setting('transaction_read_only') as read_only,
    (select bool_and(has_column_privilege(table_name, column_name, privilege))
      from (values
        ('animals', 'insert', '{id, name, category_id, status, search_name}'::text[]),
        ('idempotency_keys', 'insert', '{scope, key, animal_id, created_at}'),
        ('idempotency_keys', 'update', '{animal_id, created_at}'))
      as needed (table_name, privilege, columns), unnest(columns) as column_name)
    and has_sequence_privilege('animals_id_seq', 'usage') as may_create,
    pg_sequence_last_value('animals_id_seq') as last_id`

// The last id that the sequence has assigned. Null before its first use.
export const LAST_ID = "select pg_sequence_last_value('animals_id_seq')"
