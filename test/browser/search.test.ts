// The search on the catalogue page, which looks through the animals that the page has counted.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared } from '../support/service.ts'
import {
  countAgain,
  newAnimals,
  readIds,
  readRows,
  readStock,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()

/** 1,204 animals. The first ones have names worth searching. */
const service = shared(scope =>
  startWithAnimals(scope, [
    { name: 'Zoë the Cat', categoryId: 7n, status: 'sold' },
    { name: 'zoe', categoryId: 9007199254740993n },
    { name: 'Bella', categoryId: 7n },
    ...newAnimals(1_201, ['available', 'sold', 'pending', undefined]),
  ]),
)

async function search(page: Page, text: string): Promise<void> {
  await page.getByLabel('Search or id').fill(text)
}

suite('the search', () => {
  test('finds names and categories, whatever the case and accents', async t => {
    const { page } = await open(t, service())
    await readStock(page)
    const cases: [text: string, ids: string[]][] = [
      ['ZOE', ['1', '2']],
      ['zoë', ['1', '2']],
      ['cat zo', ['1']],
      ['bella 7', ['3']],
      ['category:7', ['1', '3', '11']],
      ['category: 9007199254740993', ['2']],
      ['animal 1201', ['1204']],
    ]
    for (const [text, ids] of cases) {
      await search(page, text)
      await page.getByText(`${ids.length} found. Searched 1,204 of 1,204`).waitFor()
      assert.deepEqual(await readIds(page), ids, text)
    }
    await search(page, 'unicorn')
    await page.getByRole('heading', { name: 'No animal matches “unicorn”' }).waitFor()
    await page.getByRole('link', { name: 'Show all animals' }).click()
    await waitForList(page, '', '1')
    assert.equal(await page.getByLabel('Search or id').inputValue(), '')
  })

  /** Opens a search whose walk stops after 200 animals until `release` is called. */
  async function openUnfinished(t: TestContext, path: string) {
    const released = Promise.withResolvers<void>()
    const { page } = await open(t, service(), { isSignedIn: true })
    await readStock(page)
    await page.route(/limit=100&after=200$/, async route => {
      await released.promise
      await route.continue().catch(() => {})
    })
    t.after(() => released.resolve())
    await countAgain(page, service().address + path)
    await page.getByText('Searched 200 so far …').waitFor()
    return { page, release: released.resolve }
  }

  test('shows how far it is, and keeps the page of a link until it is found', async t => {
    const path = '/?q=animal&before=1204&order=newest'
    const { page, release } = await openUnfinished(t, path)
    assert.equal(new URL(page.url()).search, path.slice(1))
    release()
    await page.getByText('1,201 found. Searched 1,204 of 1,204').waitFor()
    assert.equal((await readIds(page))[0], '1203')
    assert.equal(new URL(page.url()).search, path.slice(1))
  })

  test('does not say that there is nothing before it has looked', async t => {
    const { page, release } = await openUnfinished(t, '/?q=animal+1201')
    await page.getByRole('heading', { name: 'Nothing found yet' }).waitFor()
    release()
    await waitForList(page, '?q=animal+1201', '1204')
  })

  test('can be cancelled while a download waits for it', async t => {
    const { page } = await openUnfinished(t, '/?q=zoe')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Saving the list …').waitFor({ state: 'hidden' })
    assert.equal(await page.locator('#export').getAttribute('aria-disabled'), 'false')
  })

  test('is a part of the URL, and one step in the history', async t => {
    const { page } = await open(t, service())
    await readStock(page)
    await page.keyboard.press('/')
    await page.keyboard.type('zoe')
    await waitForList(page, '?q=zoe', '1')
    await page.goBack()
    await waitForList(page, '', '1')
    assert.equal(await page.locator('#search-result').isVisible(), false)
    await page.goForward()
    await waitForList(page, '?q=zoe', '1')
    assert.equal(await page.getByLabel('Search or id').inputValue(), 'zoe')
    await page.keyboard.press('/')
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => document.querySelectorAll('#rows tr').length === 20)
    await search(page, 'bella')
    await waitForList(page, '?q=bella', '3')
    await page.getByRole('button', { name: 'Clear' }).click()
    await waitForList(page, '', '1')
    assert.equal(await page.getByLabel('Search or id').inputValue(), '')
  })

  test('shows its results like any list: filtered, in pages, newest first, with the panel', async t => {
    const { page } = await open(t, service(), { path: '/?limit=10' })
    await readStock(page)
    await search(page, 'animal 1')
    const filter = page.getByRole('group', { name: 'Filter by status' })
    await filter.getByRole('button', { name: 'pending' }).click()
    await waitForList(page, '?status=pending&q=animal+1&limit=10', '14')
    const first = await readIds(page)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/after=/)
    const second = await readIds(page)
    assert.equal(first.concat(second).length, 20)
    await page.getByRole('link', { name: 'Previous' }).click()
    await waitForList(page, '?status=pending&q=animal+1&limit=10', '14')
    assert.deepEqual(await readIds(page), first)
    await page.getByRole('link', { name: 'Newest' }).click()
    await waitForList(page, '?status=pending&q=animal+1&limit=10&order=newest', '1202')
    await page.getByLabel('Search or id').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Animal 1199' }).waitFor()
  })

  test('lists animals without a status', async t => {
    const { page } = await open(t, service())
    await readStock(page)
    await page.getByRole('button', { name: 'no status' }).click()
    await waitForList(page, '?status=none', '2')
    await page.getByText('302 found. Searched 1,204 of 1,204').waitFor()
    assert.deepEqual(
      (await readRows(page)).map(([, , , status]) => status),
      Array(20).fill('no status'),
    )
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const text = readFileSync(await (await downloaded).path(), 'utf8')
    assert.equal((await downloaded).suggestedFilename(), 'animals-search-none.csv')
    assert.equal(text.trimEnd().split('\r\n').length, 303)
  })

  test('finds an animal that somebody adds', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(`${service.address}/?q=kim`)
    await page.getByText('0 found. Searched 3 of 3').waitFor()
    await service.create({ name: 'Kim', categoryId: 8 })
    await page.clock.fastForward(5_000)
    await waitForList(page, '?q=kim', '4')
    await page.getByText('1 found. Searched 4 of 4').waitFor()
  })
})
