// Reads on PostgreSQL: those that arrive together share a statement. If an engine refuses such a statement, or a pooler
// refuses prepared statements, the service does without them, and no read fails.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { renderAnimals } from '../src/animal-json.ts'
import { type Clock, systemClock } from '../src/clock.ts'
import { openPool } from '../src/database/postgres/pool.ts'
import { FIND_ANIMALS, pageStatement } from '../src/database/postgres/statements.ts'
import { COMMAND_TIMEOUTS } from '../src/database/postgres/timeouts.ts'
import { INT64_MAX } from '../src/int64.ts'
import { MAX_EXAMINED, type Page } from '../src/page.ts'
import type { Store } from '../src/store.ts'
import { checkExtremeIds, INSERT_EXTREME_IDS, storeContract } from './store.contract.ts'
import { createAnimals } from './support/animals.ts'
import { startPooler } from './support/pgbouncer.ts'
import { administer, borrowDatabase, newDatabase, openPostgres } from './support/postgres.ts'
import { type Refuse, startPostgresProxy } from './support/postgres-proxy.ts'
import { skipWithout } from './support/programs.ts'
import { startTestService } from './support/service.ts'

const NOT_SUPPORTED = { code: '0A000', message: 'cross joins with lateral are not supported here' }

/** As Citus does, which joins the distributed animals with no other table. */
const refuseSeveralReads: Refuse = (_name, text) =>
  /lateral|where id = any \(\(select|is_removal|from animals[^;]+from idempotency_keys/.test(text)
    ? NOT_SUPPORTED
    : undefined

async function openThrough(t: TestContext, refuse: Refuse, url: string, clock: Clock = systemClock) {
  const warnings: string[] = []
  const store = await openPostgres({
    url: await startPostgresProxy(t, url, refuse),
    clock,
    warn: message => warnings.push(message),
  })
  t.after(() => store.close())
  return { store, warnings }
}

async function openDirectly(t: TestContext, url: string): Promise<Store> {
  const store = await openPostgres({ url })
  t.after(() => store.close())
  return store
}

storeContract('an engine that refuses statements for several reads', async (t, clock) => {
  const { store } = await openThrough(t, refuseSeveralReads, await borrowDatabase(t), clock)
  return store
})

async function createSeveral(store: Store, count: number): Promise<void> {
  await createAnimals(
    store,
    Array.from({ length: count }, (_, index) => ({
      animal: {
        name: `a${index}`,
        categoryId: BigInt(index),
        ...(index % 3 === 0 && { status: 'sold' as const }),
      },
    })),
  )
}

/** Reads all kinds of pages and animals at the same moment, and checks each. */
async function readTogether(store: Store): Promise<void> {
  const all = await store.listAnimals({ limit: 1_000 })
  const pages = all.flatMap(({ id }, index) =>
    [undefined, 'sold' as const].flatMap(status => [
      { limit: 1 + (index % 7), after: id, status },
      { limit: 1 + (index % 5), before: id, status },
    ]),
  )
  const [read, animals, missing] = await Promise.all([
    Promise.all(pages.map(page => store.listAnimalsAsJson(page))),
    Promise.all(all.map(({ id }) => store.findAnimalAsJson(id))),
    store.findAnimalAsJson(-1n),
  ])
  for (const [index, page] of pages.entries()) {
    const { after = all[0]?.id, before, limit, status } = { before: undefined, after: undefined, ...page }
    const matching = all.filter(animal => status === undefined || animal.status === status)
    const expected =
      before === undefined
        ? matching.filter(({ id }) => id > (after as bigint)).slice(0, limit)
        : matching.filter(({ id }) => id < before).slice(-limit)
    const [first, last] = [expected[0]?.id ?? 0n, expected.at(-1)?.id ?? 0n]
    assert.deepEqual(read[index], {
      json: renderAnimals(expected),
      previous: expected.length > 0 && matching.some(({ id }) => id < first) ? first : undefined,
      next: expected.length > 0 && matching.some(({ id }) => id > last) ? last : undefined,
    })
  }
  assert.deepEqual(`[${animals.join()}]`, renderAnimals(all))
  assert.equal(missing, undefined)
}

suite('reads that arrive together', () => {
  test('share a statement, and equal ones are read once', async t => {
    const url = await newDatabase(t)
    const counts = await administer("select 1 from pg_settings where name = 'pg_stat_statements.track'", url)
    if (counts.rows.length === 0) return t.skip('the server does not count statements')
    await administer('create extension pg_stat_statements', url)
    const store = await openDirectly(t, url)
    await createSeveral(store, 50)
    const statementsOf = async (action: () => Promise<unknown>) => {
      await administer('select pg_stat_statements_reset()', url)
      await action()
      const { rows } = await administer(
        `select calls::int, rows::int from pg_stat_statements s join pg_database d on d.oid = s.dbid
         where datname = current_database() and query like '%json%'`,
        url,
      )
      return rows
    }
    const pages = Array.from({ length: 64 }, (_, index) => ({ limit: 20, after: BigInt(index % 16) }))
    const readAll = () => Promise.all(pages.map(page => store.listAnimalsAsJson(page)))
    assert.deepEqual(await statementsOf(readAll), [{ calls: 1, rows: 16 }])
    assert.deepEqual(await statementsOf(() => store.listAnimalsAsJson({ limit: 20 })), [
      { calls: 1, rows: 1 },
    ])
    // The limit of a batch is 2,000 animals.
    const large = Array.from({ length: 30 }, (_, index) => ({ limit: 100, after: BigInt(index) }))
    const readLarge = () => Promise.all(large.map(page => store.listAnimalsAsJson(page)))
    assert.deepEqual(await statementsOf(readLarge), [{ calls: 2, rows: 30 }])
  })

  test('are each answered with their own page or animal', async t => {
    const store = await openDirectly(t, await borrowDatabase(t))
    await createSeveral(store, 15)
    await readTogether(store)
  })
})

suite('an engine that refuses statements for several reads (0A000)', () => {
  test('gets one for each read, and the log says so once', async t => {
    const { store, warnings } = await openThrough(t, refuseSeveralReads, await borrowDatabase(t))
    await createSeveral(store, 15)
    for (let count = 0; count < 2; count++) await readTogether(store)
    assert.deepEqual(warnings, [
      'The database refuses statements for several reads. Sending one for each read.',
    ])
  })

  test('gets the same pages and searches, also where a search ends because it has examined enough', async t => {
    const url = await borrowDatabase(t)
    const direct = await openDirectly(t, url)
    const { store } = await openThrough(t, refuseSeveralReads, url)
    const count = 2 * MAX_EXAMINED + 500
    await administer(
      `insert into animals (name, category_id, status)
       select case when i in (1, ${MAX_EXAMINED}) or i > ${count} - 3 then 'Bella' else 'animal ' || i end, i % 50,
         case when i % 2 = 1 then 'pending' end
       from generate_series(1, ${count}) i`,
      url,
    )
    const starts: Partial<Page>[] = [
      {},
      { after: 1n },
      { after: BigInt(MAX_EXAMINED) },
      { after: BigInt(2 * MAX_EXAMINED) },
      { before: INT64_MAX },
      { before: BigInt(MAX_EXAMINED + 501) },
    ]
    const filters: Partial<Page>[] = [
      {},
      { nameContains: 'nobody' },
      { nameContains: 'bella' },
      { nameContains: 'l 1', categoryId: 7n },
    ]
    for (const start of starts)
      for (const filter of filters)
        for (const status of [undefined, 'pending' as const])
          for (const limit of [1, 3]) {
            const page = { ...start, ...filter, status, limit }
            assert.deepEqual(await store.listAnimalsAsJson(page), await direct.listAnimalsAsJson(page))
          }
  })

  test('lists animals with the smallest and the largest int64 as id', async t => {
    const url = await borrowDatabase(t)
    const { store } = await openThrough(t, refuseSeveralReads, url)
    await administer(INSERT_EXTREME_IDS, url)
    await checkExtremeIds(store)
  })
})

suite('prepared statements', () => {
  const REFUSALS = {
    'are unknown to the server (26000)': { code: '26000', message: 'prepared statement "x" does not exist' },
    'exist already (42P05)': { code: '42P05', message: 'prepared statement "x" already exists' },
    'are refused by the pooler (08P01)': { code: '08P01', message: 'prepared statements are not supported' },
  }
  for (const [what, refusal] of Object.entries(REFUSALS)) {
    test(`${what}: the service goes on without them, and says so once`, async t => {
      const names: string[] = []
      let isRefusing = false
      const refuse: Refuse = name => {
        names.push(name)
        return isRefusing && name !== '' ? refusal : undefined
      }
      const { store, warnings } = await openThrough(t, refuse, await borrowDatabase(t))
      isRefusing = true
      await createSeveral(store, 15)
      await readTogether(store)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', /Prepared statements do not work/)
      isRefusing = false
      names.length = 0
      await readTogether(store)
      await createSeveral(store, 1)
      assert.deepEqual(new Set(names), new Set(['']))
    })
  }

  test('are sent once per connection, and have a name for each text', async t => {
    const texts = new Map<string, string>()
    let parsed = 0
    const refuse: Refuse = (name, text) => {
      parsed++
      if (name !== '') assert.equal(texts.get(name) ?? text, text)
      texts.set(name, text)
      return undefined
    }
    const { store, warnings } = await openThrough(t, refuse, await borrowDatabase(t))
    await createSeveral(store, 10)
    await store.listAnimalsAsJson({ limit: 5 })
    const before = parsed
    for (let count = 0; count < 20; count++) await store.listAnimalsAsJson({ limit: 5 })
    assert.equal(parsed, before)
    assert.deepEqual(warnings, [])
  })

  test('for reads are not planned again and again, however few reads a statement has', async t => {
    const url = await borrowDatabase(t)
    await createSeveral(await openDirectly(t, url), 15)
    const pool = openPool(url, { connections: 1, timeouts: COMMAND_TIMEOUTS, warn: assert.fail })
    t.after(() => pool.close())
    const page = { isBackward: false, bound: 1n, limit: 20, status: undefined, search: undefined }
    for (const [text, values] of [
      [pageStatement(page), ['{1}', '{20}']],
      [pageStatement({ ...page, isBackward: true }), ['{9}', '{20}']],
      [pageStatement({ ...page, status: 'sold' }), ['{1}', '{20}', '{sold}']],
      [pageStatement({ ...page, search: {} }), ['{1}', '{20}', '{7}', '{x}']],
      [FIND_ANIMALS, ['{1}']],
    ] as const) {
      for (let count = 0; count < 10; count++) await pool.textRows(text, values)
      const plans = await pool.query(
        'select custom_plans::int as custom from pg_prepared_statements where statement = $1',
        [text],
      )
      // PostgreSQL makes five custom plans before it compares their cost with that of a generic plan.
      assert.deepEqual(plans.rows, [{ custom: 5 }], text)
    }
  })

  test('whose plan is outdated because a column has changed its type are sent again', async t => {
    const url = await newDatabase(t)
    const store = await openDirectly(t, url)
    await createSeveral(store, 3)
    assert.equal((await store.listAnimals({ limit: 5 })).length, 3)
    await administer('alter table animals alter name type varchar(2000)', url)
    assert.equal((await store.listAnimals({ limit: 5 })).length, 3)
    assert.equal(JSON.parse((await store.listAnimalsAsJson({ limit: 5 })).json).length, 3)
  })

  test('work or are given up through PgBouncer in transaction mode, and no request fails', async t => {
    const pooler = await startPooler(await newDatabase(t), 3)
    const reason = skipWithout('PgBouncer', pooler !== undefined)
    if (pooler === undefined) return t.skip(String(reason))
    t.after(() => pooler.stop())
    const service = await startTestService(t, { database: { kind: 'postgres', url: pooler.url } })
    const requests = Array.from({ length: 300 }, (_, index) => {
      if (index % 3 === 0) return service.create({ name: `a${index}`, categoryId: index })
      return service.send('GET', index % 3 === 1 ? `/v1/pets?after=${index}` : `/v1/pets/${(index % 9) + 1}`)
    })
    for (const { status } of await Promise.all(requests))
      assert.ok([200, 201, 404].includes(status), `${status}`)
    assert.equal((await service.send('GET', '/readyz')).status, 200)
    const warnings = service.logs.filter(({ msg }) =>
      String(msg).startsWith('Prepared statements do not work'),
    )
    assert.equal(warnings.length, pooler.hasPreparedStatements ? 0 : 1, service.logText())
  })
})
