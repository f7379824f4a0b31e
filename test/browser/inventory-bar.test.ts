// The inventory on the catalogue page, and new animals that appear by themselves.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  changeAnimal,
  INTERVAL_MS,
  newAnimals,
  openAnimal,
  readIds,
  readInventory,
  readRows,
  rowOf,
  setHidden,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
  waitForStatus,
} from './catalogue-page.ts'

const open = useCatalogue()

const STATUSES = ['available', 'sold', 'sold', undefined] as const

test('the inventory is that of the whole catalogue, whatever the list shows', async t => {
  const service = await startWithAnimals(t, newAnimals(1_204, STATUSES))
  const { page } = await open(t, service, { path: '/?status=sold&limit=10' })
  assert.deepEqual(await readInventory(page), ['1,204', '301', '0', '602', '301'])
  await page.getByText('of 602').waitFor()
  assert.equal(
    await page.locator('#inventory-bar').getAttribute('aria-label'),
    '1,204 animals: 301 available, 0 pending, 602 sold, 301 without a status.',
  )
  const widths = await page
    .locator('#inventory-bar rect')
    .evaluateAll(parts => parts.map(part => [part.getAttribute('x'), part.getAttribute('width')].join()))
  assert.deepEqual(widths, ['0,301', '301,0', '301,602', '903,301'])
})

suite('an animal that somebody else adds', () => {
  test('moves no row, is counted at once, and appears when the user asks for it', async t => {
    const service = await startWithAnimals(t, newAnimals(30, STATUSES))
    const { page } = await open(t, service, { isClockStopped: true })
    await waitForList(page, '', '30')
    assert.equal((await readInventory(page))[0], '30')
    await openAnimal(page, 29)
    const place = await rowOf(page, 29).boundingBox()
    for (const name of ['Kim', 'Rex', 'Mina'])
      await service.create({ name, categoryId: 8, status: 'pending' })
    await page.clock.fastForward(INTERVAL_MS)
    const button = page.getByRole('button', { name: '3 new animals' })
    await button.waitFor()
    assert.equal((await readIds(page))[0], '30')
    assert.deepEqual(await rowOf(page, 29).boundingBox(), place)
    assert.deepEqual(await readInventory(page), ['33', '8', '3', '15', '7'])
    await page.getByText('20 of 33', { exact: true }).waitFor()
    await button.click()
    await waitForList(page, '', '33')
    assert.deepEqual(await page.locator('tr.new .id').allTextContents(), ['33', '32', '31'])
    assert.equal(await page.locator('#details-id').textContent(), '29')
    assert.equal(await button.count(), 0)
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('tr.new').first().waitFor({ state: 'detached' })
  })

  test('moves no row on a small screen either', async t => {
    const service = await startWithAnimals(t, newAnimals(30, STATUSES))
    const { page } = await open(t, service, { context: { viewport: { width: 375, height: 700 } } })
    await stopClock(page)
    await page.goto(service.address)
    await waitForList(page, '', '30')
    await readInventory(page)
    const place = await rowOf(page, 29).boundingBox()
    await service.create({ name: 'Kim', categoryId: 8 })
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByRole('button', { name: '1 new animal' }).waitFor()
    assert.deepEqual(await rowOf(page, 29).boundingBox(), place)
  })

  test('appears below the others if the oldest come first and the page has room, otherwise on a new page', async t => {
    const service = await startWithAnimals(t, newAnimals(19))
    const { page } = await open(t, service, { path: '/?order=oldest', isClockStopped: true })
    await readInventory(page)
    await service.create({ name: 'Kim', categoryId: 8 })
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByRole('button', { name: '1 new animal' }).click()
    await page.locator('#rows tr').nth(19).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Next' }).count(), 0)
    await service.create({ name: 'Rex', categoryId: 8 })
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByRole('link', { name: 'Next' }).waitFor()
  })

  test('is looked for only while the tab is visible, and at once when it becomes visible', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await readInventory(page)
    await setHidden(page, true)
    await service.create({ name: 'Kim', categoryId: 8 })
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    await page.clock.fastForward(10 * INTERVAL_MS)
    assert.deepEqual(requests, [])
    await setHidden(page, false)
    await page.getByRole('button', { name: '1 new animal' }).waitFor()
  })
})

suite('what others change', () => {
  test('appears in its row and in the panel, marked for a while', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service, { isClockStopped: true })
    await readInventory(page)
    await openAnimal(page, 29)
    await changeAnimal(service, 29, { name: 'Bella', status: 'sold' })
    await changeAnimal(service, 28, { categoryId: 99 })
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByRole('heading', { name: 'Bella' }).waitFor()
    await waitForStatus(page, 'sold')
    assert.deepEqual((await readRows(page)).slice(1, 3), [
      ['29', 'Bella', '28', 'sold'],
      ['28', 'Animal 28', '99', 'available'],
    ])
    assert.deepEqual(await page.locator('tr.new .id').allTextContents(), ['29', '28'])
    assert.equal(
      await page.evaluate(() => document.activeElement?.closest('tr')?.querySelector('.id')?.textContent),
      '29',
    )
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('tr.new').first().waitFor({ state: 'detached' })
  })

  test('mutes a row that leaves the list, and the panel says what became of it', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service, { path: '/?status=available', isClockStopped: true })
    await readInventory(page)
    await openAnimal(page, 29)
    await changeAnimal(service, 29, { status: 'sold' })
    await service.send('DELETE', '/v1/pets/28')
    await page.clock.fastForward(INTERVAL_MS)
    await rowOf(page, 28).getByText('no longer in this list').waitFor()
    await rowOf(page, 29).getByText('no longer in this list').waitFor()
    await page.getByText('of 28').waitFor()
    await page.clock.fastForward(INTERVAL_MS)
    await waitForStatus(page, 'sold')
    await rowOf(page, 29).getByText('sold').waitFor()
    await rowOf(page, 28).locator('.name').click()
    await page.getByRole('heading', { name: 'Animal 28 was removed' }).waitFor()
    await rowOf(page, 28).getByText('removed').waitFor()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'Animal 27' }).waitFor()
  })

  test('is followed in the panel also when its animal is on another page', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service, { path: '/?animal=5', isClockStopped: true })
    await page.getByRole('heading', { name: 'Animal 5' }).waitFor()
    await readInventory(page)
    await changeAnimal(service, 5, { status: 'sold' })
    const read = page.waitForResponse('**/v1/pets?**')
    await page.clock.fastForward(INTERVAL_MS)
    await read
    await page.clock.fastForward(INTERVAL_MS)
    await waitForStatus(page, 'sold')
  })

  test('costs one page and the counts at each interval', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service, { path: '/?animal=5', isClockStopped: true })
    await readInventory(page)
    await page.getByRole('heading', { name: 'Animal 5' }).waitFor()
    const requests: string[] = []
    page.on('request', request => requests.push(new URL(request.url()).pathname))
    for (let times = 0; times < 3; times++) {
      const read = page.waitForResponse('**/v1/pets?**')
      await page.clock.fastForward(INTERVAL_MS)
      await (await read).finished()
    }
    assert.deepEqual(requests, Array(3).fill(['/v1/store/inventory', '/v1/pets']).flat())
  })
})
