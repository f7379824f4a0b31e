// The stock at a glance on the catalogue page, and new animals that appear by themselves.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared } from '../support/service.ts'
import {
  newAnimals,
  readIds,
  readStock,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

/** How often the page looks for new animals (src/web/browser/polling.ts). */
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

suite('the stock', () => {
  const service = shared(scope => startWithAnimals(scope, newAnimals(1_204, STATUSES)))

  test('is counted in the whole catalogue, one request at a time, whatever the list shows', async t => {
    const { page } = await open(t, service(), { path: '/?status=sold&limit=10' })
    await readStock(page)
    // A search for new animals would be counted, too. The clock of the first page still runs, so the page is left first.
    await stopClock(page)
    const url = page.url()
    await page.goto('about:blank')
    let inFlight = 0
    let mostInFlight = 0
    let requests = 0
    await page.route(/limit=100/, async route => {
      requests++
      inFlight++
      mostInFlight = Math.max(mostInFlight, inFlight)
      const response = await route.fetch()
      inFlight--
      await route.fulfill({ response })
    })
    await page.goto(url)
    assert.deepEqual(await readStock(page), ['1,204', '301', '0', '602', '301'])
    assert.deepEqual([requests, mostInFlight], [13, 1])
    assert.deepEqual(await page.locator('#filter small').allTextContents(), ['1,204', '301', '0', '602'])
    assert.equal(
      await page.locator('#stock-chart').getAttribute('aria-label'),
      '1,204 animals: 301 available, 0 pending, 602 sold, 301 without a status.',
    )
    const widths = await page
      .locator('#stock-chart rect')
      .evaluateAll(bars => bars.map(bar => bar.getAttribute('width')))
    assert.deepEqual(widths, ['250.0', '0.0', '500.0', '250.0'])
  })

  test('shows its progress, and pauses as long as the server asks for', async t => {
    const { page } = await open(t, service())
    let isLimited = true
    await page.route(/limit=100&after=500$/, async route => {
      if (!isLimited) return route.continue()
      return route.fulfill({
        status: 429,
        contentType: 'application/json',
        headers: { 'retry-after': '20' },
        body: '{"code":"rate_limited","message":"Too many requests.","status":429}',
      })
    })
    await stopClock(page)
    const limited = page.waitForResponse(response => response.status() === 429)
    await page.reload()
    await limited
    await page.getByText('500 so far …').waitFor()
    assert.deepEqual(await page.locator('#filter small').allTextContents(), ['', '', '', ''])
    isLimited = false
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await page.clock.fastForward(19_000)
    assert.deepEqual(
      requests.filter(url => url.endsWith('after=500')),
      [],
    )
    await page.clock.fastForward(2_000)
    await readStock(page)
  })

  test('filters the list with a click', async t => {
    const { page } = await open(t, service())
    const legend = page.locator('#stock-legend')
    await legend.getByRole('button', { name: 'sold' }).click()
    await waitForList(page, '?status=sold', '2')
    await legend.getByRole('button', { name: 'sold', pressed: true }).click()
    await waitForList(page, '', '1')
  })

  test('counts only the first animals of a very large catalogue, and says so', async t => {
    const service = await startWithAnimals(t, newAnimals(20_001, STATUSES))
    const { page } = await open(t, service)
    await page.locator('#stock[data-state=capped]').waitFor({ timeout: 60_000 })
    assert.equal(await page.locator('#stock-total').textContent(), 'first 20,000 counted')
    assert.deepEqual(await page.locator('#stock-legend b').allTextContents(), [
      '5,000',
      '0',
      '10,000',
      '5,000',
    ])
    assert.deepEqual(await page.locator('#filter small').allTextContents(), ['', '', '', ''])
  })
})

suite('an animal that somebody else adds', () => {
  test('appears at the top of the newest page, is marked for a while, and is counted', async t => {
    const service = await startWithAnimals(t, newAnimals(30, STATUSES))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(`${service.address}/?order=newest`)
    await waitForList(page, '?order=newest', '30')
    assert.equal((await readStock(page))[0], '30')
    await page.locator('#rows tr').nth(1).click()
    await service.create({ name: 'Kim', categoryId: 8, status: 'pending' })
    await page.clock.fastForward(INTERVAL_MS)
    await waitForList(page, '?order=newest', '31')
    assert.equal((await readIds(page)).length, 20)
    assert.deepEqual(await page.locator('tr.new td:first-child').allTextContents(), ['31'])
    assert.deepEqual(await page.locator('tr[aria-current] td:first-child').allTextContents(), ['29'])
    assert.deepEqual(await readStock(page), ['31', '8', '1', '15', '7'])
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('tr.new').waitFor({ state: 'detached' })
  })

  test('is on a new page if the oldest animals come first and the last page is full', async t => {
    const service = await startWithAnimals(t, newAnimals(20))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(service.address)
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
    await page.goto(`${service.address}/?order=newest`)
    await readStock(page)
    await setHidden(page, true)
    await service.create({ name: 'Kim', categoryId: 8 })
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await page.clock.fastForward(10 * INTERVAL_MS)
    assert.deepEqual(requests, [])
    await setHidden(page, false)
    await waitForList(page, '?order=newest', '4')
  })
})
