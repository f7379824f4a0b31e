// What the catalogue page shows when there is nothing to list, the URL is invalid, or the server cannot be reached.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { freePort } from '../support/postgres.ts'
import { shared, startTestService, temporaryFolder } from '../support/service.ts'
import {
  failRequests,
  holdRequests,
  newAnimals,
  readIds,
  readInventory,
  readRows,
  signOut,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()

/** How often the page looks for new animals (src/web/browser/catalogue.ts). */
const INTERVAL_MS = 5_000

suite('the catalogue page', () => {
  const service = shared(scope => startWithAnimals(scope, newAnimals(30)))

  test('says why a list is empty', async t => {
    const service = await startTestService(t)
    const { page } = await open(t, service)
    await page.getByText('The catalogue is empty.').waitFor()
    await page.goto(`${service.address}/?status=sold`)
    await page.getByText('No animal has this status now.').waitFor()
    await page.getByRole('link', { name: 'Show all animals' }).click()
    await page.getByText('The catalogue is empty').waitFor()
    await page.goto(`${service.address}/?after=5`)
    await page.getByText('No animal comes after id 5.').waitFor()
    await page.getByRole('link', { name: 'Show the first page' }).click()
    await page.getByText('The catalogue is empty').waitFor()
  })

  test('shows placeholder rows while it loads, and a notice after three seconds', async t => {
    const { page } = await open(t, service())
    const { arrived, release } = await holdRequests(page, 'GET')
    await stopClock(page)
    await page.goto(`${service().address}/?limit=50`)
    await arrived
    assert.equal(await page.locator('tr.skeleton').count(), 20)
    assert.equal(await page.locator('table').getAttribute('aria-busy'), 'true')
    assert.equal(await page.getByText('longer than usual').isVisible(), false)
    await page.clock.fastForward(3_000)
    await page.getByText('This takes longer than usual. Still waiting …').waitFor()
    release()
    assert.equal((await readRows(page)).length, 30)
    await page.getByText('longer than usual').waitFor({ state: 'hidden' })
  })

  test('says in its own words what is wrong with an address, and leads on', async t => {
    const { page } = await open(t, service())
    for (const [name, value, expected] of [
      ['limit', '500', 'a number from 1 to 100'],
      ['limit', 'x', 'a number from 1 to 100'],
      ['after', 'x', 'an id'],
      ['before', 'x', 'an id'],
      ['order', 'random', 'newest or oldest'],
      ['status', 'lost', 'available, pending, sold or none'],
    ]) {
      await page.goto(`${service().address}/?${name}=${value}`)
      await page.getByText(`${name} in this address must be ${expected}, not “${value}”.`).waitFor()
      await page.getByRole('link', { name: 'Show all animals' }).click()
      await waitForList(page, '', '30')
    }
  })

  test('shows the loaded rows while the server is down, and continues when it is back', async t => {
    const port = await freePort()
    const database = { kind: 'sqlite', path: join(temporaryFolder(), 'animals.db') } as const
    const service = await startWithAnimals(t, newAnimals(30), { port, database })
    const { page } = await open(t, service, { path: '/?order=oldest' })
    await readRows(page)
    await service.stop()
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('The server cannot be reached. Trying again').waitFor()
    assert.equal((await page.locator('#rows tr').count()) > 0, true)
    await startTestService(t, { port, database })
    await waitForList(page, '?order=oldest&after=20', '21')
    await page.getByText('cannot be reached').waitFor({ state: 'hidden' })
  })

  for (const [status, code, message] of [
    [503, 'unavailable', 'The server cannot answer right now.'],
    [429, 'rate_limited', 'This key has sent too many requests.'],
  ] as const) {
    test(`says when the server answers ${status}, and retries until the user signs out`, async t => {
      const { page } = await open(t, service())
      // Otherwise the page might retry by itself before the click.
      await stopClock(page)
      await page.goto(`${service().address}/?order=oldest`)
      await readRows(page)
      await failRequests(page, status, code)
      await page.getByRole('link', { name: 'Next' }).click()
      await page.getByText(`${message} Trying again …`).waitFor()
      await page.unroute('**/v1/**')
      await page.getByRole('button', { name: 'Try now' }).click()
      await waitForList(page, '?order=oldest&after=20', '21')
      await failRequests(page, status, code)
      await page.getByRole('link', { name: 'Previous' }).click()
      await page.getByText(message).waitFor()
      await signOut(page)
      await page.getByText(message).waitFor({ state: 'hidden' })
    })
  }

  test('counts down the seconds that the server asks for', async t => {
    const { page } = await open(t, service(), { isClockStopped: true })
    await readRows(page)
    await failRequests(page, 429, 'rate_limited', { 'retry-after': '20' })
    await page.getByRole('link', { name: 'Next' }).click()
    const notice = page.locator('#connection-notice')
    await notice.getByText('20 s').waitFor()
    await page.unroute('**/v1/**')
    await page.clock.fastForward(12_000)
    await notice.getByText('8 s').waitFor()
    assert.equal(await notice.getByRole('button', { name: 'Try now' }).isVisible(), true)
    await page.clock.fastForward(8_000)
    await waitForList(page, '?before=11', '10')
    await notice.waitFor({ state: 'hidden' })
  })

  test('says that the server is away although the user has requested nothing, until it is back', async t => {
    const { page } = await open(t, service())
    await stopClock(page)
    await page.goto(service().address)
    await readInventory(page)
    const ids = await readIds(page)
    await failRequests(page, 503, 'unavailable')
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByText('The server cannot answer right now. Trying again').waitFor()
    assert.deepEqual(await readIds(page), ids)
    await page.unroute('**/v1/**')
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByText('Trying again').waitFor({ state: 'hidden' })
  })

  test('says when the browser is offline, and continues when the network is back', async t => {
    const { page, context } = await open(t, service(), { path: '/?order=oldest' })
    await readRows(page)
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    const failed = page.waitForEvent('requestfailed')
    await page.getByRole('link', { name: 'Next' }).click()
    await failed
    await page.getByRole('button', { name: 'Try now' }).waitFor()
    assert.equal((await page.locator('#rows .id').count()) > 0, true)
    // The rows are no answer to another filter.
    await page.getByRole('button', { name: 'available' }).click()
    await page.locator('tr.skeleton').first().waitFor()
    assert.equal(await page.locator('#rows .id').count(), 0)
    await context.setOffline(false)
    await waitForList(page, '?status=available&order=oldest', '1')
    await page.getByText('You are offline.').waitFor({ state: 'hidden' })
  })
})
