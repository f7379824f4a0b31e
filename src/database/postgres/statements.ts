// The SQL statements of the store.

import { TAG_DIGITS } from '../../etag.ts'
import { MAX_EXAMINED } from '../../page.ts'
import type { PageScan } from '../paging.ts'

/**
 * Renders the same JSON as `renderAnimal` in animal-json.ts. `concat` leaves out what is null. With `||` instead, a page takes
 * longer, and with `json_build_object` twice as long.
 */
function animalJson(table = ''): string {
  return `
    concat('{"id":', ${table}id, ',"name":', to_json(${table}name), ',"categoryId":', ${table}category_id,
      ',"status":"' || ${table}status || '"', '}')`
}

const ANIMAL_JSON = animalJson()

/** What `tagOf` in etag.ts computes. */
const TAG = `left(encode(sha256(convert_to(${animalJson('animals.')}, 'UTF8')), 'hex'), ${TAG_DIGITS})`

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
export function pageStatement({ isBackward, status, search }: PageScan): string {
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
export function listStatement({ isBackward, status }: Pick<PageScan, 'isBackward' | 'status'>): string {
  return `
  select id, name, category_id, status
  from ${animalsBeside(isBackward ? '<' : '>=', '$1', status && '$3')} limit $2`
}

/** Whether all triggers exist and fire. Citus refuses them. */
const IS_INVENTORY_KEPT = `
  (select count(*) = 4 from pg_trigger
    where tgrelid = 'animals'::regclass and tgenabled in ('O', 'A') and tgname in
      ('animals_inventory', 'animals_inventory_update', 'animals_inventory_delete', 'animals_inventory_truncate'))`

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

// A name that is not ASCII has more bytes than characters. One in ASCII may have the search name of an earlier name.
export const FIND_FOLDED = `
  select id, name, search_name from animals
  where id >= $1 and (search_name is not null or octet_length(name) <> char_length(name))
  order by id limit $2`

/** An animal that was renamed meanwhile has its search name already. */
export const SET_SEARCH_NAMES = `
  update animals set search_name = folded.search_name
  from unnest($1::bigint[], $2::text[], $3::text[]) as folded (id, name, search_name)
  where animals.id = folded.id and animals.name = folded.name`

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

const TAKE_EXPIRED_IDEMPOTENCY_KEYS = `
    on conflict (scope, key) do update
      set animal_id = excluded.animal_id, created_at = excluded.created_at, request = excluded.request,
        answer = excluded.answer, answered_at = excluded.answered_at
      where idempotency_keys.created_at <=`

// For a batch with idempotency keys. Ids are allocated first, because a key refers to its animal. $8 is the current
// time, $9 the start of the idempotency window. A creation whose key is in use inserts nothing; an expired key is
// reused. Keys are inserted in sorted order, so that two batches with the same keys wait for each other instead of
// deadlocking.
export const CREATE_ANIMALS_WITH_IDEMPOTENCY_KEYS = `
  with sent as (
    select nextval('animals_id_seq') as id, sent.*
    from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      with ordinality as sent (name, category_id, status, search_name, scope, key, request, position)
  ), claimed as (
    insert into idempotency_keys (scope, key, animal_id, created_at, request, answer, answered_at)
    select scope, key, id, $8, request, ${ANIMAL_JSON}, $8 from sent where key is not null order by scope, key
    ${TAKE_EXPIRED_IDEMPOTENCY_KEYS} $9
    returning animal_id
  ), stored as (
    insert into animals (id, name, category_id, status, search_name)
    select id, name, category_id, status, search_name from sent
    where key is null or id in (select animal_id from claimed)
    order by id
    returning id
  )
  select sent.position, sent.id from sent join stored on stored.id = sent.id`

// Changes and removals. $13 is the current time, $14 the start of the idempotency window. In `sent`, a member that is null stays as it
// is, and the status "none" takes the status away. `locked` locks the animals in the order of their ids, so that two batches never
// deadlock, and everything else is computed from the locked rows. Only a write that may happen takes its key, after all animals are
// locked. If the key is in use, nothing happens to the animal. Each animal and each key may be in a batch only once.
export const CHANGE_ANIMALS = `
  with sent as (
    select * from unnest($1::bigint[], $2::boolean[], $3::text[], $4::bigint[], $5::text[], $6::text[],
      $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[])
      with ordinality as sent (id, is_removal, name, category_id, status, search_name,
        if_match, if_none_match, if_status, scope, key, request, position)
  ), locked as (
    select sent.*, animals.name as old_name, animals.category_id as old_category_id, animals.status as old_status,
      animals.search_name as old_search_name,
      case when if_match is not null or if_none_match is not null then ${TAG} end as tag
    from sent join animals on animals.id = sent.id
    order by animals.id
    for update of animals
  ), found as (
    select position, is_removal, scope, key, request, id, old_status,
      coalesce(name, old_name) as name, coalesce(category_id, old_category_id) as category_id,
      case when status is null then old_status else nullif(status, 'none') end as status,
      case when name is null then old_search_name else search_name end as search_name,
      name <> old_name or category_id <> old_category_id or status <> coalesce(old_status, 'none') as is_changed,
      coalesce(strpos(if_match, tag) > 0, true)
        and coalesce(if_none_match <> '*' and strpos(if_none_match, tag) = 0, true) as has_tag,
      coalesce(if_status = coalesce(old_status, 'none'), true) as has_status
    from locked
  ), claimed as (
    insert into idempotency_keys (scope, key, animal_id, created_at, request, answer, answered_at)
    select scope, key, id, $13, request, case when is_removal then '' else ${ANIMAL_JSON} end, $13 from found
    where key is not null and has_tag and has_status
    order by scope, key
    ${TAKE_EXPIRED_IDEMPOTENCY_KEYS} $14
    returning scope, key
  ), allowed as (
    select * from found
    where has_tag and has_status and (key is null or (scope, key) in (select scope, key from claimed))
  ), updated as (
    update animals set name = allowed.name, category_id = allowed.category_id, status = allowed.status,
      search_name = allowed.search_name
    from allowed where animals.id = allowed.id and not is_removal and is_changed
  ), removed as (
    delete from animals using allowed where animals.id = allowed.id and is_removal
  )
  select position, position in (select position from allowed), has_tag, old_status, is_changed,
    id, name, category_id, status
  from found`

export const FIND_STORED_ANSWERS = `
  select scope, key, case when answered_at = created_at then request end, animal_id,
    case when answered_at = created_at then answer end, answered_at is not distinct from created_at
  from idempotency_keys
  where (scope, key) in (select * from unnest($1::text[], $2::text[])) and created_at > $3`

// For what version 1.1 has stored: only the animal.
export const LOCK_UNANSWERED = `
  select scope, key, animal_id from idempotency_keys where answered_at is distinct from created_at
  limit $1 for update skip locked`
export const FILL_ANSWERS = `
  update idempotency_keys set request = null, answered_at = created_at, answer = filled.answer
  from unnest($1::text[], $2::text[], $3::text[]) as filled (scope, key, answer)
  where idempotency_keys.scope = filled.scope and idempotency_keys.key = filled.key`

// For an engine that refuses CHANGE_ANIMALS: one animal in one transaction.
export const LOCK_ANIMAL = 'select id, name, category_id, status from animals where id = $1 for update'
export const UPDATE_ANIMAL = `
  update animals set name = $2, category_id = $3, status = $4, search_name = $5 where id = $1`
export const DELETE_ANIMAL = 'delete from animals where id = $1'
export const STORE_IDEMPOTENCY_KEY = `
  insert into idempotency_keys (scope, key, animal_id, created_at, request, answer, answered_at)
  values ($1, $2, $3, $6, $4, $5, $6)
  ${TAKE_EXPIRED_IDEMPOTENCY_KEYS} $7`

export const DELETE_EXPIRED_IDEMPOTENCY_KEYS = `
  delete from idempotency_keys where (scope, key) in
    (select scope, key from idempotency_keys where created_at <= $1 order by created_at limit $2
     for update skip locked)`

export const FIND_KEYS_BY_DIGEST = `
  select id, name, environment, digest, scope, created_at, expires_at, revoked_at, access, last_used
  from api_keys where digest = any ($1::bytea[])`
export const LIST_KEYS = 'select * from api_keys where environment = $1 order by created_at, id'
export const LIST_ALL_KEYS = 'select * from api_keys order by created_at, id'
export const HAS_KEYS = 'select 1 from api_keys where environment = $1 limit 1'

export const INSERT_KEY = `
  insert into api_keys (id, name, environment, digest, scope, created_at, expires_at, revoked_at, access, last_used)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

export const REVOKE_KEY = `
  update api_keys set revoked_at = coalesce(revoked_at, $1)
  where id = $2 and environment = $3 returning *`

export const LOCK_KEY = 'select from api_keys where id = $1 for update'

export const EXPIRE_ROTATED_KEY = `
  update api_keys as old set expires_at = least(coalesce(expires_at, $1), $1)
  where id = $2 and environment = $3 and revoked_at is null and not exists (
    select from api_keys as successor
    where scope = old.scope and (created_at, id) > (old.created_at, old.id) and revoked_at is null)`

// Locks the keys in the order of their ids, so that two instances never deadlock.
export const STORE_KEY_USES = `
  update api_keys set last_used = $2
  where id in (
    select id from api_keys
    where id = any ($1::text[]) and (last_used is null or last_used < $2)
    order by id for update)`

// Touches every table and column that requests need. An index finds each row at once. `order by` makes Citus ask every
// shard.
export const PING = `
  select id, name, category_id, status, search_name from animals order by id limit 1;
  select available, pending, sold, none from inventory limit 1;
  select scope, key, animal_id, created_at, request, answer, answered_at from idempotency_keys where scope = '' and key = '';
  select id, name, environment, digest, scope, created_at, expires_at, revoked_at, access, last_used
    from api_keys where id = '';
  select current_setting('transaction_read_only') as read_only,
    (select bool_and(has_column_privilege(table_name, column_name, privilege))
      from (values
        ('animals', 'insert', '{id, name, category_id, status, search_name}'::text[]),
        ('animals', 'update', '{name, category_id, status, search_name}'),
        ('idempotency_keys', 'insert', '{scope, key, animal_id, created_at, request, answer, answered_at}'),
        ('idempotency_keys', 'update', '{animal_id, created_at, request, answer, answered_at}'))
      as needed (table_name, privilege, columns), unnest(columns) as column_name)
    and has_table_privilege('animals', 'delete')
    and has_sequence_privilege('animals_id_seq', 'usage') as may_write,
    pg_sequence_last_value('animals_id_seq') as last_id`

/** The largest id that was ever given. The role of the service may not read the sequence itself. */
export const LARGEST_GIVEN_ID = `
  select greatest(pg_sequence_last_value('animals_id_seq'), (select max(id) from animals), 0)`

export const ADVANCE_IDS = `
  select setval('animals_id_seq', $1) where $1 > coalesce(pg_sequence_last_value('animals_id_seq'), 0)`

export const COPY_ANIMALS = `
  insert into animals (id, name, category_id, status, search_name)
  select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[])`

export const LIST_IDEMPOTENCY_KEYS = `
  select scope, key, animal_id, created_at, request, answer, answered_at from idempotency_keys
  where (scope, key) > ($1, $2) order by scope, key limit $3`

export const COPY_IDEMPOTENCY_KEYS = `
  insert into idempotency_keys (scope, key, animal_id, created_at, request, answer, answered_at)
  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[])`

// The last id that the sequence has assigned. Null before its first use.
export const LAST_ID = "select pg_sequence_last_value('animals_id_seq')"
