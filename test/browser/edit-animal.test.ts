// The form on the catalogue page that edits an animal, and removing one.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { TestService } from '../support/service.ts'
import {
  changeAnimal,
  failRequests,
  holdRequests,
  INTERVAL_MS,
  loseAnswers,
  newAnimals,
  openAddForm,
  openAnimal,
  readRows,
  rowOf,
  signIn,
  startWithAnimals,
  statusButton,
  stopClock,
  useCatalogue,
  waitForAnnouncement,
  waitForStatus,
} from './catalogue-page.ts'

const open = useCatalogue()

function nameField(page: Page) {
  return page.getByRole('textbox', { name: 'Name' })
}

function categoryField(page: Page) {
  return page.getByRole('textbox', { name: 'Category' })
}

function saveButton(page: Page) {
  return page.getByRole('button', { name: 'Save', exact: true })
}

/** Opens the form for this animal, when it has been read. */
async function openForm(page: Page, id: number): Promise<void> {
  await openAnimal(page, id)
  const read = page.waitForResponse(response => response.request().method() === 'PATCH')
  await page.keyboard.press('e')
  await read
  await page.getByRole('heading', { name: `Edit` }).waitFor()
}

async function readAnimal(service: TestService, id: bigint) {
  const [animal] = await service.store.listAnimals({ limit: 1, after: id - 1n })
  return animal
}

/** Remembers the bodies of the changes that the page sends. */
function watchChanges(page: Page): string[] {
  const bodies: string[] = []
  page.on('request', request => {
    if (request.method() === 'PATCH') bodies.push(request.postData() ?? '')
  })
  return bodies
}

