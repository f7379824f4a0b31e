// The status of an animal on the catalogue page: set with one press in the panel, taken back, and while colleagues do the same.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  changeAnimal,
  failAnswers,
  holdRequests,
  INTERVAL_MS,
  loseAnswers,
  newAnimals,
  openAnimal,
  readInventory,
  readRows,
  rowOf,
  startWithAnimals,
  statusButton,
  useCatalogue,
  waitForAnnouncement,
  waitForList,
  waitForStatus,
} from './catalogue-page.ts'

const open = useCatalogue()

suite('one press', () => {
  test('sets the status in the panel, the row and the counts, says so, and can be taken back', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    const requests: string[] = []
    page.on('request', request => requests.push(`${request.method()} ${new URL(request.url()).search}`))
    await statusButton(page, 'sold').click()
    await waitForStatus(page, 'sold')
    assert.ok(requests.includes('PATCH ?ifStatus=available'), String(requests))
    await waitForAnnouncement(page, 'Animal 2 is sold')
    assert.equal(await statusButton(page, 'sold').evaluate(button => button === document.activeElement), true)
    assert.deepEqual((await readRows(page))[1], ['2', 'Animal 2', '1', 'sold'])
    await page.locator('#filter .sold', { hasText: '1' }).waitFor()
    assert.deepEqual(await readInventory(page), ['3', '2', '0', '1', '0'])
    assert.match(await page.locator('#details-json').innerText(), /"status": "sold"/)
    await page.getByText('was available').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await waitForStatus(page, 'available')
    await waitForAnnouncement(page, 'Animal 2 is available again')
    assert.ok(requests.includes('PATCH ?ifStatus=sold'), String(requests))
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    assert.notEqual(await page.evaluate(() => document.activeElement), null)
    await statusButton(page, 'no status').click()
    await waitForStatus(page, 'no status')
    await statusButton(page, 'pending').click()
    await page.getByText('had no status').waitFor()
    assert.equal((await service.store.listAnimals({ limit: 3 }))[1]?.status, 'pending')
  })

  test('shows that it waits, and a second one does nothing meanwhile', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    let writes = 0
    page.on('request', request => {
      if (request.method() === 'PATCH') writes++
    })
    const { arrived, release } = await holdRequests(page, 'PATCH')
    await statusButton(page, 'sold').click()
    await arrived
    await page.locator('#status .sold.waiting').waitFor()
    assert.equal(await rowOf(page, 2).getAttribute('aria-busy'), 'true')
    await statusButton(page, 'sold').dispatchEvent('click')
    await statusButton(page, 'pending').dispatchEvent('click')
    release()
    await waitForStatus(page, 'sold')
    assert.equal(await rowOf(page, 2).getAttribute('aria-busy'), null)
    assert.equal(writes, 1)
  })

  test('says if the animal has the status already, and arrow keys write nothing', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    page.on('request', request => assert.equal(request.method(), 'GET'))
    await statusButton(page, 'available').click()
    await page.locator('#details').getByText('Animal 2 is available already').waitFor()
    await waitForAnnouncement(page, 'Animal 2 is available already')
    await page.keyboard.press('ArrowRight')
    await waitForStatus(page, 'available')
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  test('can be taken back with z until the next navigation, also when the panel is closed', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service)
    await openAnimal(page, 29)
    await statusButton(page, 'sold').click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.keyboard.press('Escape')
    await openAnimal(page, 28)
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    await page.keyboard.press('z')
    await waitForAnnouncement(page, 'Animal 29 is available again')
    await rowOf(page, 29).getByText('available').waitFor()
    await statusButton(page, 'sold').click()
    const undo = page.locator('#undo')
    await undo.waitFor()
    await page.keyboard.press(']')
    await waitForList(page, '?before=11', '10')
    // The key works until the next navigation, and the panel keeps its button until it closes.
    await page.keyboard.press('z')
    await undo.click()
    await waitForStatus(page, 'available')
  })
})

suite('a change that waits', () => {
  test('says so after a second, in the panel or above the table', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    const { arrived, release } = await holdRequests(page, 'PATCH')
    await statusButton(page, 'sold').click()
    await arrived
    await page.clock.fastForward(1_000)
    await page.locator('#details').getByText('Still waiting for the server …').waitFor()
    await waitForAnnouncement(page, 'Still waiting for the server …')
    await page.keyboard.press('Escape')
    await page.locator('#marks').getByText('Still waiting for the server …').waitFor()
    release()
    await rowOf(page, 2).getByText('sold').waitFor()
    await page.getByText('Still waiting').first().waitFor({ state: 'hidden' })
  })
})

