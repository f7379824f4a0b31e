// Signing in and out on the catalogue page.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { generateKey } from '../../src/api-key.ts'
import { API_KEY, shared } from '../support/service.ts'
import {
  failRequests,
  newAnimals,
  openAddForm,
  readInventory,
  readRows,
  signIn,
  signOut,
  startWithAnimals,
  stopClock,
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
  test('says what is wrong with a key, keeps it in the field, and can show it', async t => {
    const { page } = await open(t, service(), { path: '/?limit=1', isSignedIn: false })
    const field = page.getByLabel('API key')
    const wrongKeys: [string, string][] = [
      [UNKNOWN_KEY, 'This key is not accepted here.'],
      ['as_test_0123456789', 'This key is for staging. This page is for production.'],
      ['two words', 'This is not a valid key.'],
    ]
    for (const [key, message] of wrongKeys) {
      await signIn(page, key)
      await page.getByText(message).waitFor()
      assert.equal(await page.locator('#catalogue').isVisible(), false)
      assert.equal(await field.inputValue(), key)
      await page.getByRole('button', { name: 'Show key' }).click()
      assert.equal(await field.getAttribute('type'), 'text')
      await page.getByRole('button', { name: 'Hide key' }).click()
      assert.equal(await field.getAttribute('type'), 'password')
    }
    const help = page.getByRole('link', { name: 'How do I get a key?' })
    assert.equal(await help.getAttribute('href'), './docs#authentication')
    await signIn(page)
    assert.deepEqual(await readRows(page), [['100', 'Animal 100', '99', 'available']])
  })

  test('removes what was pasted around the key, and shows its first characters in the menu', async t => {
    const { page } = await open(t, service(), { isSignedIn: false })
    for (const pasted of [
      `Authorization: Bearer ${API_KEY}`,
      ` "${API_KEY}" `,
      `'Bearer ${API_KEY}'\n`,
      `“${API_KEY}”`,
    ]) {
      await page.getByLabel('API key').fill(pasted)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await waitForCatalogue(page)
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByText(`Key ${API_KEY.slice(0, 4)}…`).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
    }
  })

  test('says that it is waiting, and keeps the key if the server cannot be reached', async t => {
    const { page } = await open(t, service(), { isSignedIn: false, path: '/?after=x' })
    const answer = Promise.withResolvers<void>()
    await page.route('**/v1/**', async route => {
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
    await page.unroute('**/v1/**')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await waitForCatalogue(page)
  })

  test('lasts until the user signs out, also after a reload', async t => {
    const { page } = await open(t, service())
    await page.reload()
    await waitForCatalogue(page)
    await signOut(page)
    await page.getByLabel('API key').waitFor()
    assert.deepEqual(await storedItems(page), [0, 0])
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })
})

suite('another tab', () => {
  for (const [how, click] of [
    [
      'Ctrl and a click on its name',
      (row: Locator) => row.locator('.name').click({ modifiers: ['Control'] }),
    ],
    ['a middle click on its name', (row: Locator) => row.locator('.name').click({ button: 'middle' })],
    [
      'Ctrl and a click beside it',
      (row: Locator) =>
        row
          .locator('td')
          .last()
          .click({ modifiers: ['Control'] }),
    ],
    ['a middle click beside it', (row: Locator) => row.locator('td').last().click({ button: 'middle' })],
  ] as const) {
    test(`shows an animal after ${how}, and is signed in`, async t => {
      const { page, context } = await open(t, service())
      await readRows(page)
      const opened = context.waitForEvent('page')
      await click(page.locator('#rows tr').nth(2))
      const tab = await opened
      await tab.getByRole('heading', { name: 'Animal 98' }).waitFor()
      assert.equal(new URL(tab.url()).search, '?animal=98')
      assert.deepEqual(await storedItems(tab), [1, 0], 'the key is stored on the device')
      assert.equal(await page.locator('#panel').isVisible(), false)
    })
  }

  test('signs in and out together with this one', async t => {
    const { page, context } = await open(t, service(), { isSignedIn: false })
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    await otherTab.getByLabel('API key').waitFor()
    await signIn(page)
    await waitForCatalogue(otherTab)
    await signOut(otherTab)
    await page.getByLabel('API key').waitFor()
    assert.deepEqual([await storedItems(page), await storedItems(otherTab)].flat(), [0, 0, 0, 0])
  })

  test('is signed out too if it shows the reference, and does not sign others in again', async t => {
    const { page, context } = await open(t, service(), { isSignedIn: false })
    await signIn(page)
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    await waitForCatalogue(otherTab)
    await otherTab.goto(`${service().address}/docs`)
    await signOut(page)
    await page.getByLabel('API key').waitFor()
    await otherTab.getByText('The key is not stored.').waitFor()
    await otherTab.goto(service().address)
    await otherTab.getByLabel('API key').waitFor()
    assert.equal(await page.getByLabel('API key').isVisible(), true)
  })

  test('gets no key that the server does not accept any more, and says why', async t => {
    const { page, context } = await open(t, service())
    await stopClock(page)
    await page.goto(service().address)
    await readInventory(page)
    // The first tab does not know yet that its key was revoked.
    await context.route('**/v1/**', route =>
      route.fulfill({ status: 401, json: { code: 'unauthorized', message: '', status: 401 } }),
    )
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    await otherTab.getByText('This key stopped working: it was revoked or has expired.').waitFor()
    assert.deepEqual(await storedItems(otherTab), [0, 0])
  })

  test('keeps a key of its own when another key is signed out', async t => {
    const { page, context } = await open(t, service(), { isSignedIn: false })
    const { secret, apiKey } = generateKey({
      name: 'other',
      environment: 'production',
      createdAt: new Date(),
    })
    await service().store.createKey(apiKey)
    await signIn(page)
    const otherTab = await context.newPage()
    await otherTab.goto(`${service().address}/livez`)
    await otherTab.evaluate(key => sessionStorage.setItem('animal-store-key:/', key), secret)
    await otherTab.goto(service().address)
    await waitForCatalogue(otherTab)
    await signOut(page)
    await page.getByLabel('API key').waitFor()
    await otherTab.reload()
    await waitForCatalogue(otherTab)
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
    await page.getByRole('textbox', { name: 'Name' }).fill('Not sent')
    await signOut(page)
    await signIn(page)
    await openAddForm(page)
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), '')
  })
})

