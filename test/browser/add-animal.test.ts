// The form on the catalogue page that adds an animal.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared, startTestService } from '../support/service.ts'
import {
  holdRequests,
  newAnimals,
  openAddForm,
  readRows,
  startWithAnimals,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()

async function fillIn(page: Page, name: string, category: string): Promise<void> {
  await openAddForm(page)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Category').fill(category)
}

suite('the form', () => {
  const emptyService = shared(startTestService)

  test('checks the fields while the user types', async t => {
    const { page } = await open(t, emptyService())
    await openAddForm(page)
    const state = (rule: string) => page.locator(rule).getAttribute('data-state')
    assert.deepEqual([await state('#name-rule'), await state('#category-rule')], ['untouched', 'untouched'])
    const cases: [string, string, string][] = [
      ['#name', ' ', 'invalid'],
      ['#name', 'x'.repeat(1_001), 'invalid'],
      ['#name', '🐈'.repeat(1_000), 'valid'],
      ['#category', '1.5', 'invalid'],
      ['#category', '9223372036854775808', 'invalid'],
      ['#category', '-9223372036854775808', 'valid'],
    ]
    for (const [field, text, expected] of cases) {
      await page.locator(field).fill(text)
      assert.equal(await state(`${field}-rule`), expected, text.slice(0, 30))
      assert.equal(await page.locator(field).getAttribute('aria-invalid'), String(expected === 'invalid'))
    }
    await page.locator('#name').fill('')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
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
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('name must be another one. (request abc-1)').waitFor()
    assert.equal(await page.getByRole('dialog').isVisible(), true)
  })

  test('adds one animal for a double click, and shows it', async t => {
    const service = await startWithAnimals(t, newAnimals(50))
    const { page } = await open(t, service, { path: '/?status=sold' })
    await page.getByText('No sold animals').waitFor()
    await fillIn(page, 'Bella <b>', '9007199254740993')
    await page.getByRole('dialog').getByLabel('Status').selectOption('pending')
    await page.getByRole('button', { name: 'Add', exact: true }).dblclick()
    await waitForList(page, '?after=50', '51')
    assert.deepEqual(await readRows(page), [['Bella <b>', '51', '9007199254740993', 'pending']])
    assert.equal(await page.locator('tr.new').count(), 1)
    await page.getByText('Added Bella <b> with id 51.').waitFor()
    assert.equal((await service.store.listAnimals({ limit: 100 })).length, 51)
  })

  test('adds one animal if the response is lost and the user tries again', async t => {
    const service = await startTestService(t)
    const { page } = await open(t, service)
    await fillIn(page, 'Kim', '8')
    await page.route('**/v1/pets', async route => {
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('The server cannot be reached').waitFor()
    await page.unroute('**/v1/pets')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await waitForList(page, '?after=0', '1')
    assert.equal((await service.store.listAnimals({ limit: 100 })).length, 1)
  })

  test('cannot be closed or changed while the request is in flight', async t => {
    const { page } = await open(t, await startTestService(t))
    await fillIn(page, 'Kim', '8')
    const { arrived, release } = await holdRequests(page, 'POST')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await arrived
    await page.getByRole('button', { name: 'Adding …' }).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.getByRole('dialog').isVisible(), true)
    assert.equal(await page.getByRole('button', { name: 'Cancel' }).isDisabled(), true)
    release()
    await page.getByText('Added Kim with id 1.').waitFor()
  })
})
