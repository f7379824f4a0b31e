// The plans of every PostgreSQL statement that requests need, with a million animals: none may read the whole table, whether
// PostgreSQL plans a statement for its values or once for all values.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import pg from 'pg'
import * as sql from '../../src/database/postgres/statements.ts'
import { administer, newDatabase, openPostgres } from '../support/postgres.ts'
import { shared } from '../support/service.ts'

const DIGEST = `'\\x${'0'.repeat(64)}'`
const MIDDLE_IDS = "'{500000,7,999999,123456}'"
const LIMITS = "'{20,100,1,20}'"
// Few animals are sold, and none of them is among the first half.
const WANTED = "'{sold,sold,available,pending}'"

/** Read all animals: for commands, and where the database cannot keep the inventory. */
const READ_ALL = ['COUNT_ANIMALS', 'COMPARE_INVENTORY', 'FIND_FOLDED']

/** The others by name. */
const STATEMENTS = Object.entries(sql).flatMap(([name, statement]): [string, string][] =>
  typeof statement === 'string' && !READ_ALL.includes(name) ? [[name, statement]] : [],
)

const CATEGORIES = "'{7,7,7,7}'"
const TEXTS = "'{x,x,x,x}'"

/** Each kind of page: its name, its statement and the values of that. */
const PAGES = [true, false].flatMap(isBackward =>
  [undefined, 'sold' as const].flatMap((status): [string, string, string[]][] => {
    const name = `${isBackward ? 'backward' : 'forward'}${status === undefined ? '' : ' by status'}`
    const span = { isBackward, bound: 0n, limit: 0, status, search: undefined }
    const values = [MIDDLE_IDS, LIMITS, ...(status === undefined ? [] : [WANTED])]
    const list = ['500000', '101', ...(status === undefined ? [] : ["'sold'"])]
    return [
      [`a page ${name}`, sql.pageStatement(span), values],
      [`a search ${name}`, sql.pageStatement({ ...span, search: {} }), [...values, CATEGORIES, TEXTS]],
      [`one page ${name}`, sql.listStatement(span), list],
    ]
  }),
)

/** The values of each statement, as SQL. */
const VALUES: Record<string, readonly string[]> = {
  READ_INVENTORY: [],
  ADD_TO_INVENTORY: ['1', '1', '1', '1'],
  SET_SEARCH_NAMES: ["'{1,2}'", "'{a,b}'", "'{a,b}'"],
  FIND_ANIMALS: [MIDDLE_IDS],
  FIND_ANIMAL: ['500000'],
  CREATE_ANIMALS: ["'{a,b}'", "'{1,2}'", "'{sold,null}'", "'{null,null}'"],
  CREATE_ANIMALS_WITH_IDEMPOTENCY_KEYS: [
    ...["'{a,b}'", "'{1,2}'", "'{sold,null}'", "'{null,null}'"],
    ...["'{s,null}'", "'{k,null}'", "'{r,null}'", '1', '0'],
  ],
  CHANGE_ANIMALS: [
    ...["'{1,2}'", "'{f,t}'", "'{a,null}'", "'{1,null}'", "'{sold,null}'", "'{null,null}'"],
    ...["'{null,x}'", 'null', "'{null,none}'", "'{s,null}'", "'{k,null}'", "'{r,null}'", '1', '0'],
  ],
  LOCK_ANIMAL: ['1'],
  UPDATE_ANIMAL: ['1', "'a'", '1', "'sold'", 'null'],
  DELETE_ANIMAL: ['1'],
  STORE_IDEMPOTENCY_KEY: ["'s'", "'k'", '1', "'r'", "''", '1', '0'],
  FIND_STORED_ANSWERS: ["'{s,s}'", "'{1,2}'", '0'],
  LOCK_UNANSWERED: ['1000'],
  FILL_ANSWERS: ["'{s}'", "'{1}'", "'{a}'"],
  LIST_IDEMPOTENCY_KEYS: ["'s'", "'k'", '1000'],
  COPY_IDEMPOTENCY_KEYS: ["'{s}'", "'{k}'", "'{1}'", "'{1}'", "'{r}'", "'{a}'", "'{1}'"],
  COPY_ANIMALS: ["'{1}'", "'{a}'", "'{1}'", "'{sold}'", "'{null}'"],
  LARGEST_GIVEN_ID: [],
  ADVANCE_IDS: ['1'],
  DELETE_EXPIRED_IDEMPOTENCY_KEYS: ['1000', '1000'],
  FIND_KEYS_BY_DIGEST: [`array[${DIGEST}]::bytea[]`],
  LIST_KEYS: ["'production'"],
  HAS_KEYS: ["'production'"],
  LIST_ALL_KEYS: [],
  STORE_KEY_USES: ["'{key_1}'", "'2026-11-19'"],
  INSERT_KEY: ["'key_1'", "'n'", "'production'", DIGEST, "'s'", '1', 'null', 'null', "'write'", 'null'],
  REVOKE_KEY: ['1', "'key_1'", "'production'"],
  LOCK_KEY: ["'key_1'"],
  EXPIRE_ROTATED_KEY: ['1', "'key_1'", "'production'"],
  PING: [],
  LAST_ID: [],
}

suite('with a million animals, PostgreSQL', () => {
  const database = shared(async t => {
    const url = await newDatabase(t)
    await (await openPostgres({ url })).close()
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    t.after(() => client.end())
    await client.query(`
      insert into animals (name, category_id, status)
      select 'Animal ' || i, i % 50,
        case when i > 500000 and i % 10000 = 0 then 'sold' when i % 3 = 0 then 'pending' when i % 3 = 1 then 'available' end
      from generate_series(1, 1000000) i;
      insert into idempotency_keys (scope, key, animal_id, created_at)
      select 's', i::text, i, i from generate_series(1, 50000) i`)
    await client.query('analyze')
    return { url, client }
  })

  async function plansOf(statement: string, values: readonly string[]): Promise<string> {
    const { client } = database()
    const plans: string[] = []
    for (const part of statement.split(';')) {
      await client.query(`deallocate all; prepare planned as ${part}`)
      const execute = values.length === 0 ? 'planned' : `planned (${values.join()})`
      const { rows } = await client.query(`explain execute ${execute}`)
      plans.push(rows.map(row => row['QUERY PLAN']).join('\n'))
    }
    return plans.join('\n')
  }

  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    const planIn = async (statement: string, values: readonly string[]) => {
      await database().client.query(`set plan_cache_mode = ${mode}`)
      const plan = await plansOf(statement, values)
      assert.doesNotMatch(plan, /Seq Scan on animals/)
      return plan
    }

    for (const [name, statement] of STATEMENTS) {
      const values = VALUES[name]
      test(`does not read the whole table of animals for ${name}, ${mode}`, async () => {
        assert.ok(values)
        await planIn(statement, values)
      })
    }

    for (const [name, statement, values] of PAGES) {
      test(`uses the right index for ${name}, ${mode}`, async () => {
        const other = name.includes('status') ? /using animals_pkey/ : /animals_by_status/
        assert.doesNotMatch(await planIn(statement, values), other)
      })
    }
  }

  test('really has a million animals', async () => {
    const { rows } = await administer('select count(*)::int as count from animals', database().url)
    assert.equal(rows[0].count, 1_000_000)
  })
})
