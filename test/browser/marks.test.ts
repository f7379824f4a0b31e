// Working with the list on the catalogue page: marking animals, the status of several at once, the cursor, and a key that can only
// read.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { generateKey } from '../../src/api-key.ts'
import type { TestService } from '../support/service.ts'
import {
  changeAnimal,
  failAnswers,
  holdRequests,
  INTERVAL_MS,
  newAnimals,
  openAddForm,
  openAnimal,
  readInventory,
  readRows,
  rowOf,
  signIn,
  signOut,
  startWithAnimals,
  statusButton,
  useCatalogue,
  waitForAnnouncement,
  waitForCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

function shownIn(page: Page, text: string) {
  return page.locator('#marks').getByText(text, { exact: true })
}

async function statusesOf(service: TestService): Promise<(string | undefined)[]> {
  return (await service.store.listAnimals({ limit: 100 })).map(({ status }) => status)
}

async function waitForSelected(page: Page, id: number): Promise<void> {
  await page.waitForFunction(
    id => document.querySelector('tr[aria-current] .id')?.textContent === id,
    String(id),
  )
}

async function waitForFocusedRow(page: Page, id: number): Promise<void> {
  await page.waitForFunction(
    id => document.activeElement?.closest('tr')?.querySelector('.id')?.textContent === id,
    String(id),
  )
}

/** The id of the row that has the focus. */
function focusedRow(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.closest('tr')?.querySelector('.id')?.textContent)
}

suite('s and a number', () => {
  test('sets the status of the row with the cursor, and z takes it back', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service)
    await readRows(page)
    await press(page, 'j', 'j', 'Escape')
    await waitForFocusedRow(page, 4)
    await press(page, '3')
    await press(page, 's')
    await shownIn(page, 'Animal 4').waitFor()
    await press(page, 'Escape')
    await page.locator('#marks').waitFor({ state: 'hidden' })
    await press(page, 's', '3')
    await shownIn(page, 'Animal 4 is sold, was available').waitFor()
    assert.equal(await focusedRow(page), '4')
    assert.deepEqual(await statusesOf(service), ['available', 'available', 'available', 'sold', 'available'])
    await press(page, 's', '4')
    await shownIn(page, 'Animal 4 has no status, was sold').waitFor()
    await press(page, 'z')
    await shownIn(page, 'Animal 4 is sold again').waitFor()
    assert.equal((await statusesOf(service))[3], 'sold')
    await openAnimal(page, 2)
    await press(page, 's', '2')
    await page.locator('#details').getByText('was available').waitFor()
  })
})

suite('a key before the number', () => {
  test('is forgotten after another key, in a field, and when another animal is opened', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service)
    await readRows(page)
    page.on('request', request => assert.equal(request.method(), 'GET'))
    const bar = page.locator('#marks')
    const others = [
      () => press(page, '/'),
      () => press(page, 'n'),
      () => rowOf(page, 2).locator('.name').click(),
      () => press(page, 'f'),
    ]
    for (const other of others) {
      await rowOf(page, 4).locator('.name').focus()
      await press(page, 's')
      await shownIn(page, 'Animal 4').waitFor()
      await other()
      await bar.waitFor({ state: 'hidden' })
      await press(page, 'Escape')
    }
  })

  test('is forgotten when somebody removes the animal', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service, { isClockStopped: true })
    await rowOf(page, 4).locator('.name').focus()
    await press(page, 's')
    await shownIn(page, 'Animal 4').waitFor()
    await service.send('DELETE', '/v1/pets/4')
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('#marks').waitFor({ state: 'hidden' })
  })

  test('does nothing to the list behind the form for a new animal', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service)
    await rowOf(page, 4).locator('.name').focus()
    await press(page, 's', '3')
    await shownIn(page, 'Animal 4 is sold, was available').waitFor()
    page.on('request', request => assert.equal(request.method(), 'GET'))
    await openAddForm(page)
    await page.getByRole('radio', { name: 'pending' }).focus()
    await press(page, 'z', 'x', 'e', 's', '1')
    assert.equal(await page.locator('#rows :checked').count(), 0)
    assert.equal(await page.getByRole('heading', { name: 'New animal' }).isVisible(), true)
    assert.equal((await statusesOf(service))[3], 'sold')
  })
})

