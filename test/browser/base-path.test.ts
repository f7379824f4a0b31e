// The pages behind a proxy that removes a prefix from the path.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { startPrefixProxy } from '../support/http-proxy.ts'
import { API_KEY } from '../support/service.ts'
import {
  newAnimals,
  readIds,
  readInventory,
  signIn,
  startWithAnimals,
  useCatalogue,
} from './catalogue-page.ts'

const open = useCatalogue()

suite('below the prefix of a proxy', () => {
  async function openBehindPrefix(t: TestContext, path: string) {
    const proxy = await startPrefixProxy(t, '/shop/animals')
    const service = await startWithAnimals(t, newAnimals(30), {
      productionUrl: `${proxy.address}/shop/animals/v1`,
    })
    proxy.forwardTo(service.address)
    return open(t, { ...service, address: proxy.address }, { path, isSignedIn: false })
  }

  test('the catalogue loads, pages and keeps the prefix in its URL', async t => {
    const { page } = await openBehindPrefix(t, '/shop/animals/')
    await signIn(page)
    assert.equal((await readIds(page)).length, 20)
    await readInventory(page)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/\/shop\/animals\/\?before=11$/)
    await page.waitForFunction(() => document.querySelectorAll('#rows tr').length === 10)
    await page.getByRole('link', { name: 'API reference' }).click()
    await page.waitForURL(/\/shop\/animals\/docs$/)
    // Another catalogue of the same host has another key.
    const names = await page.evaluate(() => Object.keys(sessionStorage).sort())
    assert.deepEqual(names, ['animal-store-key:/shop/animals/', 'animal-store-scroll:/shop/animals/'])
    await page.getByRole('link', { name: 'Animal Store', exact: true }).click()
    await page.waitForURL(/\/shop\/animals\/$/)
  })

  test('the reference sends its requests to the API below the prefix', async t => {
    const { page } = await openBehindPrefix(t, '/shop/animals/docs')
    await page.getByLabel('API key').fill(API_KEY)
    const answered = page.waitForResponse(response => response.url().endsWith('/shop/animals/v1/pets'))
    await page.locator('#listPets form').getByRole('button', { name: 'Send' }).click()
    assert.equal((await answered).status(), 200)
  })
})
