// The list on the catalogue page: rows, filters, paging and the overview.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { AnimalStore } from '../../client/src/animal-store.ts'
import { findPreviousPage } from '../../src/web/browser/previous-page.ts'
import {
  API_KEY,
  type Scope,
  shared,
  startTestService,
  type TestService,
  temporaryFolder,
} from '../support/service.ts'
import {
  newAnimals,
  readIds,
  readRows,
  startWithAnimals,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()
const service = shared(scope => startWithAnimals(scope, newAnimals(120, ['available', 'sold', undefined])))

/** Starts a service whose animals are inserted by SQL, to choose their ids. */
async function startWithRows(t: Scope, values: readonly string[]): Promise<TestService> {
  const path = join(temporaryFolder(t), 'animals.db')
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  const database = new DatabaseSync(path)
  database.exec(`insert into animals (id, name, category_id, status) values ${values.join()}`)
  database.close()
  return service
}

suite('the list', () => {
  test('shows exact integers, and names as plain text', async t => {
    const markup = '<img src=x onerror="document.title=1"> &amp;'
    const service = await startWithRows(t, [
      `(9007199254740993, '${markup}', -9223372036854775808, null)`,
      `(9223372036854775807, '  two  spaces ', 9223372036854775807, 'sold')`,
    ])
    const { page } = await open(t, service)
    assert.deepEqual(await readRows(page), [
      [markup, '9007199254740993', '-9223372036854775808', '–'],
      ['  two  spaces ', '9223372036854775807', '9223372036854775807', 'sold'],
    ])
    assert.equal(await page.locator('#rows img').count(), 0)
    assert.equal(await page.title(), 'Animal Store')
  })

  test('filters by status and page size, and puts both in the URL', async t => {
    const { page } = await open(t, service())
    assert.equal((await readRows(page)).length, 20)
    await page.getByLabel('Status', { exact: true }).first().selectOption('sold')
    await waitForList(page, '?status=sold', '2')
    await page.getByLabel('Per page').selectOption('10')
    await waitForList(page, '?status=sold&limit=10', '2')
    assert.deepEqual(
      (await readRows(page)).map(([, , , status]) => status),
      Array(10).fill('sold'),
    )
    const link = page.url()
    await page.goto('about:blank')
    await page.goto(link)
    await waitForList(page, '?status=sold&limit=10', '2')
    assert.equal(await page.getByLabel('Per page').inputValue(), '10')
    assert.equal(link, `${service().address}/?status=sold&limit=10`)
  })

  test('pages forward and back, with its links and with the buttons of the browser', async t => {
    const { page } = await open(t, service(), { path: '/?limit=50' })
    const next = page.getByRole('link', { name: 'Next' })
    const previous = page.getByRole('link', { name: 'Previous' })
    await waitForList(page, '?limit=50', '1')
    assert.equal(await previous.count(), 0, 'the first page has no previous page')
    await next.click()
    await waitForList(page, '?limit=50&after=50', '51')
    await next.click()
    await waitForList(page, '?limit=50&after=100', '101')
    assert.equal(await next.count(), 0, 'the last page has no next page')
    await previous.click()
    await waitForList(page, '?limit=50&after=50', '51')
    await previous.click()
    await waitForList(page, '?limit=50', '1')
    for (const [search, firstId] of [
      ['?limit=50&after=50', '51'],
      ['?limit=50&after=100', '101'],
    ] as const) {
      await page.goBack()
      await waitForList(page, search, firstId)
    }
    await page.goForward()
    await waitForList(page, '?limit=50&after=50', '51')
    await page.reload()
    await waitForList(page, '?limit=50&after=50', '51')
    await previous.waitFor()
    await page.getByRole('link', { name: 'First page' }).click()
    await waitForList(page, '?limit=50', '1')
  })

  test('moves one page for a double click', async t => {
    const { page } = await open(t, service())
    await page.getByRole('link', { name: 'Next' }).click()
    await waitForList(page, '?after=20', '21')
    await page.getByRole('link', { name: 'Next' }).dblclick()
    await waitForList(page, '?after=40', '41')
    await page.getByRole('link', { name: 'Previous' }).click()
    await waitForList(page, '?after=20', '21')
    await page.getByRole('link', { name: 'Previous' }).dblclick()
    await waitForList(page, '', '1')
    await page.goBack()
    await waitForList(page, '?after=20', '21')
  })

  test('needs one request for any page', async t => {
    const service = await startWithAnimals(t, newAnimals(10_000, ['sold', 'pending']))
    const { page } = await open(t, service)
    const requests: string[] = []
    page.on('request', request => {
      if (request.url().includes('/v1/')) requests.push(request.url().slice(service.address.length))
    })
    await page.goto(`${service.address}/?status=pending&limit=10&after=9000`)
    await waitForList(page, '?status=pending&limit=10&after=9000', '9002')
    assert.equal((await readIds(page)).length, 10)
    assert.deepEqual(requests, ['/v1/pets?status=pending&limit=10&after=9000'])
  })

  test('does not shift the layout while it loads', async t => {
    const { page } = await open(t, service())
    await page.goto(`${service().address}/?after=20`)
    await waitForList(page, '?after=20', '21')
    const shift = await page.evaluate(async () => {
      const observer = new PerformanceObserver(() => {})
      observer.observe({ type: 'layout-shift', buffered: true })
      for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame)
      const records = observer.takeRecords() as unknown as { value: number }[]
      return records.reduce((sum, { value }) => sum + value, 0)
    })
    assert.ok(shift < 0.01, `the layout shifted by ${shift}`)
  })
})

