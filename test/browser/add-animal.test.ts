// The form on the catalogue page that adds an animal.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared, startTestService } from '../support/service.ts'
import {
  failRequests,
  holdRequests,
  newAnimals,
  openAddForm,
  readIds,
  readInventory,
  readRows,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()

async function fillIn(page: Page, name: string, category: string): Promise<void> {
  await openAddForm(page)
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('textbox', { name: 'Category' }).fill(category)
}

/** Waits until the list shows these animals. */
async function waitForIds(page: Page, ids: readonly string[]): Promise<void> {
  await page.waitForFunction(
    ids =>
      [...document.querySelectorAll('#rows td:first-child')].map(cell => cell.textContent).join() === ids,
    ids.join(),
  )
}

function addButton(page: Page) {
  return page.getByRole('button', { name: 'Add', exact: true })
}

suite('the form', () => {
  const emptyService = shared(startTestService)

  test('says what is wrong with a field after the user has left it', async t => {
    const { page } = await open(t, emptyService())
    await openAddForm(page)
    const hint = (field: string) => page.locator(`${field}-hint`).innerText()
    const isInvalid = (field: string) => page.locator(field).getAttribute('aria-invalid')
    const cases: [string, string, string | undefined][] = [
      ['#name', ' ', 'Enter a name.'],
      ['#name', 'x'.repeat(1_001), 'This name has 1,001 characters. 1,000 are possible.'],
      ['#name', '🐈'.repeat(1_000), undefined],
      ['#category', 'seven', 'Enter a whole number, such as 7.'],
      ['#category', '1.5', 'Enter a whole number, such as 7.'],
      ['#category', '9223372036854775808', 'Enter a number from'],
      ['#category', '9'.repeat(10_000), 'Enter a number from'],
      ['#category', '-9223372036854775808', undefined],
      ['#category', ' +007 ', undefined],
    ]
    for (const [field, text, problem] of cases) {
      const shown = text.slice(0, 30)
      await page.locator(field).fill(text)
      assert.equal(await isInvalid(field), 'false', `${shown} is rejected while it is typed`)
      await page.locator(field).blur()
      assert.equal(await isInvalid(field), String(problem !== undefined), shown)
      if (problem !== undefined) assert.ok((await hint(field)).startsWith(problem), await hint(field))
      await page.locator(field).fill('1')
      assert.equal(await isInvalid(field), 'false', 'the problem is still shown after the user has fixed it')
    }
  })

  test('says what is missing when the user sends the form, and not before', async t => {
    const { page } = await open(t, emptyService())
    await openAddForm(page)
    assert.equal(await page.locator('#panel [aria-invalid=true]').count(), 0)
    await page.keyboard.press('Tab')
    assert.equal(await page.locator('#panel [aria-invalid=true]').count(), 0)
    await addButton(page).click()
    await page.getByText('Enter a name.').waitFor()
    await page.getByText('Enter the number of the category.').waitFor()
    assert.equal(await page.locator('#name').evaluate(field => field === document.activeElement), true)
  })

  test('shows the message of the server if it rejects the animal', async t => {
    const { page } = await open(t, emptyService())
    await page.route('**/v1/pets', route =>
      route.fulfill({
        status: 400,
        contentType: 'application/json',
        headers: { 'x-request-id': 'abc-1' },
        body: '{"code":"invalid_request","message":"name must be another one.","status":400}',
      }),
    )
    await fillIn(page, 'Kim', '8')
    await addButton(page).click()
    await page.getByText('name must be another one. (request abc-1)').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Kim')
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Add')
  })

  test('adds one animal for a double click, keeps the place in the list, and offers to show it', async t => {
    const service = await startWithAnimals(t, newAnimals(50))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(`${service.address}/?limit=10&order=oldest&after=10`)
    await waitForList(page, '?limit=10&order=oldest&after=10', '11')
    await fillIn(page, 'Bella <b>', '9007199254740993')
    await page.getByRole('radio', { name: 'pending' }).check()
    await addButton(page).dblclick()
    await page.getByText('Added Bella <b>').waitFor()
    assert.equal(await page.locator('#panel').isVisible(), false)
    await waitForList(page, '?limit=10&order=oldest&after=10', '11')
    await page.getByRole('button', { name: 'Show' }).click()
    await waitForList(page, '?limit=10', '51')
    const rows = await readRows(page)
    assert.deepEqual(rows[0], ['51', 'Bella <b>', '9007199254740993', 'pending'])
    assert.equal(rows.length, 10, 'the animals that were added before are not shown')
    await page.getByRole('heading', { name: 'Bella <b>' }).waitFor()
    await openAddForm(page)
    assert.equal(await page.getByRole('radio', { name: 'no status' }).isChecked(), true)
    assert.equal(await page.getByRole('textbox', { name: 'Category' }).inputValue(), '')
    assert.equal((await service.store.listAnimals({ limit: 100 })).length, 51)
    assert.deepEqual(await readInventory(page), ['51', '50', '1', '0', '0'])
  })

  test('shows the new animal without leaving a page that has it', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await fillIn(page, 'Bella', '7')
    await addButton(page).click()
    await waitForIds(page, ['4', '3', '2', '1'])
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('heading', { name: 'Bella' }).waitFor()
    assert.equal(new URL(page.url()).search, '?animal=4')
    assert.deepEqual(await readIds(page), ['4', '3', '2', '1'])
  })

  test('stays open for another animal, with the same category and status', async t => {
    const service = await startTestService(t)
    const { page } = await open(t, service)
    await fillIn(page, 'Kim', '8')
    await page.getByRole('radio', { name: 'sold' }).check()
    await page.getByLabel('Add another').check()
    const place = await page.getByRole('textbox', { name: 'Category' }).boundingBox()
    for (const name of ['Kim', 'Rex', 'Otto']) {
      await page.keyboard.type(name === 'Kim' ? '' : name)
      await page.getByRole('textbox', { name: 'Name' }).press('Enter')
      await page.getByText(`Added ${name}`).waitFor()
      await page.waitForFunction(() => document.activeElement?.id === 'name')
    }
    const count = page.locator('#added-count')
    assert.equal(await count.textContent(), '3 added')
    assert.deepEqual(await page.getByRole('textbox', { name: 'Category' }).boundingBox(), place)
    await page.keyboard.press('Escape')
    await openAddForm(page)
    assert.equal(await count.textContent(), '', 'the count does not start again')
    assert.equal(await page.locator('#panel [aria-invalid=true]').count(), 0)
    await page.locator('#rows tr').nth(2).waitFor()
    assert.deepEqual(await readRows(page), [
      ['3', 'Otto', '8', 'sold'],
      ['2', 'Rex', '8', 'sold'],
      ['1', 'Kim', '8', 'sold'],
    ])
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('#panel').isVisible(), false)
  })

  test('adds one animal if the response is lost and the user tries again', async t => {
    const service = await startTestService(t)
    const { page } = await open(t, service)
    await fillIn(page, 'Kim', '8')
    await page.route('**/v1/pets', async route => {
      if (route.request().method() === 'POST') await route.fetch()
      await route.abort()
    })
    await addButton(page).click()
    await page
      .getByText(
        'The server could not be reached. The animal may have been added. Press Add again: if you change nothing, it is added only once.',
      )
      .waitFor()
    await page.unroute('**/v1/pets')
    await addButton(page).click()
    await page.getByText('Added Kim').waitFor()
    await page.locator('#rows tr').first().waitFor()
    assert.deepEqual(await readIds(page), ['1'])
    assert.equal((await service.store.listAnimals({ limit: 100 })).length, 1)
  })

  test('adds one animal if the response is lost and the user reloads the page', async t => {
    const service = await startTestService(t)
    const { page } = await open(t, service)
    await fillIn(page, 'Kim', '8')
    await page.getByRole('radio', { name: 'pending' }).check()
    await page.route('**/v1/pets', async route => {
      if (route.request().method() === 'POST') await route.fetch()
      await route.abort()
    })
    await addButton(page).click()
    await page.getByText('The animal may have been added.').waitFor()
    await page.unroute('**/v1/pets')
    // The client waits as long as the service asks for.
    await failRequests(page, 429, 'rate_limited', { 'retry-after': '3600' })
    await addButton(page).click()
    await page.getByText('This key has sent too many requests. The animal may have been added.').waitFor()
    await page.unroute('**/v1/**')
    await page.reload()
    await readRows(page)
    await openAddForm(page)
    await page.getByText('The animal may have been added.').waitFor()
    await addButton(page).click()
    await page.getByText('Added Kim').waitFor()
    assert.deepEqual(await service.store.listAnimals({ limit: 100 }), [
      { id: 1n, name: 'Kim', categoryId: 8n, status: 'pending' },
    ])
    await page.reload()
    await readRows(page)
    await openAddForm(page)
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), '')
  })

  test('says that the first animal may be in the list if it is changed after a lost answer', async t => {
    const service = await startTestService(t)
    const { page } = await open(t, service)
    await fillIn(page, 'Kim', '8')
    await page.route('**/v1/pets', route => route.abort())
    await addButton(page).click()
    await page.getByText('The animal may have been added.').waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('Kimm')
    await page
      .getByText('The animal before this change may be in the list already. Look there first.')
      .waitFor()
    await page.keyboard.press('Escape')
    await page.locator('#title').press('n')
    await page.getByText('Look there first.').waitFor()
    await page.unroute('**/v1/pets')
    await addButton(page).click()
    await page.getByText('Added Kimm').waitFor()
  })

  test('cannot be closed or changed while the request is in flight', async t => {
    const { page } = await open(t, await startTestService(t))
    await fillIn(page, 'Kim', '8')
    const { arrived, release } = await holdRequests(page, 'POST')
    await addButton(page).click()
    await arrived
    await page.getByRole('button', { name: 'Adding …' }).waitFor()
    const isInForm = () => page.evaluate(() => document.activeElement?.closest('#add-animal') !== null)
    assert.equal(await isInForm(), true, 'the keyboard goes on in the form')
    await page.keyboard.press('Escape')
    await page.locator('#add-animal .close').click()
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).isDisabled(), true)
    assert.equal(await page.locator('#add-animal').isVisible(), true)
    release()
    await page.getByText('Added Kim').waitFor()
  })
})