suite('editing', () => {
  test('shows the animal as it is now, and sends only what was changed', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await readRows(page)
    await changeAnimal(service, 2, { categoryId: 77 })
    const bodies = watchChanges(page)
    await openForm(page, 2)
    await page.waitForFunction(
      () => (document.querySelector('#edit-category') as HTMLInputElement).value === '77',
    )
    assert.equal(await nameField(page).evaluate(field => field === document.activeElement), true)
    await nameField(page).fill('Bella')
    await saveButton(page).click()
    await page.getByRole('heading', { name: 'Bella', exact: true }).waitFor()
    await waitForAnnouncement(page, 'Saved Bella')
    assert.deepEqual(bodies, ['{}', '{"name":"Bella"}'])
    assert.deepEqual((await readRows(page))[1], ['2', 'Bella', '77', 'available'])
    assert.deepEqual(await readAnimal(service, 2n), {
      id: 2n,
      name: 'Bella',
      categoryId: 77n,
      status: 'available',
    })
    assert.equal(
      await page.evaluate(() => document.activeElement?.closest('tr')?.querySelector('.id')?.textContent),
      '2',
    )
  })

  test('writes nothing if nothing was changed, and says what is wrong with a field', async t => {
    const service = await startWithAnimals(t, [{ name: 'two\nlines', categoryId: 5n }])
    const { page } = await open(t, service)
    const bodies = watchChanges(page)
    await openForm(page, 1)
    await categoryField(page).fill('seven')
    await saveButton(page).click()
    await page.getByText('Enter a whole number, such as 7.').waitFor()
    await categoryField(page).fill(' +5')
    await saveButton(page).click()
    await page.locator('#details').waitFor()
    assert.deepEqual(bodies, ['{}'])
    assert.equal((await readAnimal(service, 1n))?.name, 'two\nlines')
  })

  test('keeps what somebody else has changed in another field', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Bella')
    await changeAnimal(service, 2, { categoryId: 77, status: 'sold' })
    await saveButton(page).click()
    await page.getByRole('heading', { name: 'Bella', exact: true }).waitFor()
    assert.deepEqual(await readAnimal(service, 2n), {
      id: 2n,
      name: 'Bella',
      categoryId: 77n,
      status: 'sold',
    })
  })

  test('asks about a field that both have changed: their value can be taken, and nothing is stored before', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Mine')
    await categoryField(page).fill('5')
    await changeAnimal(service, 2, { name: 'Theirs' })
    await saveButton(page).click()
    await page.getByText('Meanwhile somebody has changed it to “Theirs”.').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Save mine')
    await page.getByRole('button', { name: 'Take theirs' }).click()
    assert.equal(await nameField(page).inputValue(), 'Theirs')
    assert.equal((await readAnimal(service, 2n))?.categoryId, 1n)
    await saveButton(page).click()
    await page.getByRole('heading', { name: 'Theirs', exact: true }).waitFor()
    assert.equal((await readAnimal(service, 2n))?.categoryId, 5n)
  })

  test('asks about a field that both have changed: one can save the own value', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Mine')
    await changeAnimal(service, 2, { name: 'Theirs', categoryId: 8 })
    await saveButton(page).click()
    await page.getByRole('button', { name: 'Save mine' }).click()
    await page.getByRole('heading', { name: 'Mine', exact: true }).waitFor()
    assert.deepEqual(
      [(await readAnimal(service, 2n))?.name, (await readAnimal(service, 2n))?.categoryId],
      ['Mine', 8n],
    )
  })

  test('says in the form that somebody has changed the animal', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openForm(page, 2)
    await nameField(page).fill('Mine')
    await changeAnimal(service, 2, { categoryId: 8 })
    await page.clock.fastForward(INTERVAL_MS)
    await page.getByText('Somebody has changed this animal meanwhile.').waitFor()
    assert.equal(await nameField(page).inputValue(), 'Mine')
    // A screen reader would announce it again.
    await page.evaluate(() =>
      new MutationObserver(() => document.body.classList.add('repeated')).observe(
        document.querySelector('#edit-note') as Element,
        { childList: true },
      ),
    )
    await nameField(page).pressSequentially('!')
    assert.equal(await page.locator('.repeated').count(), 0)
  })

  test('keeps the draft when Escape closes the form and when the page is reloaded; Cancel drops it', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Half-typed')
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('#details').isVisible(), true, 'one key closed both')
    await page.getByRole('button', { name: 'Continue editing' }).click()
    assert.equal(await nameField(page).inputValue(), 'Half-typed')
    // The form for a new animal has a draft of its own.
    await page.keyboard.press('Escape')
    await openAddForm(page)
    await nameField(page).fill('New')
    await page.keyboard.press('Escape')
    await openAnimal(page, 2)
    await page.reload()
    await page.getByRole('heading', { name: 'Edit Animal 2' }).waitFor()
    assert.equal(await nameField(page).inputValue(), 'Half-typed')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
    await page.reload()
    await page.locator('#details').waitFor()
    assert.equal(await page.locator('#edit-animal').isVisible(), false)
    assert.equal((await readAnimal(service, 2n))?.name, 'Animal 2')
  })

  test('is closed by Back, on a phone too, which keeps the draft and everything else', async t => {
    const service = await startWithAnimals(t, newAnimals(30))
    const { page } = await open(t, service, { context: { viewport: { width: 375, height: 700 } } })
    await readRows(page)
    await page.evaluate(() => scrollTo(0, 200))
    await openForm(page, 25)
    await nameField(page).fill('Half-typed')
    await page.goBack()
    await page.getByRole('button', { name: 'Continue editing' }).click()
    assert.equal(await nameField(page).inputValue(), 'Half-typed')
    // Escape leaves a step of the history in which nothing differs.
    await page.keyboard.press('Escape')
    await page.goBack()
    await page.locator('#panel').waitFor({ state: 'hidden' })
    await page.waitForFunction(() => scrollY === 200)
    await page.locator('#pager .new-animal').click()
    await nameField(page).fill('New')
    await page.goBack()
    await page.locator('#panel').waitFor({ state: 'hidden' })
    assert.equal(await page.evaluate(() => scrollY), 200)
    await page.locator('#pager .new-animal').click()
    assert.equal(await nameField(page).inputValue(), 'New')
  })

  /** What is on the screen: the query of the URL, and the animal in the panel. */
  async function waitForPlace(page: Page, query: string, id: number | undefined): Promise<void> {
    await page.waitForFunction(
      ([query, id]) =>
        location.search === query &&
        document.querySelector('#edit-animal:not([hidden]), #add-animal:not([hidden])') === null &&
        (id === undefined
          ? document.querySelector('#panel[hidden]') !== null
          : document.querySelector('#panel:not([hidden]) #details:not([hidden]) #details-id')?.textContent ===
            String(id)),
      [query, id] as const,
    )
  }

  suite('and Back', () => {
    test('leads to the animal before, when the form was saved and another row was opened', async t => {
      const { page } = await open(t, await startWithAnimals(t, newAnimals(3)))
      await openForm(page, 2)
      await nameField(page).fill('Bella')
      await saveButton(page).click()
      await page.getByRole('heading', { name: 'Bella', exact: true }).waitFor()
      await openAnimal(page, 1)
      await page.goBack()
      await waitForPlace(page, '?animal=2', 2)
      await page.goBack()
      await waitForPlace(page, '', undefined)
    })

    test('leads to the animal when Escape closed the form and then the panel', async t => {
      const { page } = await open(t, await startWithAnimals(t, newAnimals(3)))
      await openForm(page, 2)
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await waitForPlace(page, '', undefined)
      await page.goBack()
      await waitForPlace(page, '?animal=2', 2)
      await page.goBack()
      await waitForPlace(page, '', undefined)
    })

    test('leads to the list when an animal was added and shown', async t => {
      const { page } = await open(t, await startWithAnimals(t, newAnimals(3)))
      await openAddForm(page)
      await nameField(page).fill('New')
      await categoryField(page).fill('7')
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await waitForPlace(page, '?animal=4', 4)
      await page.goBack()
      await waitForPlace(page, '', undefined)
    })

    test('leads to the list when the form was opened again by a reload and closed', async t => {
      const { page } = await open(t, await startWithAnimals(t, newAnimals(3)))
      await openForm(page, 2)
      await nameField(page).fill('Half-typed')
      // The first time the form is on its own step, the second time on that of the animal.
      for (const isLeft of [false, true]) {
        if (isLeft) {
          await page.goForward()
          await waitForPlace(page, '?animal=2', 2)
          await page.getByRole('button', { name: 'Continue editing' }).click()
          await page.getByRole('heading', { name: 'Edit Animal 2' }).waitFor()
          await page.goBack()
          await waitForPlace(page, '?animal=2', 2)
        }
        await page.reload()
        await page.getByRole('heading', { name: 'Edit Animal 2' }).waitFor()
        await page.keyboard.press('Escape')
        await waitForPlace(page, '?animal=2', 2)
        await page.goBack()
        await waitForPlace(page, '', undefined)
      }
    })
  })

  test('sends the same key again after a lost answer', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Bella')
    const keys = new Set<string | undefined>()
    page.on('request', request => {
      if (request.postData() !== '{}' && request.method() === 'PATCH')
        keys.add(request.headers()['idempotency-key'])
    })
    await loseAnswers(page, 'PATCH')
    await saveButton(page).click()
    const problem = page.getByText(
      'The server could not be reached. The animal may be saved nevertheless. Try again: nothing is done twice.',
    )
    await problem.waitFor()
    await page.unroute('**/v1/pets/**')
    // The page reads the animal again, and it is as the user wanted it.
    await problem.waitFor({ state: 'hidden' })
    await changeAnimal(service, 2, { categoryId: 77 })
    await saveButton(page).click()
    await page.getByRole('heading', { name: 'Bella', exact: true }).waitFor()
    assert.equal(keys.size, 1)
    // The answer was the old one.
    assert.deepEqual((await readRows(page))[1], ['2', 'Bella', '77', 'available'])
  })

  test('shows in a notice what became of a form that was left', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Bella')
    const released = Promise.withResolvers<void>()
    await page.route('**/v1/pets/2', async route => {
      await released.promise
      await route.fulfill({ status: 400, json: { code: 'invalid_request', message: 'No.', status: 400 } })
    })
    await saveButton(page).click()
    await page.getByRole('button', { name: 'Saving …' }).waitFor()
    await openAnimal(page, 1)
    released.resolve()
    await page.getByText('Animal 2: Not saved. No.').waitFor()
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByRole('button', { name: 'Continue editing' }).click()
    assert.equal(await nameField(page).inputValue(), 'Bella')
  })

  test('does not take another animal for the removed one', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await service.send('DELETE', '/v1/pets/2')
    const { arrived, release } = await holdRequests(page, 'PATCH')
    await page.keyboard.press('e')
    await arrived
    await openAnimal(page, 1)
    const answer = page.waitForResponse(response => response.request().method() === 'PATCH')
    release()
    assert.equal((await answer).status(), 404)
    await page.clock.fastForward(INTERVAL_MS)
    await rowOf(page, 2).getByText('removed').waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Animal 1', exact: true }).isVisible(), true)
    await rowOf(page, 1).getByText('available').waitFor()
  })

  test('says if the newest values cannot be read, until they can', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    await page.route('**/v1/**', route => route.abort())
    await page.keyboard.press('e')
    const problem = page.locator('#edit-problem', { hasText: 'The newest values cannot be read right now.' })
    await problem.waitFor()
    await page.unroute('**/v1/**')
    await problem.waitFor({ state: 'hidden' })
  })

  test('is not continued if nothing was typed', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await openAnimal(page, 3)
    await openAnimal(page, 2)
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  })

  test('loses nothing when the key stops working', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openForm(page, 2)
    await nameField(page).fill('Bella')
    await failRequests(page, 401, 'unauthorized')
    await saveButton(page).click()
    await page.getByText('This key stopped working').waitFor()
    await page.unroute('**/v1/**')
    await signIn(page)
    assert.equal(await nameField(page).inputValue(), 'Bella')
    await saveButton(page).click()
    await page.getByRole('heading', { name: 'Bella', exact: true }).waitFor()
  })

  test('keeps what was typed when somebody removes the animal, which cannot be saved then', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    // The first time the page notices it, the second time the user.
    for (const [id, isRead] of [
      [2, true],
      [3, false],
    ] as const) {
      const { page } = await open(t, service, { isClockStopped: true })
      await openForm(page, id)
      await nameField(page).fill('Bella')
      await service.send('DELETE', `/v1/pets/${id}`)
      if (isRead) await page.clock.fastForward(INTERVAL_MS)
      else await saveButton(page).click()
      const note = page
        .getByRole('status')
        .getByText('This animal was removed meanwhile and cannot be saved.')
      await note.first().waitFor()
      assert.equal(await nameField(page).inputValue(), 'Bella')
      await nameField(page).press('x')
      assert.equal(await page.locator('#rows :checked').count(), 0)
      await saveButton(page).click()
      await waitForAnnouncement(page, 'This animal was removed meanwhile and cannot be saved.')
      await page.keyboard.press('Escape')
      await page.getByRole('heading', { name: `Animal ${id} was removed` }).waitFor()
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'missing-title')
    }
  })
})