suite('a colleague who is faster', () => {
  test('keeps the status, and the panel says which', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await changeAnimal(service, 2, { status: 'sold' })
    await statusButton(page, 'pending').click()
    await page.locator('#details').getByText('Animal 2 was sold meanwhile').waitFor()
    await waitForStatus(page, 'sold')
    await rowOf(page, 2).getByText('sold').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  test('who wanted the same is no conflict, and leaves nothing to undo', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await changeAnimal(service, 2, { status: 'sold' })
    await statusButton(page, 'sold').click()
    await page.locator('#details').getByText('Animal 2 is sold already').waitFor()
    await page.keyboard.press('z')
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  test('is not undone', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await statusButton(page, 'sold').click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await changeAnimal(service, 2, { status: 'pending' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('#details').getByText('Animal 2 became pending meanwhile').waitFor()
    await waitForStatus(page, 'pending')
  })

  test('is not undone either who came to the same status in the end', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await statusButton(page, 'sold').click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    for (const status of ['available', 'sold']) {
      await changeAnimal(service, 2, { status })
      await page.clock.fastForward(INTERVAL_MS)
      await waitForStatus(page, status)
    }
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
    page.on('request', request => assert.equal(request.method(), 'GET'))
    await page.keyboard.press('z')
    await statusButton(page, 'sold').click()
    await page.locator('#details').getByText('Animal 2 is sold already').waitFor()
  })

  test('may have removed the animal', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await service.send('DELETE', '/v1/pets/2')
    await statusButton(page, 'sold').click()
    await page.getByRole('heading', { name: 'Animal 2 was removed' }).waitFor()
    await rowOf(page, 2).getByText('removed').waitFor()
    await waitForAnnouncement(page, 'Animal 2 was removed meanwhile')
  })
})

suite('a lost answer', () => {
  test('is asked for again with the same key, so nobody is told of a colleague', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    const keys = new Set<string | undefined>()
    page.on('request', request => {
      if (request.method() === 'PATCH') keys.add(request.headers()['idempotency-key'])
    })
    await loseAnswers(page, 'PATCH')
    await statusButton(page, 'sold').click()
    await page.locator('#details').getByText('The server could not be reached.').waitFor()
    await page.unroute('**/v1/pets/**')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('was available').waitFor()
    await waitForStatus(page, 'sold')
    assert.equal(keys.size, 1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await waitForStatus(page, 'available')
  })

  test('is asked for again when the same button is pressed, also after the page knows the result', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    await loseAnswers(page, 'PATCH')
    await statusButton(page, 'sold').click()
    await page.locator('#details').getByText('The server could not be reached.').waitFor()
    await page.unroute('**/v1/pets/**')
    await waitForStatus(page, 'sold')
    await statusButton(page, 'sold').click()
    await page.getByText('was available').waitFor()
  })

  test('is no news of a colleague when the user sets another status, or removes the animal', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    for (const id of [2, 1]) {
      await openAnimal(page, id)
      await failAnswers(page, 'PATCH')
      await statusButton(page, 'sold').click()
      const text =
        'The server could not answer. The animal may be changed nevertheless. Try again: nothing is done twice.'
      await page.locator('#details').getByText(text).waitFor()
      await page.unroute('**/v1/pets/**')
      assert.equal((await service.store.listAnimals({ limit: 3 }))[id - 1]?.status, 'sold')
      if (id === 2) {
        await statusButton(page, 'pending').click()
        await page.getByText('was available').waitFor()
        await waitForStatus(page, 'pending')
      } else {
        await page.getByRole('button', { name: 'Remove', exact: true }).click()
        await page.getByRole('button', { name: 'Remove', exact: true }).click()
        await page.getByRole('heading', { name: 'Animal 1 was removed' }).waitFor()
      }
    }
  })

  test('hides nothing that a colleague has done', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await page.route('**/v1/pets/**', route => route.fulfill({ status: 500, body: '' }))
    await statusButton(page, 'sold').click()
    await page.locator('#details').getByText('The animal may be changed nevertheless.').waitFor()
    await page.unroute('**/v1/pets/**')
    await changeAnimal(service, 2, { status: 'sold' })
    await statusButton(page, 'pending').click()
    await page.locator('#details').getByText('Animal 2 was sold meanwhile').waitFor()
    assert.equal((await service.store.listAnimals({ limit: 3 }))[1]?.status, 'sold')
  })

  test('is not spoken of any more when the animal turns out to have the status', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await failAnswers(page, 'PATCH')
    await statusButton(page, 'sold').click()
    const note = page.locator('#details').getByText('The animal may be changed nevertheless.')
    await note.waitFor()
    await page.clock.fastForward(INTERVAL_MS)
    await waitForStatus(page, 'sold')
    await page.locator('#status-note').getByText('is sold now').waitFor()
    assert.equal(await note.isVisible(), false)
    assert.equal(await page.getByRole('button', { name: 'Try again' }).isVisible(), false)
  })

  test('of an old change does not hide what happened since', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await page.route('**/v1/pets/**', async route => {
      await route.fetch()
      await route.fulfill({ status: 400, json: { code: 'invalid_request', message: 'No.', status: 400 } })
    })
    await statusButton(page, 'sold').click()
    await page.locator('#details').getByText('No.').waitFor()
    await page.unroute('**/v1/pets/**')
    await changeAnimal(service, 2, { status: 'pending' })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('#details').getByText('Animal 2 became pending meanwhile').waitFor()
  })
})

suite('an animal that leaves the filter', () => {
  test('stays in its row, muted, until the next navigation', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service, { path: '/?status=available', isClockStopped: true })
    await readInventory(page)
    await openAnimal(page, 29)
    await statusButton(page, 'sold').click()
    await waitForStatus(page, 'sold')
    await page.locator('#rows tr.left').waitFor()
    await page.getByText('19 of 29', { exact: true }).waitFor()
    assert.deepEqual((await readRows(page))[1], ['29', 'Animal 29', '28', 'sold'])
    const read = page.waitForResponse('**/v1/pets?**')
    await page.clock.fastForward(INTERVAL_MS)
    await read
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('#rows tr.left').count(), 1)
    assert.equal((await readRows(page)).length, 20)
    await page.keyboard.press(']')
    await waitForList(page, '?status=available&before=11', '10')
    await page.keyboard.press('[')
    await waitForList(page, '?status=available', '30')
    assert.equal(await page.locator('#rows tr.left').count(), 0)
  })
})
