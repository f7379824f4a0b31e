// The list on the catalogue page: rows, filters, page size, order, paging, going to an id and the CSV file.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  type Scope,
  shared,
  startTestService,
  type TestService,
  temporaryFolder,
} from '../support/service.ts'
import {
  failRequests,
  holdRequests,
  newAnimals,
  readIds,
  readInventory,
  readRows,
  startWithAnimals,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()
const service = shared(scope => startWithAnimals(scope, newAnimals(120, ['available', 'sold', undefined])))

/** Starts a service whose animals are inserted by SQL, to choose their ids. */
async function startWithRows(t: Scope, values: readonly string[]): Promise<TestService> {
  const path = join(temporaryFolder(), 'animals.db')
  const service = await startTestService(t, { database: { kind: 'sqlite', path } })
  const database = new DatabaseSync(path)
  database.exec(`insert into animals (id, name, category_id, status) values ${values.join()}`)
  database.close()
  return service
}

function link(page: Page, name: string) {
  return page.getByRole('link', { name, exact: true })
}

suite('the list', () => {
  test('shows exact integers, and names as plain text', async t => {
    const markup = '<img src=x onerror="document.title=1"> &amp;'
    const service = await startWithRows(t, [
      `(9007199254740993, '${markup}', -9223372036854775808, null)`,
      `(9223372036854775806, '  two  spaces ', 9223372036854775807, 'sold')`,
    ])
    const { page } = await open(t, service)
    assert.deepEqual(await readRows(page), [
      ['9223372036854775806', '  two  spaces ', '9223372036854775807', 'sold'],
      ['9007199254740993', markup, '-9223372036854775808', 'no status'],
    ])
    assert.equal(await page.locator('#rows img').count(), 0)
    assert.equal(await page.title(), 'Animal Store')
  })

  test('filters by status, and puts the filter in the URL', async t => {
    const { page } = await open(t, service())
    assert.equal((await readRows(page)).length, 20)
    const filter = page.getByRole('group', { name: 'Filter by status' })
    await filter.getByRole('button', { name: 'sold' }).click()
    await waitForList(page, '?status=sold', '119')
    assert.deepEqual(
      (await readRows(page)).map(([, , , status]) => status),
      Array(20).fill('sold'),
    )
    await readInventory(page)
    assert.equal(await filter.locator('[aria-pressed=true]').textContent(), 'sold 40')
    await page.goto('about:blank')
    await page.goto(`${service().address}/?status=sold`)
    await waitForList(page, '?status=sold', '119')
    await filter.getByRole('button', { name: 'All' }).click()
    await waitForList(page, '', '120')
  })

  test('remembers the page size, and puts it in the URL', async t => {
    const { page, context } = await open(t, service(), { path: '/?status=sold' })
    const size = page.getByLabel('Animals per page')
    await size.selectOption('10')
    await waitForList(page, '?status=sold&limit=10', '119')
    assert.equal((await readRows(page)).length, 10)
    await page.goto(service().address)
    await waitForList(page, '', '120')
    assert.equal((await readRows(page)).length, 10)
    await link(page, 'Next').click()
    await waitForList(page, '?limit=10&before=111', '110')
    // The page size in a link wins over the remembered one, and does not change it.
    await page.goto(`${service().address}/?limit=50`)
    await waitForList(page, '?limit=50', '120')
    assert.equal((await readRows(page)).length, 50)
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    assert.equal(await otherTab.locator('#limit').inputValue(), '10')
  })

  test('pages forward and back, with its links and with the buttons of the browser', async t => {
    const { page } = await open(t, service(), { path: '/?limit=50&order=oldest' })
    await waitForList(page, '?limit=50&order=oldest', '1')
    assert.equal(await link(page, 'Previous').count(), 0, 'the first page has a link to a previous page')
    await link(page, 'Next').click()
    await waitForList(page, '?limit=50&order=oldest&after=50', '51')
    await link(page, 'Next').click()
    await waitForList(page, '?limit=50&order=oldest&after=100', '101')
    assert.equal(await link(page, 'Next').count(), 0, 'the last page has a link to a next page')
    await link(page, 'Previous').click()
    await waitForList(page, '?limit=50&order=oldest&before=101', '51')
    await link(page, 'Previous').click()
    await waitForList(page, '?limit=50&order=oldest', '1')
    for (const [search, firstId] of [
      ['?limit=50&order=oldest&before=101', '51'],
      ['?limit=50&order=oldest&after=100', '101'],
    ] as const) {
      await page.goBack()
      await waitForList(page, search, firstId)
    }
    await page.reload()
    await waitForList(page, '?limit=50&order=oldest&after=100', '101')
    await link(page, 'First').click()
    await waitForList(page, '?limit=50&order=oldest', '1')
  })

  test('gives the scroll position back, with Back, Forward and a reload', async t => {
    const { page } = await open(t, service(), { path: '/?limit=50' })
    await waitForList(page, '?limit=50', '120')
    const waitForScroll = (y: number) => page.waitForFunction(y => scrollY === y, y)
    await page.evaluate(() => scrollTo(0, 300))
    await link(page, 'Next').click()
    await waitForList(page, '?limit=50&before=71', '70')
    await waitForScroll(0)
    await page.evaluate(() => scrollTo(0, 150))
    await page.goBack()
    await waitForList(page, '?limit=50', '120')
    await waitForScroll(300)
    await page.goForward()
    await waitForList(page, '?limit=50&before=71', '70')
    await waitForScroll(150)
    await page.reload()
    await waitForScroll(150)
  })

  test('moves one page for a second click while the page is loading', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest' })

    async function clickTwice(name: string): Promise<void> {
      const { release } = await holdRequests(page, 'GET')
      await link(page, name).dblclick()
      release()
    }

    await link(page, 'Next').click()
    await waitForList(page, '?order=oldest&after=20', '21')
    await clickTwice('Next')
    await waitForList(page, '?order=oldest&after=40', '41')
    await clickTwice('Previous')
    await waitForList(page, '?order=oldest&before=41', '21')
    await page.goBack()
    await waitForList(page, '?order=oldest&after=40', '41')
  })

  test('shows a full first page after paging back, also if fewer animals precede', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest&after=5' })
    await waitForList(page, '?order=oldest&after=5', '6')
    await link(page, 'Previous').click()
    await waitForList(page, '?order=oldest', '1')
    assert.equal((await readIds(page)).length, 20)
    assert.equal(await link(page, 'First').count(), 0)
  })
})

