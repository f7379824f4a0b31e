// One animal on the catalogue page: selecting it, its details, and the keyboard shortcuts.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared } from '../support/service.ts'
import { newAnimals, readRows, startWithAnimals, useCatalogue, waitForList } from './catalogue-page.ts'

const open = useCatalogue()
const NAME = `  Zoë "the" <cat>\n${'long '.repeat(190)}`
const service = shared(scope =>
  startWithAnimals(scope, [
    ...newAnimals(44, ['available', 'sold', undefined]),
    { name: NAME, categoryId: -9223372036854775808n, status: 'pending' },
  ]),
)

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

/** Waits until this animal is selected in the list and shown in the panel. */
async function waitForSelected(page: Page, id: string): Promise<void> {
  await page.waitForFunction(
    id =>
      document.querySelector('tr[aria-current] td')?.textContent === id &&
      document.querySelector('#panel:not([hidden]) #details-id')?.textContent === id,
    id,
  )
}

/** The id of the animal whose row has the focus. */
function focusedRow(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.closest('tr')?.cells[0]?.textContent)
}

suite('a row', () => {
  test('shows its animal whole in the panel when it is clicked', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest&after=40' })
    await page.locator('#rows tr', { hasText: 'Zoë' }).click()
    await waitForSelected(page, '45')
    assert.equal(await page.locator('#details-name').textContent(), NAME)
    assert.equal(await page.locator('#details-category').textContent(), '-9223372036854775808')
    assert.equal(await page.locator('#details-status').textContent(), 'pending')
    await page.locator('#rows tr').first().locator('td').last().click()
    await waitForSelected(page, '41')
    await page.getByRole('complementary', { name: 'Animal 41' }).waitFor()
    await page.locator('#details .close').click()
    assert.equal(await page.locator('#panel').isVisible(), false)
    assert.equal(await page.locator('tr[aria-current]').count(), 0)
    assert.equal(await focusedRow(page), '41')
  })

  test('stays in the panel when another page is shown, and the panel offers to go back to it', async t => {
    const { page } = await open(t, service())
    const notListed = page.getByText('This animal is not on this page.')
    for (const [path, id, next, back] of [
      ['/?order=oldest', '2', '?order=oldest&after=20', '?order=oldest&after=1'],
      ['/', '44', '?before=26', '?before=45'],
    ] as const) {
      await page.goto(service().address + path)
      await page.locator('#rows tr').nth(1).click()
      await waitForSelected(page, id)
      assert.equal(await notListed.isVisible(), false)
      await press(page, ']')
      await notListed.waitFor()
      assert.equal(new URL(page.url()).search, `${next}&animal=${id}`)
      assert.equal(await page.locator('#details-id').textContent(), id)
      assert.equal(await page.locator('tr[aria-current]').count(), 0)
      await page.getByRole('button', { name: 'Show it in the list' }).click()
      await waitForList(page, back, id)
      await waitForSelected(page, id)
      assert.equal(await notListed.isVisible(), false)
    }
  })

  test('offers its id and its JSON to copy', async t => {
    const { page, context } = await open(t, service(), { path: '/?limit=1' })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('#rows tr').click()
    const copied = async (name: string) => {
      await page.getByRole('button', { name }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      const text = await page.evaluate(() => navigator.clipboard.readText())
      await page.locator('#title').focus()
      return text
    }
    assert.equal(await copied('Copy id'), '45')
    const json = await copied('Copy JSON')
    assert.match(json, /"categoryId": -9223372036854775808,\n/)
    const { id, name, status } = JSON.parse(json)
    assert.deepEqual([id, name, status], [45, NAME, 'pending'])
    // Without a secure context there is no navigator.clipboard.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await page.getByRole('button', { name: 'Copy id' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate(() => getSelection()?.toString()), '')
    await page.getByLabel('Search or id').focus()
    await press(page, 'Control+V')
    assert.equal(await page.getByLabel('Search or id').inputValue(), '45')
    // A browser may refuse both ways.
    await page.evaluate(() => Object.assign(document, { execCommand: () => false }))
    await page.getByRole('button', { name: 'Copy id' }).click()
    assert.equal(await page.getByRole('button', { name: 'Copied' }).count(), 0)
  })

  test('is not selected when the user selects text in it', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest' })
    await readRows(page)
    await page.locator('#rows td').first().dblclick()
    await waitForSelected(page, '1')
    await press(page, 'Escape')
    const box = await page.locator('#rows tr').nth(2).locator('td').last().boundingBox()
    assert.ok(box)
    await page.mouse.move(box.x + 12, box.y + 12)
    await page.mouse.down()
    await page.mouse.move(box.x + 70, box.y + 24, { steps: 5 })
    await page.mouse.up()
    assert.equal(await page.locator('tr[aria-current]').count(), 0)
  })
})