suite('marked animals', () => {
  test('get a status together, with one line of outcome and Undo', async t => {
    const service = await startWithAnimals(t, newAnimals(14, ['available', 'available', 'available', 'sold']))
    const { page } = await open(t, service, { path: '/?order=oldest', isClockStopped: true })
    await readInventory(page)
    for (let count = 0; count < 12; count++) await press(page, 'j', 'x')
    await press(page, 'Escape')
    await shownIn(page, '12 marked').waitFor()
    await changeAnimal(service, 1, { status: 'pending' })
    await changeAnimal(service, 2, { status: 'sold' })
    await service.send('DELETE', '/v1/pets/3')
    await page.getByRole('group', { name: 'Set the status' }).getByRole('button', { name: 'sold' }).click()
    await shownIn(
      page,
      '6 are sold, 4 were already sold, 1 became pending meanwhile, 1 was removed',
    ).waitFor()
    assert.equal(await page.locator('#rows :checked').count(), 0)
    await page.locator('#marks').getByRole('button', { name: 'Undo' }).click()
    await shownIn(page, '6 are back as they were').waitFor()
    assert.deepEqual((await statusesOf(service)).slice(0, 6), [
      'pending',
      'sold',
      'sold',
      'available',
      'available',
      'available',
    ])
  })

  test('are marked with their boxes, and Escape or Clear forgets them', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service)
    await readRows(page)
    await rowOf(page, 4).hover()
    await page.getByRole('checkbox', { name: 'Mark Animal 4' }).check()
    await page.getByRole('checkbox', { name: 'Mark Animal 2' }).check()
    assert.equal(await page.locator('#panel').isVisible(), false)
    await shownIn(page, '2 marked').waitFor()
    await press(page, 's', '2')
    await shownIn(page, '2 are pending').waitFor()
    await press(page, 'z')
    await shownIn(page, '2 are back as they were').waitFor()
    await page.getByRole('checkbox', { name: 'Mark Animal 4' }).check()
    await press(page, 'Escape')
    assert.equal(await page.locator('#rows :checked').count(), 0)
    await page.getByRole('checkbox', { name: 'Mark Animal 4' }).check()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.locator('#marks').waitFor({ state: 'hidden' })
  })

  test('are marked with the space bar, and a screen reader hears how many, and what the keys do', async t => {
    const { page } = await open(t, await startWithAnimals(t, newAnimals(3)))
    await readRows(page)
    await press(page, 'j', 'Escape', 'Space')
    await waitForAnnouncement(page, '1 marked')
    await press(page, 's')
    await waitForAnnouncement(
      page,
      '1 marked. Press 1 for available, 2 for pending, 3 for sold, 4 for no status',
    )
    await press(page, 'Escape', 'Space')
    await waitForAnnouncement(page, '0 marked')
  })

  test('whose change is taken back while one of them is in the panel are not said to have it any more', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await changeAnimal(service, 3, { status: 'sold' })
    await readRows(page)
    await press(page, 'j', 'x', 'j', 'x', 's', '3')
    await shownIn(page, '1 is sold, 1 was already sold').waitFor()
    await press(page, 'z')
    await page.locator('#marks').waitFor({ state: 'hidden' })
    await page.locator('#status-note').getByText('Animal 2 is available again').waitFor()
  })

  test('are changed only if they have the status that they had when they were marked', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service, { isClockStopped: true })
    await readRows(page)
    await press(page, 'j', 'x', 'j', 'x', 'j', 'x', 'Escape')
    await shownIn(page, '3 marked').waitFor()
    await changeAnimal(service, 4, { status: 'sold' })
    await page.clock.fastForward(INTERVAL_MS)
    await rowOf(page, 4).getByText('sold').waitFor()
    await press(page, 's', '2')
    await shownIn(page, '2 are pending, 1 was sold meanwhile').waitFor()
    assert.deepEqual(await statusesOf(service), ['available', 'available', 'pending', 'sold', 'pending'])
    // The same for the row with the cursor.
    await press(page, 'j', 'j', 'Escape')
    await waitForFocusedRow(page, 1)
    await press(page, 's')
    await changeAnimal(service, 1, { status: 'sold' })
    await page.clock.fastForward(INTERVAL_MS)
    await rowOf(page, 1).getByText('sold').waitFor()
    await press(page, '2')
    await shownIn(page, 'Animal 1 was sold meanwhile').waitFor()
    assert.equal((await statusesOf(service))[0], 'sold')
  })

  test('keep their marks while they wait, and the others are changed', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 3)
    const { arrived, release } = await holdRequests(page, 'PATCH')
    await statusButton(page, 'sold').click()
    await arrived
    await press(page, 'x', 'j', 'x', 'Escape', 's', '2')
    await shownIn(page, '1 marked').waitFor()
    release()
    await shownIn(page, '1 marked. 1 is pending, 1 still waits').waitFor()
    assert.deepEqual(await statusesOf(service), ['available', 'pending', 'sold'])
  })

  test('that could not be reached can be tried again', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await readRows(page)
    await page.route('**/v1/pets/2**', route =>
      route.fulfill({ status: 400, json: { code: 'invalid_request', message: 'No.', status: 400 } }),
    )
    await press(page, 'j', 'x', 'j', 'x', 'j', 'x', 'Escape', 's', '1')
    await shownIn(page, '3 were already available').waitFor()
    await press(page, 'j', 'x', 'k', 'x', 'k', 'x', 'Escape', 's', '3')
    await shownIn(page, '2 are sold, 1 was not changed. No.').waitFor()
    await page.unroute('**/v1/pets/2**')
    await page.locator('#marks').getByRole('button', { name: 'Try again' }).click()
    await shownIn(page, '3 are sold').waitFor()
    await press(page, 'z')
    await shownIn(page, '3 are back as they were').waitFor()
    assert.deepEqual(await statusesOf(service), ['available', 'available', 'available'])
  })

  test('that got no answer are told from those that were not changed', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await readRows(page)
    await failAnswers(page, 'PATCH', '**/v1/pets/2?**')
    await press(page, 'j', 'x', 'j', 'x', 'j', 'x', 'Escape', 's', '3')
    const advice = 'The server could not answer. Try again: nothing is done twice.'
    await shownIn(page, `2 are sold, 1 got no answer. ${advice}`).waitFor()
    await page.unroute('**/v1/pets/2?**')
    await page.locator('#marks').getByRole('button', { name: 'Try again' }).click()
    await shownIn(page, '3 are sold').waitFor()
  })

  test('keep their outcome when the key stops working and the user signs in again', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await readRows(page)
    await page.route('**/v1/pets/2?**', route =>
      route.fulfill({ status: 401, json: { code: 'unauthorized', message: 'No.', status: 401 } }),
    )
    await press(page, 'j', 'x', 'j', 'x', 'j', 'x', 'Escape', 's', '3')
    await page.getByText('This key stopped working').waitFor()
    await page.unroute('**/v1/pets/2?**')
    await signIn(page)
    await shownIn(page, '2 are sold, 1 was not changed. No.').waitFor()
    await page.locator('#marks').getByRole('button', { name: 'Try again' }).click()
    await shownIn(page, '3 are sold').waitFor()
  })

  test('are always shown with their boxes on a touch screen, large enough for a finger', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const context = { viewport: { width: 375, height: 700 }, hasTouch: true, isMobile: true }
    const { page } = await open(t, service, { context })
    await readRows(page)
    for (const box of await page.locator('#rows .box').all()) {
      const { width = 0, height = 0 } = (await box.boundingBox()) ?? {}
      assert.ok(width >= 40 && height >= 40, `${width} by ${height}`)
    }
    await page.locator('#rows .box').first().tap()
    await shownIn(page, '1 marked').waitFor()
    assert.equal(await page.locator('#panel').isVisible(), false)
  })
})

