// Signing in and out on the catalogue page.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { shared } from '../support/service.ts'
import {
  failRequests,
  newAnimals,
  openAddForm,
  readRows,
  signIn,
  startWithAnimals,
  useCatalogue,
  waitForCatalogue,
} from './catalogue-page.ts'

const UNKNOWN_KEY = 'a-key-that-does-not-exist'

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
    }
    await signIn(page)
    assert.deepEqual(await readRows(page), [['Animal 100', '100', '99', 'available']])
  })

  test('does not open the catalogue until the server has accepted the key', async t => {
    const { page } = await open(t, service(), { isSignedIn: false, path: '/?after=x' })
    await signIn(page, UNKNOWN_KEY)
    await page.getByText('This key is not accepted here.').waitFor()
    await page.route('**/v1/pets**', route => route.abort())
    await signIn(page, UNKNOWN_KEY)
    await page.getByText('The server cannot be reached. Try again.').waitFor()
    assert.equal(await page.locator('#catalogue').isVisible(), false)
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
  })

  test('lasts until the user signs out, in this tab only', async t => {
    const { page, context } = await open(t, service())
    await page.reload()
    await waitForCatalogue(page)
    const otherTab = await context.newPage()
    await otherTab.goto(service().address)
    await otherTab.getByLabel('API key').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    assert.deepEqual(await page.evaluate(() => [sessionStorage.length, localStorage.length]), [0, 0])
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })
})

suite('signing out', () => {
  test('clears the form', async t => {
    const { page } = await open(t, service())
    await openAddForm(page)
    await page.getByLabel('Name').fill('Not sent')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
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

suite('the environment', () => {
  for (const environment of ['production', 'staging'] as const) {
    test(`is always visible: ${environment}`, async t => {
      const service = await startWithAnimals(t, newAnimals(100), { environment })
      const { page } = await open(t, service, { path: '/?limit=100', isSignedIn: false })
      const label = page.locator('.bar .environment')
      const checkVisible = async () => {
        assert.equal(await label.textContent(), environment)
        const box = await label.boundingBox()
        assert.ok(box !== null && box.y >= 0 && box.y < 100, JSON.stringify(box))
      }
      await checkVisible()
      await signIn(page)
      await readRows(page)
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      await checkVisible()
    })
  }
})
