// The queue of searches: how many run at a time, and how long one waits.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type PageScan, toPageScan } from '../src/database/paging.ts'
import { createSearchQueue } from '../src/database/search-queue.ts'
import { isUnavailable } from '../src/error.ts'
import type { JsonPage } from '../src/page.ts'

const FOUND: JsonPage = { json: '[]', previous: undefined, next: undefined }

/** Searches that end when `finish` is called. */
function blockedSearches(inFlight: number) {
  const running: { readonly scan: PageScan; readonly finish: () => void }[] = []
  const search = createSearchQueue(scan => {
    const { promise, resolve } = Promise.withResolvers<JsonPage>()
    running.push({ scan, finish: () => resolve(FOUND) })
    return promise
  }, inFlight)
  return { search, running }
}

const scanOf = (nameContains: string): PageScan => toPageScan({ limit: 20, nameContains })

suite('the queue of searches', () => {
  test('runs as many as it may at a time, in order', async () => {
    const { search, running } = blockedSearches(2)
    const results = ['a', 'b', 'c', 'd'].map(name => search(scanOf(name)))
    await nextTurn()
    assert.deepEqual(
      running.map(({ scan }) => scan.search?.nameContains),
      ['a', 'b'],
    )
    running[1]?.finish()
    await results[1]
    await nextTurn()
    assert.deepEqual(
      running.map(({ scan }) => scan.search?.nameContains),
      ['a', 'b', 'c'],
    )
    for (let next = 0; next < 4; next++) {
      running[next]?.finish()
      await nextTurn()
    }
    assert.deepEqual(await Promise.all(results), [FOUND, FOUND, FOUND, FOUND])
  })

  test('rejects a search that has waited for a second, and goes on with the next', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const { search, running } = blockedSearches(1)
    const first = search(scanOf('a'))
    const second = search(scanOf('b'))
    now += 1_000
    t.mock.timers.tick(1_000)
    await assert.rejects(second, isUnavailable)
    const third = search(scanOf('c'))
    running[0]?.finish()
    await first
    await nextTurn()
    assert.deepEqual(
      running.map(({ scan }) => scan.search?.nameContains),
      ['a', 'c'],
    )
    running[1]?.finish()
    assert.equal(await third, FOUND)
  })
})