suite('the cursor', () => {
  test('goes on from the row that was left with Escape or focused last, and over removed rows and pages', async t => {
    const service = await startWithAnimals(t, newAnimals(45))
    const { page } = await open(t, service, { isClockStopped: true })
    await readInventory(page)
    await press(page, 'j', 'j', 'j')
    await waitForSelected(page, 43)
    await press(page, 'Escape', 'j')
    await waitForSelected(page, 42)
    await press(page, 'Escape')
    await page.locator('#rows .name').nth(9).focus()
    await press(page, 'k')
    await waitForSelected(page, 37)
    await service.send('DELETE', '/v1/pets/37')
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByRole('heading', { name: 'Animal 37 was removed' }).waitFor()
    await press(page, 'j')
    await waitForSelected(page, 36)
    await press(page, 'Escape', ']')
    await waitForList(page, '?before=26', '25')
    await press(page, 'j')
    await waitForSelected(page, 25)
    await press(page, 'k')
    await waitForSelected(page, 26)
  })

  test('makes the rows one stop of the Tab key, which leads on to the panel', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service)
    await readRows(page)
    await press(page, 'j', 'j')
    await waitForSelected(page, 4)
    await press(page, 'Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.closest('#panel') !== null), true)
    await press(page, 'Shift+Tab')
    assert.equal(await focusedRow(page), '4')
  })
})

