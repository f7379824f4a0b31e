// The stock at a glance on the catalogue page, and new animals that appear by themselves.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  newAnimals,
  readIds,
  readStock,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

/** How often the page asks how many animals there are (src/web/browser/catalogue.ts). */
const INTERVAL_MS = 5_000

const open = useCatalogue()

const STATUSES = ['available', 'sold', 'sold', undefined] as const

/** Tells the page that its tab is hidden or visible again. */
async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(isHidden => {
    Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

test('the stock is that of the whole catalogue, whatever the list shows', async t => {
  const service = await startWithAnimals(t, newAnimals(1_204, STATUSES))
  const { page } = await open(t, service, { path: '/?status=sold&limit=10' })
  assert.deepEqual(await readStock(page), ['1,204', '301', '0', '602', '301'])
  await page.getByText('10 of 602').waitFor()
  assert.equal(
    await page.locator('#stock-bar').getAttribute('aria-label'),
    '1,204 animals: 301 available, 0 pending, 602 sold, 301 without a status.',
  )
  const widths = await page
    .locator('#stock-bar rect')
    .evaluateAll(parts => parts.map(part => [part.getAttribute('x'), part.getAttribute('width')].join()))
  assert.deepEqual(widths, ['0,301', '301,0', '301,602', '903,301'])
})

suite('an animal that somebody else adds', () => {
  test('appears although it was added between the answers to the first two requests', async t => {
    const service = await startWithAnimals(t, newAnimals(30, STATUSES))
    const { page } = await open(t, service)
    await stopClock(page)
    const held = Promise.withResolvers<void>()
    await page.route('**/v1/store/inventory', async route => {
      await held.promise
      await route.continue()
    })
    await page.goto(service.address)
    await waitForList(page, '', '30')
    await service.create({ name: 'Kim', categoryId: 8 })
    held.resolve()
    assert.equal((await readStock(page))[0], '31')
    await page.clock.fastForward(INTERVAL_MS)
    await waitForList(page, '', '31')
  })

  test('appears at the top of the first page, is marked for a while, and is counted', async t => {
    const service = await startWithAnimals(t, newAnimals(30, STATUSES))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(service.address)
    await waitForList(page, '', '30')
    assert.equal((await readStock(page))[0], '30')
    await page.locator('#rows tr').nth(1).click()
    await service.create({ name: 'Kim', categoryId: 8, status: 'pending' })
    await page.clock.fastForward(INTERVAL_MS)
    await waitForList(page, '', '31')
    assert.equal((await readIds(page)).length, 20)
    assert.deepEqual(await page.locator('tr.new td:first-child').allTextContents(), ['31'])
    assert.deepEqual(await page.locator('tr[aria-current] td:first-child').allTextContents(), ['29'])
    assert.deepEqual(await readStock(page), ['31', '8', '1', '15', '7'])
    await page.getByText('20 of 31').waitFor()
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('tr.new').waitFor({ state: 'detached' })
  })

  test('costs one request at a time while nothing is added', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(service.address)
    await readStock(page)
    const refreshed = page.waitForResponse('**/v1/pets?**')
    await page.clock.fastForward(INTERVAL_MS)
    // The first inventory may be newer than the list, so the list is loaded once more.
    await refreshed
    const requests: string[] = []
    page.on('request', request => requests.push(new URL(request.url()).pathname))
    for (let times = 0; times < 3; times++) {
      const counted = page.waitForResponse('**/v1/store/inventory')
      await page.clock.fastForward(INTERVAL_MS)
      await counted
    }
    assert.deepEqual(requests, Array(3).fill('/v1/store/inventory'))
  })

  test('is on a new page if the oldest animals come first and the last page is full', async t => {
    const service = await startWithAnimals(t, newAnimals(20))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(`${service.address}/?order=oldest`)
    await readStock(page)
    assert.equal(await page.getByRole('link', { name: 'Next' }).count(), 0)
    await service.create({ name: 'Kim', categoryId: 8 })
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByRole('link', { name: 'Next' }).waitFor()
  })

  test('is looked for only while the tab is visible, and at once when it becomes visible', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(service.address)
    await readStock(page)
    await setHidden(page, true)
    await service.create({ name: 'Kim', categoryId: 8 })
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await page.clock.fastForward(10 * INTERVAL_MS)
    assert.deepEqual(requests, [])
    await setHidden(page, false)
    await waitForList(page, '', '4')
  })
})