suite('the link of an animal', () => {
  const searchOf = (page: Page) => new URL(page.url()).search

  test('is the address while the animal is selected, also after a reload and with Back and Forward', async t => {
    const { page } = await open(t, service(), { path: '/?limit=10&order=oldest' })
    await readRows(page)
    await page.locator('#rows tr').nth(1).click()
    await waitForSelected(page, '2')
    assert.equal(searchOf(page), '?limit=10&order=oldest&animal=2')
    assert.equal(await page.title(), 'Animal 2 · Animal Store')
    await page.locator('#rows tr').nth(4).click()
    await waitForSelected(page, '5')
    await page.goBack()
    await waitForSelected(page, '2')
    await page.goBack()
    await page.locator('#panel').waitFor({ state: 'hidden' })
    await page.goForward()
    await waitForSelected(page, '2')
    await page.reload()
    await waitForSelected(page, '2')
    await press(page, 'Escape')
    assert.equal(searchOf(page), '?limit=10&order=oldest')
    assert.equal(await page.locator('#panel').isVisible(), false)
  })

  test('can be copied, and shows the animal to somebody else', async t => {
    const { page, context } = await open(t, service(), { path: '/?status=sold' })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('#rows tr').nth(2).click()
    await waitForSelected(page, '38')
    await press(page, 'c')
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const link = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(link, `${service().address}/?before=39&animal=38`)
    await page.goto('about:blank')
    await page.goto(link)
    await waitForSelected(page, '38')
    await waitForList(page, '?before=39', '38')
  })

  test('works for an animal that is not on the page, and says if there is none', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest&animal=45' })
    await page.getByRole('heading', { name: 'Zoë' }).waitFor()
    await page.getByText('This animal is not on this page.').waitFor()
    await page.goto(`${service().address}/?animal=46`)
    await page.getByRole('complementary', { name: 'No animal has id 46' }).waitFor()
    assert.equal(searchOf(page), '?animal=46')
    await press(page, 'Escape')
    assert.equal(await page.locator('#panel').isVisible(), false)
    assert.equal(searchOf(page), '')
    await page.goto(`${service().address}/?animal=x`)
    await page.getByText('animal in this address must be an id, not “x”.').waitFor()
  })
})

