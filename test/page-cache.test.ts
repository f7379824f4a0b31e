// The cache of first pages: it never returns an outdated page and never exceeds its size.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { createHandlers, createPageCache } from '../src/http/api/handlers.ts'
import type { Exchange } from '../src/http/server/exchange.ts'
import { jsonReply } from '../src/http/server/reply.ts'
import type { Page } from '../src/page.ts'
import type { Store } from '../src/store.ts'
import { startTestService, temporaryFolder } from './support/service.ts'

suite('a cached first page', () => {
  async function serviceOnFile(t: TestContext) {
    const path = join(temporaryFolder(), 'animals.db')
    const service = await startTestService(t, { database: { kind: 'sqlite', path } })
    const list = async (query = '') => (await service.send('GET', `/v1/pets${query}`)).text
    await service.create({ name: 'Bella', categoryId: 7, status: 'sold' })
    const bella = '{"id":1,"name":"Bella","categoryId":7,"status":"sold"}'
    // Twice, because the second reply comes from the cache.
    for (const query of ['', '', '?status=sold', '?status=sold'])
      assert.equal(await list(query), `[${bella}]`)
    return { path, service, list, bella }
  }

  test('shows a new animal immediately', async t => {
    const { service, list } = await serviceOnFile(t)
    for (let count = 2; count <= 20; count++) {
      await service.create({ name: `animal ${count}`, categoryId: 1, status: 'sold' })
      for (const query of ['', '?status=sold', '?before=9223372036854775807', '?before=100&status=sold']) {
        assert.match(await list(query), new RegExp(`"id":${count},[^{]*\\]$`))
      }
    }
  })

  test('shows changes by another connection in the next reply', async t => {
    const { path, list, bella } = await serviceOnFile(t)
    const other = new DatabaseSync(path)
    t.after(() => other.close())
    other.exec("update animals set name = 'Max' where id = 1")
    assert.equal(await list(), `[${bella.replace('Bella', 'Max')}]`)
    other.exec("insert into animals (name, category_id) values ('Kim', 8)")
    assert.equal(await list(), `[${bella.replace('Bella', 'Max')},{"id":2,"name":"Kim","categoryId":8}]`)
    other.exec('delete from animals')
    assert.equal(await list(), '[]')
    assert.equal(await list('?status=sold'), '[]')
  })
})

test('a search is not cached, because there are as many searches as texts', async () => {
  const calls: Page[] = []
  const store = {
    revision: () => 'one',
    listAnimalsAsJson: async (page: Page) => {
      calls.push(page)
      return { json: '[]', previous: undefined, next: undefined }
    },
  }
  const options = {
    store: store as unknown as Store,
    clock: Date.now,
    basePath: '/v1',
    isQueueFull: () => false,
  }
  const { listPets } = createHandlers(options)
  const list = (query: string) => listPets({ query, response: { destroyed: false } } as Exchange)
  for (const query of ['name=a', 'name=a', 'categoryId=1', 'categoryId=1', 'limit=1', 'limit=1'])
    await list(query)
  assert.deepEqual(
    calls.map(({ limit }) => limit),
    [20, 20, 20, 20, 1],
  )
})

suite('the page cache', () => {
  const page = (letter: string, length = 10_000) => jsonReply(200, letter.repeat(length))

  test('returns only pages of the current revision', () => {
    const cache = createPageCache()
    cache.get('', 'one')
    cache.set('', 'one', page('a'))
    assert.equal(cache.get('', 'one')?.body, page('a').body)
    assert.equal(cache.get('', 'two'), undefined)
    assert.equal(cache.get('', 'one'), undefined)
  })

  test('stores no page if the revision is unknown or changed while the page was read', () => {
    const cache = createPageCache()
    cache.get('', 'one')
    cache.get('', 'two')
    cache.set('', 'one', page('a'))
    assert.equal(cache.get('', 'two'), undefined)
    cache.get('', undefined)
    cache.set('', undefined, page('a'))
    assert.equal(cache.get('', undefined), undefined)
  })

  test('never exceeds its size in bytes', () => {
    const cache = createPageCache(70_000)
    cache.get('', 'one')
    for (const letter of 'abc') cache.set(letter, 'one', page(letter))
    for (const letter of 'abc') assert.notEqual(cache.get(letter, 'one'), undefined)
    cache.set('d', 'one', page('d'))
    assert.deepEqual(
      [...'abcd'].filter(letter => cache.get(letter, 'one') !== undefined),
      ['d'],
    )
    cache.set('large', 'one', page('x', 40_000))
    assert.equal(cache.get('large', 'one'), undefined)
  })
})