suite('the focus', () => {
  test('goes to the row or to the title when what had it disappears', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 3)
    await statusButton(page, 'sold').focus()
    await page.goBack()
    await waitForFocusedRow(page, 3)
    await press(page, '/', 'Escape')
    await waitForFocusedRow(page, 3)
    await openAnimal(page, 4)
    await statusButton(page, 'sold').focus()
    await service.send('DELETE', '/v1/pets/4')
    await page.clock.fastForward(INTERVAL_MS)
    await page.waitForFunction(() => document.activeElement?.id === 'missing-title')
    // A removed row has the focus like any other.
    await press(page, 'k')
    await waitForFocusedRow(page, 5)
    await press(page, 'j')
    await waitForFocusedRow(page, 4)
  })

  test('goes to the row when Back closes the sheet of a phone', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service, { context: { viewport: { width: 375, height: 700 } } })
    await openAnimal(page, 3)
    await statusButton(page, 'sold').focus()
    await page.goBack()
    await waitForFocusedRow(page, 3)
  })
})

suite('a key that can only read', () => {
  async function createReadOnlyKey(service: TestService): Promise<string> {
    const key = generateKey({ name: 'r', environment: 'production', access: 'read', createdAt: new Date() })
    await service.store.createKey(key.apiKey)
    return key.secret
  }

  test('has no control and no shortcut that writes, until another key signs in', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service, { isSignedIn: false })
    const secret = await createReadOnlyKey(service)
    await signIn(page, secret)
    await waitForCatalogue(page)
    await page.locator('#bar').getByText('read-only').waitFor()
    page.on('request', request => assert.equal(request.method(), 'GET'))
    await press(page, 'n', 'j', 'e', 'x', 's', '3')
    await waitForSelected(page, 5)
    await page.locator('#details-status').getByText('available').waitFor()
    assert.deepEqual(
      await page.locator('#panel button:visible').evaluateAll(all => all.map(button => button.ariaLabel)),
      ['Copy link', 'Close', 'Copy id', 'Copy JSON'],
    )
    assert.equal(await page.locator('.writes:visible').count(), 0)
    await press(page, '?')
    assert.equal(await page.getByText('Undo the last change of status').isVisible(), false)
    await press(page, 'Escape')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByText(`Key ${secret.slice(0, 17)}…`).waitFor()
    await press(page, 'Escape')
    page.removeAllListeners('request')
    await signOut(page)
    await signIn(page)
    await openAnimal(page, 4)
    assert.equal(await page.getByText('read-only').isVisible(), false)
    await statusButton(page, 'sold').click()
    await page.getByText('was available').waitFor()
  })

  test('is noticed by an answer too, and keeps what was typed', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service)
    await openAddForm(page)
    await page.getByRole('textbox', { name: 'Name' }).fill('Kim')
    await page.getByRole('textbox', { name: 'Category' }).fill('8')
    await page.route('**/v1/pets', route =>
      route.fulfill({
        status: 403,
        json: { code: 'forbidden', message: 'This key can only read.', status: 403 },
      }),
    )
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.locator('#bar').getByText('read-only').waitFor()
    await page.getByText('This key may only read. Nothing was stored.').waitFor()
    assert.equal(await page.locator('#panel').isVisible(), false)
    await waitForFocusedRow(page, 5)
    assert.equal(await page.locator('.writes:visible').count(), 0)
  })

  test('of the other environment is told from one of this', async t => {
    const service = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, service, { isSignedIn: false })
    await signIn(page, 'as_read_test_0123456789')
    await page.getByText('This key is for staging. This page is for production.').waitFor()
  })
})