suite('the keyboard', () => {
  for (const width of [375, 1280]) {
    test(`reaches everything in the order on the screen, at ${width} pixels`, async t => {
      const context = { viewport: { width, height: 900 } }
      const { page } = await open(t, service(), { path: '/?limit=10', context })
      await readRows(page)
      await page.evaluate(() => {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
      })
      const boxes: { name: string; x: number; y: number; bottom: number }[] = []
      for (;;) {
        await press(page, 'Tab')
        const box = await page.evaluate(() => {
          const { activeElement } = document
          if (activeElement === null || activeElement === document.body) return undefined
          const { x, y, bottom } = activeElement.getBoundingClientRect()
          return { name: activeElement.id || activeElement.textContent, x, y, bottom }
        })
        if (box === undefined || boxes.some(({ name }) => name === box.name)) break
        boxes.push(box)
      }
      assert.ok(boxes.length > 8, JSON.stringify(boxes))
      for (const [index, box] of boxes.entries()) {
        const previous = boxes[index - 1]
        if (previous === undefined) continue
        const isAfter = box.y >= previous.bottom || (box.bottom > previous.y && box.x > previous.x)
        assert.ok(isAfter, `${box.name} comes after ${previous.name}`)
      }
    })
  }

  test('moves from row to row, and on to other pages', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest' })
    await readRows(page)
    await press(page, 'j')
    await waitForSelected(page, '1')
    await press(page, 'j', 'ArrowDown', 'j', 'k', 'ArrowUp')
    await waitForSelected(page, '2')
    await press(page, ...Array(19).fill('j'))
    await waitForList(page, '?order=oldest&after=20', '21')
    await waitForSelected(page, '21')
    await press(page, 'k')
    await waitForList(page, '?order=oldest', '1')
    await waitForSelected(page, '20')
    const isVisible = await page.evaluate(() => {
      const row = document.activeElement?.closest('tr')?.getBoundingClientRect()
      const pager = document.querySelector('#pager')?.getBoundingClientRect()
      return row !== undefined && pager !== undefined && row.bottom <= pager.top
    })
    assert.equal(isVisible, true, 'the selected row is covered')
    // What the keyboard selects on a page is one step in the history.
    await page.goBack()
    await waitForSelected(page, '21')
    await page.goBack()
    await waitForSelected(page, '20')
    await page.goBack()
    await page.locator('#panel').waitFor({ state: 'hidden' })
  })

  test('turns pages, filters, changes the order and focuses the search, but only types while a field has the focus', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest' })
    await readRows(page)
    await press(page, ']')
    await waitForList(page, '?order=oldest&after=20', '21')
    await press(page, '[')
    await waitForList(page, '?order=oldest', '1')
    await press(page, '[')
    await press(page, 'f', 'Tab', 'Tab', 'Tab', 'Enter')
    await waitForList(page, '?status=sold&order=oldest', '2')
    await press(page, 'o')
    await waitForList(page, '?status=sold', '44')
    await press(page, 'o')
    await waitForList(page, '?status=sold&order=oldest', '2')
    await press(page, '/')
    await page.keyboard.type('njk7')
    assert.equal(await page.locator('#search-field').inputValue(), 'njk7')
    assert.equal(await page.locator('#panel').isVisible(), false)
    await press(page, 'Escape', 'Escape')
    await waitForList(page, '?status=sold&order=oldest', '2')
    await press(page, 'j')
    await waitForSelected(page, '2')
    await press(page, 'n')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'name')
    assert.equal(await page.locator('tr[aria-current]').count(), 0, 'a row is selected beside the form')
    await page.keyboard.type('?n/')
    assert.equal(await page.locator('#name').inputValue(), '?n/')
    await press(page, 'Escape')
    assert.equal(await focusedRow(page), '2')
  })

  test('has a list of its shortcuts', async t => {
    const { page } = await open(t, service())
    await press(page, '?')
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await dialog.waitFor()
    const keys = await dialog.locator('kbd').allTextContents()
    const all = ['n', '/', 'j', '↓', 'k', '↑', ']', '[', 's', '1–4', 'z', 'x', 'e', 'f', 'o', 'c', 'Esc', '?']
    assert.deepEqual(keys, all)
    await press(page, 'n')
    assert.equal(await page.locator('#panel').isVisible(), false, 'shortcuts work behind the dialog')
    await press(page, 'Escape')
    await dialog.waitFor({ state: 'hidden' })
    await press(page, 'j')
    await page.getByRole('button', { name: 'More' }).click()
    await press(page, 'Escape')
    await page.locator('#menu').waitFor({ state: 'hidden' })
    assert.equal(await page.locator('#panel').isVisible(), true, 'one key closed both the menu and the panel')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'hidden' })
  })

  test('has a switch for shortcuts of one character, which the device remembers', async t => {
    const { page } = await open(t, service(), { path: '/?order=oldest' })
    await readRows(page)
    const toggle = page.getByRole('switch', { name: 'Single-key shortcuts' })
    const hint = page.locator('#bar .new-animal kbd')
    assert.equal(await hint.isVisible(), true)
    await page.getByRole('button', { name: 'More' }).click()
    await toggle.uncheck()
    await press(page, 'Escape')
    for (const load of [() => readRows(page), () => page.reload()]) {
      await load()
      await readRows(page)
      await press(page, 'n', 'j', '?', '/', ']')
      assert.equal(await page.locator('#panel').isVisible(), false)
      assert.equal(await page.locator('#shortcuts').isVisible(), false)
      assert.equal(await hint.isVisible(), false)
    }
    await press(page, 'ArrowDown')
    await waitForSelected(page, '1')
    await press(page, 'Escape')
    await page.getByRole('button', { name: 'More' }).click()
    await toggle.check()
    await press(page, 'Escape', 'n')
    await page.getByRole('heading', { name: 'New animal' }).waitFor()
  })

  test('does nothing while the user is signed out', async t => {
    const { page } = await open(t, service(), { isSignedIn: false })
    await page.getByLabel('API key').blur()
    await press(page, 'n', '?', 'j')
    assert.equal(await page.locator('#panel').isVisible(), false)
    assert.equal(await page.locator('#shortcuts').isVisible(), false)
  })
})