test('a page without animals leads back to the first page of its own list', async t => {
  const { page } = await open(t, service(), { path: '/?status=sold&limit=10&order=oldest&after=5000' })
  await page.getByText('No sold animal comes after id 5000.').waitFor()
  await page.getByRole('link', { name: 'Show the first page' }).click()
  await waitForList(page, '?status=sold&limit=10&order=oldest', '2')
})

test('the links to other pages wait for the list that the user has chosen', async t => {
  const { page } = await open(t, service())
  await readRows(page)
  const { release } = await holdRequests(page, 'GET')
  await page.getByRole('button', { name: 'sold' }).click()
  await page.keyboard.press(']')
  release()
  await waitForList(page, '?status=sold', '119')
})

suite('the order', () => {
  test('has the newest animals first, says where the page is, and changes with one click', async t => {
    const { page } = await open(t, service(), { path: '/?limit=50' })
    await waitForList(page, '?limit=50', '120')
    const status = page.locator('#list-status')
    const ids = page.locator('#pager')
    await status.getByText('50 of 120', { exact: true }).waitFor()
    await ids.getByText('ids 71 – 120', { exact: true }).waitFor()
    assert.deepEqual(
      await readIds(page),
      Array.from({ length: 50 }, (_, index) => String(120 - index)),
    )
    assert.equal(await link(page, 'Previous').count(), 0)
    await link(page, 'Next').click()
    await waitForList(page, '?limit=50&before=71', '70')
    await status.getByText('50 of 120', { exact: true }).waitFor()
    await ids.getByText('ids 21 – 70', { exact: true }).waitFor()
    await link(page, 'Previous').click()
    await waitForList(page, '?limit=50', '120')
    await page.getByRole('button', { name: 'Oldest first' }).click()
    await waitForList(page, '?limit=50&order=oldest', '1')
    assert.equal(await page.getByRole('button', { name: 'Oldest first', pressed: true }).count(), 1)
    await ids.getByText('ids 1 – 50', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Newest first' }).click()
    await waitForList(page, '?limit=50', '120')
    await page.getByRole('button', { name: 'sold' }).click()
    await waitForList(page, '?status=sold&limit=50', '119')
    await status.getByText('40 of 40', { exact: true }).waitFor()
    await ids.getByText('ids 2 – 119', { exact: true }).waitFor()
  })
})

suite('go to id', () => {
  test('shows the animal, whatever the filter, page and order are', async t => {
    const { page } = await open(t, service(), { path: '/?status=sold&limit=10' })
    await waitForList(page, '?status=sold&limit=10', '119')
    const field = page.getByLabel('Search or id')
    await field.fill(' 57 ')
    await page.getByRole('button', { name: 'Go to id 57' }).waitFor()
    await page.keyboard.press('Enter')
    await waitForList(page, '?limit=10&before=58', '57')
    assert.equal(await page.locator('tr[aria-current] td').first().textContent(), '57')
    await page.getByRole('heading', { name: 'Animal 57' }).waitFor()
    assert.equal(await field.inputValue(), '', 'the field has a number that is not searched')
    await field.fill('#0012')
    await page.getByRole('button', { name: 'Go to id 12' }).click()
    await page.getByRole('heading', { name: 'Animal 12' }).waitFor()
  })

  test('stays where it is if no animal has the id, and says so by the field until the user types', async t => {
    const service = await startWithRows(t, ["(-9223372036854775808, 'a', 1, null)", "(9, 'b', 1, null)"])
    const { page } = await open(t, service)
    const field = page.getByLabel('Search or id')
    const goTo = async (id: string) => {
      await field.fill(id)
      await page.keyboard.press('Enter')
    }
    await page.locator('#rows tr').first().click()
    await page.getByRole('heading', { name: 'b', exact: true }).waitFor()
    const url = page.url()
    await goTo('5')
    const problem = page.locator('#search-hint').getByText('No animal has id 5')
    await problem.waitFor()
    assert.equal(page.url(), url)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await field.blur()
    assert.equal(await problem.isVisible(), true)
    await page.locator('#rows tr').last().click()
    await problem.waitFor({ state: 'hidden' })
    await page.getByRole('heading', { name: 'a', exact: true }).waitFor()
    await goTo('-9223372036854775808')
    await page.getByRole('heading', { name: 'a', exact: true }).waitFor()
    // No animal can have such an id, but a name can have these digits.
    await field.fill('9'.repeat(40))
    assert.deepEqual(await page.locator('#search-hint button').allTextContents(), [
      `Search names for “${'9'.repeat(40)}”`,
    ])
  })
})

suite('the CSV file', () => {
  async function download(page: Page): Promise<{ name: string; text: string }> {
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const download = await downloaded
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') }
  }

  test('has all animals of the filtered list, exactly', async t => {
    const { page } = await open(t, service(), { path: '/?status=sold&after=50&limit=10' })
    await readRows(page)
    const { name, text } = await download(page)
    assert.equal(name, 'animals-sold.csv')
    const lines = Array.from({ length: 40 }, (_, index) => {
      const id = index * 3 + 2
      return `${id},Animal ${id},${id - 1},sold\r\n`
    })
    assert.equal(text, `\ufeffid,name,categoryId,status\r\n${lines.join('')}`)
    await page.getByText('Downloaded 40 animals.').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'export', 'the focus is lost')
  })

  test('has no name that a spreadsheet would run as a formula, and says so', async t => {
    const names = ['=1+1', 'x;＝1', 'a "quoted", name', 'two\nlines']
    const animals = names.map(name => ({ name, categoryId: -9223372036854775808n }))
    const { page } = await open(t, await startWithAnimals(t, animals))
    const { name, text } = await download(page)
    assert.equal(name, 'animals.csv')
    const fields = ["'=1+1", "'x;＝1", '"a ""quoted"", name"', '"two\nlines"']
    const lines = fields.map((field, index) => `${index + 1},${field},-9223372036854775808,\r\n`)
    assert.equal(text, `\ufeffid,name,categoryId,status\r\n${lines.join('')}`)
    await page.getByText('Downloaded 4 animals. 2 of the names got a leading apostrophe').waitFor()
  })

  test('shows its progress while it is fetched, and can be cancelled', async t => {
    const { page } = await open(t, service())
    await readInventory(page)
    const released = Promise.withResolvers<void>()
    await page.route(/after=100$/, async route => {
      await released.promise
      await route.continue().catch(() => {})
    })
    await page.getByRole('button', { name: 'Download CSV' }).click()
    await page.getByText('Downloaded 100 of 120 animals …').waitFor()
    const button = page.getByRole('button', { name: 'Download CSV' })
    assert.equal(await button.getAttribute('aria-disabled'), 'true')
    assert.equal(await button.evaluate(button => button === document.activeElement), true)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Downloaded 100').waitFor({ state: 'hidden' })
    released.resolve()
    assert.equal((await download(page)).text.split('\r\n').length, 122)
  })

  test('says if it cannot be fetched, and offers to try again', async t => {
    const { page } = await open(t, service())
    await readInventory(page)
    await failRequests(page, 400, 'invalid_request')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    await page.getByText('The list could not be saved').waitFor()
    await page.unroute('**/v1/**')
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Try again' }).click()
    await downloaded
  })
})
