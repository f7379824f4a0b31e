// The stock at a glance on the catalogue page, and new animals that appear by themselves.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared } from '../support/service.ts'
import {
  countAgain,
  newAnimals,
  readIds,
  readStock,
  signIn,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

/** How often the page looks for new animals (src/web/browser/catalogue.ts). */
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

/** The requests of the count, from now on. */
function watchCount(page: Page): string[] {
  const requests: string[] = []
  page.on('request', request => {
    if (request.url().includes('limit=100')) requests.push(new URL(request.url()).search)
  })
  return requests
}

suite('the stock', () => {
  const service = shared(scope => startWithAnimals(scope, newAnimals(1_204, STATUSES)))

  test('is counted in the whole catalogue, one request at a time, whatever the list shows', async t => {
    const { page } = await open(t, service(), { path: '/?status=sold&limit=10' })
    const url = page.url()
    await stopClock(page)
    let inFlight = 0
    let mostInFlight = 0
    await page.route(/limit=100/, async route => {
      inFlight++
      mostInFlight = Math.max(mostInFlight, inFlight)
      const response = await route.fetch()
      inFlight--
      await route.fulfill({ response })
    })
    await page.goto('about:blank')
    const requests = watchCount(page)
    await countAgain(page, url)
    assert.deepEqual(await readStock(page), ['1,204', '301', '0', '602', '301'])
    assert.deepEqual([requests.length, mostInFlight], [13, 1])
    assert.equal(
      await page.locator('#stock-bar').getAttribute('aria-label'),
      '1,204 animals: 301 available, 0 pending, 602 sold, 301 without a status.',
    )
    const widths = await page
      .locator('#stock-bar rect')
      .evaluateAll(bars => bars.map(bar => bar.getAttribute('width')))
    assert.deepEqual(widths, ['250.0', '0.0', '500.0', '250.0'])
  })

  test('is not counted again after a reload: the count continues where it was', async t => {
    const { page } = await open(t, service())
    await readStock(page)
    await stopClock(page)
    await page.goto('about:blank')
    const requests = watchCount(page)
    const continued = page.waitForResponse(/limit=100/)
    await page.goto(service().address)
    await continued
    assert.deepEqual(await readStock(page), ['1,204', '301', '0', '602', '301'])
    assert.deepEqual(requests, ['?limit=100&after=1154'])
  })

  test('is counted again if the address has another catalogue now', async t => {
    const { page } = await open(t, service())
    await readStock(page)
    await page.goto(`${service().address}/livez`)
    await page.evaluate(() => {
      const animals = ['7', '9999'].map(id => ({ id, name: 'Kim', categoryId: '7' }))
      sessionStorage.setItem(
        'animal-store-stock-production:/',
        JSON.stringify({ state: 'complete', animals }),
      )
    })
    await page.goto(service().address)
    await page.locator('#filter').getByText('All 1,204').waitFor()
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
    await countAgain(page, service().address)
    await limited
    await page.getByText('500 …').waitFor()
    isLimited = false
    const requests = watchCount(page)
    await page.clock.fastForward(19_000)
    assert.deepEqual(requests, [])
    await page.clock.fastForward(2_000)
    await readStock(page)
  })

  test('counts only the first animals of a very large catalogue, and says so', async t => {
    const service = await startWithAnimals(t, newAnimals(20_001, STATUSES))
    const { page } = await open(t, service)
    await page.locator('#stock[data-state=capped]').waitFor({ timeout: 60_000 })
    assert.equal(await page.locator('#stock-note').textContent(), 'the first 20,000 counted')
    assert.deepEqual(await page.locator('#filter b').allTextContents(), [
      ...['20,000+', '5,000+', '0+', '10,000+', '5,000+'],
    ])
    await page.getByLabel('Search or id').fill('animal 20000')
    await page.getByText('1 found. Searched the first 20,000').waitFor()
  })

  test('leaves half of the rate limit to the user while it is counted', async t => {
    const rateLimit = { requests: 30, windowSeconds: 60 }
    const service = await startWithAnimals(t, newAnimals(3_000), { rateLimit })
    const { page } = await open(t, service, { isSignedIn: false })
    await stopClock(page)
    await page.reload()
    const requests = watchCount(page)
    const isHalf = page.waitForResponse(response => /;r=15;/.test(response.headers().ratelimit ?? ''))
    await signIn(page)
    await isHalf
    const before = requests.length
    await page.getByRole('link', { name: 'Next' }).click()
    await waitForList(page, '?after=20', '21')
    assert.equal(requests.length, before, 'the count has used the half that the user needs')
    const continued = page.waitForRequest(/limit=100/)
    await page.clock.fastForward(10_000)
    await continued
  })
})

suite('an animal that somebody else adds', () => {
  test('appears although it was added between the load of the list and the end of the count', async t => {
    const service = await startWithAnimals(t, newAnimals(150, STATUSES))
    const { page } = await open(t, service)
    await stopClock(page)
    for (const search of ['?order=newest', '?status=pending&order=newest']) {
      await page.goto('about:blank')
      const held = Promise.withResolvers<void>()
      await page.route(/limit=100/, async route => {
        await held.promise
        await route.continue()
      })
      await countAgain(page, `${service.address}/${search}`)
      await page.locator('table[aria-busy=false]').waitFor({ state: 'attached' })
      const { json } = await service.create({ name: 'Kim', categoryId: 8, status: 'pending' })
      held.resolve()
      await waitForList(page, search, String((json as { id: bigint }).id))
      await page.unroute(/limit=100/)
    }
  })

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
