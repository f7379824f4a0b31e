// Signing in and out on the catalogue page.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { API_KEY, shared } from '../support/service.ts'
import {
  failRequests,
  newAnimals,
  openAddForm,
  readRows,
  signIn,
  signOut,
  startWithAnimals,
  useCatalogue,
  waitForCatalogue,
} from './catalogue-page.ts'

const UNKNOWN_KEY = 'a-key-that-does-not-exist'

/** How many items the tab and the device store. */
function storedItems(page: Page): Promise<number[]> {
  return page.evaluate(() => [sessionStorage.length, localStorage.length])
}

const open = useCatalogue()
const service = shared(scope => startWithAnimals(scope, newAnimals(100)))

suite('signing in', () => {
  test('shows an error for a wrong key, and the catalogue for a valid one', async t => {
    const { page } = await open(t, service(), { path: '/?after=99', isSignedIn: false })
    const wrongKeys: [string, string][] = [
      [UNKNOWN_KEY, 'This key is not accepted here.'],
      ['two words', 'This is not a valid key.'],
    ]
    for (const [key, message] of wrongKeys) {
      await signIn(page, key)
      await page.getByText(message).waitFor()
      assert.equal(await page.locator('#catalogue').isVisible(), false)
      assert.equal(await page.getByLabel('API key').inputValue(), '')
      await page.getByLabel('API key').fill('a')
      await page.getByText(message).waitFor({ state: 'hidden' })
    }
    await signIn(page)
    assert.deepEqual(await readRows(page), [['100', 'Animal 100', '99', 'available']])
  })

  test('says that it is waiting, and keeps the key if the server cannot be reached', async t => {
    const { page } = await open(t, service(), { isSignedIn: false, path: '/?after=x' })
    const answer = Promise.withResolvers<void>()
    await page.route('**/v1/pets**', async route => {
      await answer.promise
      await route.abort()
    })
    await page.getByLabel('API key').fill(API_KEY)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Signing in …' }).waitFor()
    answer.resolve()
    await page.getByText('The server cannot be reached. Try again.').waitFor()
    assert.equal(await page.getByLabel('API key').inputValue(), API_KEY)
    assert.equal(await page.locator('#catalogue').isVisible(), false)
    assert.deepEqual(await storedItems(page), [0, 0])
    await page.unroute('**/v1/pets**')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await waitForCatalogue(page)
  })

  test('lasts until the user signs out, in this tab only', async t => {
    const { page, context } = await open(t, service())
    await page.reload()
    await waitForCatalogue(page)
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    await otherTab.getByLabel('API key').waitFor()
    await signOut(page)
    await page.getByLabel('API key').waitFor()
    assert.deepEqual(await storedItems(page), [0, 0])
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })
})

suite('remembering the key on this device', () => {
  test('is off, and warns when it is turned on', async t => {
    const { page } = await open(t, service(), { isSignedIn: false })
    const remember = page.getByLabel('Remember on this device')
    const warning = page.getByText('Leave this off on a shared computer.')
    assert.deepEqual([await remember.isChecked(), await warning.isVisible()], [false, false])
    await remember.check()
    await warning.waitFor()
    await signIn(page, UNKNOWN_KEY)
    await page.getByText('This key is not accepted here.').waitFor()
    assert.deepEqual(await storedItems(page), [0, 0], 'a key that was not accepted is stored')
  })

  test('signs in other tabs, until one signs out', async t => {
    const { page, context } = await open(t, service(), { isSignedIn: false })
    const earlierTab = await context.newPage()
    await earlierTab.goto(service().address)
    await earlierTab.getByLabel('API key').waitFor()
    await page.getByLabel('Remember on this device').check()
    await signIn(page)
    await waitForCatalogue(earlierTab)
    await earlierTab.close()
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    await waitForCatalogue(otherTab)
    const reference = await context.newPage()
    await reference.goto(`${service().address}/docs`)
    await reference.getByText('The key that you entered in the catalogue.').waitFor()
    const names = await page.evaluate(() => Object.keys(localStorage))
    assert.deepEqual(names, ['animal-store-key:/'])
    await signOut(otherTab)
    await page.getByLabel('API key').waitFor()
    await reference.getByText('The key is not stored.').waitFor()
    assert.equal(await reference.getByLabel('API key').inputValue(), '')
    assert.deepEqual(
      [await storedItems(page), await storedItems(otherTab)],
      [
        [0, 0],
        [0, 0],
      ],
    )
    assert.equal(await page.getByLabel('Remember on this device').isChecked(), false)
  })
})

suite('signing out', () => {
  test('clears the form', async t => {
    const { page } = await open(t, service())
    await openAddForm(page)
    await page.getByLabel('Name').fill('Not sent')
    await signOut(page)
    await signIn(page)
    await openAddForm(page)
    assert.equal(await page.getByLabel('Name').inputValue(), '')
  })

  test('happens when the server no longer accepts the key', async t => {
    const { page } = await open(t, service())
    await failRequests(page, 401, 'unauthorized')
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('This key is not accepted here.').waitFor()
  })
})

test('the environment is always visible', async t => {
  const { page } = await open(t, service(), { path: '/?limit=100' })
  await readRows(page)
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  const box = await page.locator('#bar').getByText('production').boundingBox()
  assert.ok(box !== null && box.y >= 0 && box.y < 100, JSON.stringify(box))
})