suite('the previous page of a page that was opened by a link', () => {
  /** Consecutive, then far apart, then consecutive again. */
  const ids = [
    ...Array.from({ length: 150 }, (_, index) => BigInt(index + 1)),
    ...Array.from({ length: 40 }, (_, index) => 10_000n + BigInt(index) * 1_000_000_007n),
    ...Array.from({ length: 60 }, (_, index) => 9_000_000_000_000_000_000n + BigInt(index)),
  ]
  const serviceWithGaps = shared(scope =>
    startWithRows(
      scope,
      ids.map(id => `(${id}, 'a', 1, null)`),
    ),
  )

  for (const limit of [10, 50]) {
    test(`is exact where ids have gaps, with ${limit} animals per page`, async t => {
      const end = 195
      const lastId = String(ids[end - 1])
      const path = `/?limit=${limit}&after=${lastId}`
      const { page } = await open(t, serviceWithGaps(), { path })
      await readRows(page)
      await page.getByRole('link', { name: 'Previous' }).click()
      await page.waitForFunction(
        id => [...document.querySelectorAll('#rows tr')].at(-1)?.children[1]?.textContent === id,
        lastId,
      )
      assert.deepEqual(await readIds(page), ids.slice(end - limit, end).map(String))
    })

    for (const end of [245, 195, 185, 160, 152, limit + 5]) {
      test(`ends at animal ${end}, where ids have gaps, with ${limit} animals per page`, async () => {
        const store = new AnimalStore({ baseUrl: `${serviceWithGaps().address}/v1`, apiKey: API_KEY })
        const location = { status: undefined, limit, after: ids[end - 1] }
        const { after } = await findPreviousPage(store, location, new AbortController().signal)
        const { animals } = await store.listAnimals({ limit, after })
        assert.deepEqual(
          animals.map(({ id }) => id),
          ids.slice(end - limit, end),
        )
      })
    }
  }

  test('is the first page if fewer animals precede it than a page has', async t => {
    const { page } = await open(t, service())
    await page.goto(`${service().address}/?after=5`)
    await readRows(page)
    await page.getByRole('link', { name: 'Previous' }).click()
    await waitForList(page, '', '1')
  })
})

suite('the overview', () => {
  test('counts each loaded animal once, and says what it counts', async t => {
    const animals = newAnimals(50, ['available', 'sold', 'sold', undefined])
    const { page } = await open(t, await startWithAnimals(t, animals))
    await page.getByText('Counted: the 20 animals loaded since this page was opened').waitFor()
    const readCounts = async () => (await page.locator('#legend').innerText()).match(/\d+/g)
    assert.deepEqual(await readCounts(), ['5', '0', '10', '5'])
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('Counted: the 40 animals').waitFor()
    await page.goBack()
    await waitForList(page, '', '1')
    assert.deepEqual(await readCounts(), ['10', '0', '20', '10'])
    const widths = await page
      .locator('#chart rect')
      .evaluateAll(bars => bars.map(bar => bar.getAttribute('width')))
    assert.deepEqual(widths, ['250.0', '0.0', '500.0', '250.0'])
  })
})