suite('removing', () => {
  function removeButton(page: Page) {
    return page.getByRole('button', { name: 'Remove', exact: true })
  }

  test('asks once with the name, keeps the row until the next navigation, and says that it is gone', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    await removeButton(page).click()
    await page.getByText('Remove Animal 2 for good?').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Keep')
    await page.keyboard.press('Escape')
    assert.equal(await page.getByText('for good?').isVisible(), false)
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'remove')
    await removeButton(page).click()
    await page.getByRole('button', { name: 'Keep' }).click()
    assert.equal(await page.locator('#details').isVisible(), true)
    await removeButton(page).click()
    await removeButton(page).click()
    await page.getByRole('heading', { name: 'Animal 2 was removed' }).waitFor()
    await page.getByText('It cannot be brought back.').waitFor()
    await waitForAnnouncement(page, 'Animal 2 was removed')
    assert.deepEqual((await readRows(page))[1], ['2', 'Animal 2', '1', 'removed'])
    const note = rowOf(page, 2).getByText('removed', { exact: true })
    assert.equal(await note.evaluate(note => getComputedStyle(note).display), 'block', 'it has no style')
    await page.locator('#filter .all', { hasText: '2' }).waitFor()
    assert.equal((await service.store.listAnimals({ limit: 9 })).length, 2)
    const url = page.url()
    await page.keyboard.press('Escape')
    assert.equal(
      await page.evaluate(() => document.activeElement?.closest('tr')?.querySelector('.id')?.textContent),
      '2',
    )
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'Animal 1', exact: true }).waitFor()
    await page.goto(url)
    await page.getByRole('heading', { name: 'No animal has id 2' }).waitFor()
    await page.getByText('It was removed for good').waitFor()
  })

  test('needs more than a double click', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    page.on('request', request => assert.equal(request.method(), 'GET'))
    await removeButton(page).dblclick()
    await page.getByText('Remove Animal 2 for good?').waitFor()
    const { x: keep = 0 } = (await page.getByRole('button', { name: 'Keep' }).boundingBox()) ?? {}
    const { x: confirm = 0 } = (await removeButton(page).boundingBox()) ?? {}
    assert.ok(keep < confirm, 'Keep is not where Remove was')
    await removeButton(page).dispatchEvent('click', { detail: 2 })
    await removeButton(page).dispatchEvent('click', { detail: 3 })
    assert.equal(await page.getByText('for good?').isVisible(), true)
    assert.equal(await removeButton(page).textContent(), 'Remove')
  })

  test('is not asked about any more when the animal has changed meanwhile', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await removeButton(page).click()
    await page.getByText('Remove Animal 2 for good?').waitFor()
    await changeAnimal(service, 2, { status: 'sold' })
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('#details').getByText('Animal 2 was sold meanwhile').waitFor()
    await waitForAnnouncement(page, 'Animal 2 was sold meanwhile')
    assert.equal(await page.getByText('for good?').isVisible(), false)
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'remove')
    await removeButton(page).click()
    await changeAnimal(service, 2, { name: 'Bella' })
    await page.clock.fastForward(INTERVAL_MS)
    await page.locator('#details').getByText('Bella was changed meanwhile').waitFor()
    assert.equal((await service.store.listAnimals({ limit: 9 })).length, 3)
  })

  test('happens only if the animal has the status that it had when the page asked', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    await openAnimal(page, 2)
    await changeAnimal(service, 2, { status: 'sold' })
    await removeButton(page).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('#details').getByText('Animal 2 was sold meanwhile').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'remove')
    await waitForStatus(page, 'sold')
    assert.equal((await service.store.listAnimals({ limit: 9 })).length, 3)
  })

  test('that fails when its panel was left is reported in a notice, and closes no other question', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service, { isClockStopped: true })
    for (const [id, status, code, text] of [
      [2, 400, 'invalid_request', 'Animal 2: Not removed. No.'],
      [3, 409, 'conflict', 'Animal 3 was changed meanwhile and was not removed.'],
    ] as const) {
      const released = Promise.withResolvers<void>()
      await page.route('**/v1/pets/**', async route => {
        if (route.request().method() !== 'DELETE') return route.fallback()
        await released.promise
        await route.fulfill({ status, json: { code, message: 'No.', status } })
      })
      await openAnimal(page, id)
      await removeButton(page).click()
      await removeButton(page).click()
      await page.getByRole('button', { name: 'Removing …' }).waitFor()
      await openAnimal(page, 1)
      await removeButton(page).click()
      released.resolve()
      await page.getByText(text).waitFor()
      assert.equal(await page.getByText('Remove Animal 1 for good?').isVisible(), true)
      await page.keyboard.press('Escape')
    }
  })

  test('succeeds if somebody else has removed the animal, and after a lost answer', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await openAnimal(page, 2)
    await service.send('DELETE', '/v1/pets/2')
    await removeButton(page).click()
    await removeButton(page).click()
    await page.getByRole('heading', { name: 'Animal 2 was removed' }).waitFor()
    await openAnimal(page, 1)
    const keys = new Set<string | undefined>()
    page.on('request', request => {
      if (request.method() === 'DELETE') keys.add(request.headers()['idempotency-key'])
    })
    await stopClock(page)
    await loseAnswers(page, 'DELETE')
    await removeButton(page).click()
    await removeButton(page).click()
    await page.clock.fastForward(1_000)
    await page.unroute('**/v1/pets/**')
    await page.clock.fastForward(1_000)
    await page.getByRole('heading', { name: 'Animal 1 was removed' }).waitFor()
    assert.equal(keys.size, 1)
    await rowOf(page, 3).getByText('available').waitFor()
    assert.equal(await statusButton(page, 'sold').count(), 0)
  })
})