suite('a key that stops working', () => {
  test('loses nothing: the half-typed animal, the URL and the filter are there after signing in again', async t => {
    const { page } = await open(t, service(), { path: '/?status=available&limit=10' })
    const url = page.url()
    await readRows(page)
    await openAddForm(page)
    await page.getByRole('textbox', { name: 'Name' }).fill('Half-typed')
    await page.getByRole('textbox', { name: 'Category' }).fill('12')
    await page.getByRole('radio', { name: 'sold' }).check()
    await failRequests(page, 401, 'unauthorized')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('This key stopped working: it was revoked or has expired.').waitFor()
    assert.deepEqual(await storedItems(page), [0, 0])
    await page.unroute('**/v1/**')
    await signIn(page)
    assert.equal(page.url(), url)
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Half-typed')
    assert.equal(await page.getByRole('textbox', { name: 'Category' }).inputValue(), '12')
    assert.equal(await page.getByRole('radio', { name: 'sold' }).isChecked(), true)
    assert.equal((await readRows(page)).length, 10)
    assert.equal(await page.locator('#filter [aria-pressed=true]').getAttribute('data-status'), 'available')
  })

  test('is noticed although the user requests nothing, and the focus comes back', async t => {
    const { page } = await open(t, service())
    await stopClock(page)
    await page.goto(service().address)
    await readInventory(page)
    await openAddForm(page)
    await page.getByRole('textbox', { name: 'Name' }).fill('Half-typed')
    await failRequests(page, 401, 'unauthorized')
    await page.clock.fastForward(5_000)
    await page.getByText('This key stopped working').waitFor()
    // The user goes on typing for a moment.
    await page.keyboard.type('abc')
    assert.equal(await page.getByLabel('API key').inputValue(), '')
    await page.unroute('**/v1/**')
    await signIn(page)
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'name')
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Half-typed')
  })
})

test('the environment is always visible', async t => {
  const { page } = await open(t, service(), { path: '/?limit=100' })
  await readRows(page)
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
  const box = await page.locator('#bar').getByText('production').boundingBox()
  assert.ok(box !== null && box.y >= 0 && box.y < 100, JSON.stringify(box))
})
