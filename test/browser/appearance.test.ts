// How the catalogue page looks where it matters for use: nothing is covered, cut off or too narrow.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { createAnimals } from '../support/animals.ts'
import { shared } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'
import {
  holdRequests,
  newAnimals,
  openAddForm,
  readInventory,
  readRows,
  signIn,
  startWithAnimals,
  stopClock,
  useCatalogue,
} from './catalogue-page.ts'

const open = useCatalogue()
const INT64_MIN = -9223372036854775808n

/** The last animal has a very long name and a very long category. */
const service = shared(scope =>
  startWithAnimals(scope, [
    ...newAnimals(39, ['available', 'pending', 'sold', undefined]),
    { name: 'Long name '.repeat(100), categoryId: INT64_MIN, status: 'available' },
  ]),
)

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox()
  assert.ok(box, `${locator} is not visible`)
  return { ...box, right: box.x + box.width, bottom: box.y + box.height }
}

function style(page: Page, selector: string, property: string): Promise<string> {
  return page
    .locator(selector)
    .first()
    .evaluate((element, property) => getComputedStyle(element).getPropertyValue(property), property)
}

suite('the catalogue page', () => {
  test('draws no outline around the heading, and one around what the keyboard reaches', async t => {
    const { page } = await open(t, service(), { isSignedIn: false })
    await signIn(page)
    for (const load of [() => readRows(page), () => page.reload()]) {
      await load()
      await readRows(page)
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'title')
      assert.equal(await style(page, '#title', 'outline-style'), 'none')
    }
    await page.keyboard.press('f')
    assert.equal(await style(page, '#filter [aria-pressed=true]', 'outline-width'), '2px')
  })

  test('begins with a link that skips the bar', async t => {
    const { page } = await open(t, service(), { isSignedIn: false })
    await signIn(page)
    await page.locator('.brand').focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#content$/)
    assert.ok((await boxOf(page.locator('#filter'))).y >= (await boxOf(page.locator('#bar'))).bottom)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.closest('div')?.id), 'filter')
  })

  test('has room for underscores in its fields', async t => {
    const { page } = await open(t, service())
    await openAddForm(page)
    for (const field of ['#key', '#name', '#category', '#search-field']) {
      const [size, height] = [await style(page, field, 'font-size'), await style(page, field, 'line-height')]
      assert.ok(parseFloat(height) >= 1.4 * parseFloat(size), `${field}: ${height} for ${size}`)
    }
  })

  test('gives the name enough room in every width, and at most two lines', async t => {
    const { page } = await open(t, service(), { path: '/?limit=1' })
    await readRows(page)
    for (const width of [320, 360, 480, 640, 700, 719, 720, 770, 1000, 1280, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      const name = await boxOf(page.locator('#rows .name span'))
      const lineHeight = parseFloat(await style(page, '#rows .name span', 'line-height'))
      assert.ok(name.width >= 140, `${name.width} pixels for the name at ${width}`)
      assert.ok(name.height <= 2 * lineHeight + 1, `${name.height} pixels high at ${width}`)
    }
  })

  test('shows the id of an animal with a very long name without scrolling', async t => {
    const { page } = await open(t, service(), { path: '/?limit=1' })
    await page.locator('#rows tr').click()
    for (const [width, height] of [
      [320, 640],
      [640, 400],
      [1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height })
      const id = await boxOf(page.locator('#details-id'))
      assert.ok(id.bottom <= height, `the id ends at ${id.bottom} of ${height} pixels`)
    }
  })

  test('shows all filters on every screen', async t => {
    const { page } = await open(t, service())
    await readInventory(page)
    for (const width of [320, 375, 768, 1280]) {
      await page.setViewportSize({ width, height: 667 })
      for (const button of await page.locator('#filter button').all()) {
        const { x, right, bottom } = await boxOf(button)
        assert.ok(x >= 0 && right <= width && bottom < 300, `${await button.textContent()} at ${width}`)
      }
    }
  })

  test('covers no row with the bar of marked animals, also on a narrow screen', async t => {
    const { page } = await open(t, service())
    await readRows(page)
    await page.locator('#rows .box').first().click()
    for (const width of [320, 375, 768, 1280]) {
      await page.setViewportSize({ width, height: 667 })
      const [bar, row] = [
        await boxOf(page.locator('#marks > div')),
        await boxOf(page.locator('#rows tr').first()),
      ]
      assert.ok(bar.bottom <= row.y, `the bar ends at ${bar.bottom}, the first row begins at ${row.y}`)
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true)
    }
  })

  test('leaves new animals and the controls of the list visible beside an outcome', async t => {
    const own = await startWithAnimals(t, newAnimals(5))
    const { page } = await open(t, own)
    await readRows(page)
    for (const row of [0, 1]) await page.locator('#rows .box').nth(row).click()
    await page.getByRole('group', { name: 'Set the status' }).getByRole('button', { name: 'sold' }).click()
    await page.locator('#marks').getByText('2 are sold').waitFor()
    await createAnimals(own.store, [{ animal: { name: 'New', categoryId: 1n } }])
    await page.locator('#new-animals:not([hidden])').waitFor()
    for (const width of [1000, 1280]) {
      await page.setViewportSize({ width, height: 667 })
      const bar = await boxOf(page.locator('#marks > div'))
      const others = [await boxOf(page.locator('#new-animals')), await boxOf(page.locator('#view'))]
      for (const other of others)
        assert.ok(bar.right <= other.x || bar.bottom <= other.y, `the outcome covers a control at ${width}`)
    }
    await page.locator('#export').waitFor()
    await page.locator('#new-animals').click()
    await page.locator('#rows tr').nth(5).waitFor()
  })

  test('marks what is selected without colours too', async t => {
    const { page } = await open(t, service(), { context: { forcedColors: 'active' } })
    await page.locator('#rows tr').first().click()
    for (const selected of [
      '#filter [aria-pressed=true]',
      '#newest',
      '#rows tr[aria-current]',
      '#status [aria-pressed=true]',
    ])
      assert.equal(await style(page, selected, 'outline-style'), 'solid', selected)
  })

  for (const width of [320, 1280]) {
    test(`covers no control with a notice, at ${width} pixels`, async t => {
      const viewport = { width, height: 640 }
      const { page } = await open(t, service(), { path: '/?before=31', context: { viewport } })
      await stopClock(page)
      await page.reload()
      await readRows(page)
      await page.keyboard.press('n')
      await page.getByRole('textbox', { name: 'Name' }).fill('Bella')
      await page.getByRole('textbox', { name: 'Category' }).fill('7')
      await page.getByLabel('Add another').check()
      await page.getByRole('textbox', { name: 'Name' }).press('Enter')
      const notice = page.locator('#message-notice')
      await notice.waitFor()
      const add = await boxOf(page.getByRole('button', { name: 'Add', exact: true }))
      const { y, bottom } = await boxOf(notice)
      assert.ok(y >= add.bottom || bottom <= add.y || width > 720, 'the notice covers the form')
      await page.getByRole('textbox', { name: 'Name' }).press('Escape')
      const pager = await boxOf(page.locator('#pager'))
      assert.ok((await boxOf(notice)).bottom <= pager.y, 'the notice covers the links between pages')
      assert.equal(Math.round(pager.bottom), viewport.height, 'the links are not at the edge of the screen')
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
      const row = await boxOf(page.locator('#rows tr').last())
      assert.ok(row.bottom <= (await boxOf(notice)).y || width > 720, 'the notice covers the last row')
    })
  }

  test('covers no row with the links between pages, when the user has scrolled to the end', async t => {
    const { page } = await open(t, service(), { context: { viewport: { width: 320, height: 640 } } })
    await readRows(page)
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    const lastRow = await boxOf(page.locator('#rows tr').last())
    const newAnimal = await boxOf(page.locator('#pager .new-animal'))
    assert.ok(lastRow.bottom <= (await boxOf(page.locator('#pager'))).y + 1)
    assert.ok(newAnimal.y > lastRow.bottom && newAnimal.bottom <= 640)
  })

  test('always shows the button for a new animal', async t => {
    const { page } = await open(t, service())
    await readRows(page)
    for (const [width, height] of [
      [320, 640],
      [375, 667],
      [640, 400],
      [667, 375],
      [844, 390],
      [1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height })
      const button = page.getByRole('button', { name: 'New animal' })
      assert.equal(await button.count(), 1, `at ${width} by ${height}`)
      const { bottom, right } = await boxOf(button)
      assert.ok(bottom <= height && right <= width, `at ${width} by ${height}`)
    }
  })

  test('has controls that a finger can hit', async t => {
    const context = {
      viewport: { width: 375, height: 667 },
      hasTouch: true,
      reducedMotion: 'reduce',
    } as const
    const { page } = await open(t, service(), { context })
    await readInventory(page)
    const small = () =>
      page.evaluate(() =>
        [
          ...document.querySelectorAll<HTMLElement>(
            'a, button, select, input:not([type=radio], [type=checkbox])',
          ),
        ]
          // A row as a whole can be tapped, and the panel has its category. A link in a sentence is as high as the sentence.
          .filter(control => control.checkVisibility() && !control.matches('#rows *, .brand, p *'))
          .filter(control => {
            const { width, height } = control.getBoundingClientRect()
            return width < 40 || height < 40
          })
          .map(control => control.outerHTML.slice(0, 90)),
      )
    assert.deepEqual(await small(), [])
    await page.locator('#rows tr').first().click()
    await page.locator('#details').waitFor()
    assert.deepEqual(await small(), [])
    const copy = await boxOf(page.getByRole('button', { name: 'Copy link' }))
    assert.ok(copy.right <= (await boxOf(page.locator('#details .close'))).x, 'two buttons overlap')
    await page.keyboard.press('n')
    await page.locator('#add-animal').waitFor()
    assert.deepEqual(await small(), [])
    const heights = await page
      .locator('.choices label, .check')
      .evaluateAll(labels => labels.map(label => label.getBoundingClientRect().height))
    assert.ok(Math.min(...heights.filter(height => height > 0)) >= 40, String(heights))
  })

  test('opens the panel beside the list, and as a sheet on a small screen', async t => {
    const { page } = await open(t, service(), { context: { reducedMotion: 'reduce' } })
    await readRows(page)
    const [, [secondId] = []] = await readRows(page)
    await page.keyboard.press('j')
    const panel = page.locator('#panel')
    assert.ok((await boxOf(panel)).x >= (await boxOf(page.locator('#list'))).right - 1)
    await page.setViewportSize({ width: 500, height: 700 })
    const sheet = await boxOf(panel)
    assert.deepEqual([sheet.x, sheet.width, sheet.bottom], [0, 500, 700])
    assert.equal(await page.locator('#list').evaluate(list => (list as HTMLElement).inert), true)
    await page.keyboard.press('j')
    assert.equal(await page.locator('#details-id').textContent(), secondId)
    await page.locator('#backdrop').click({ position: { x: 10, y: 10 } })
    assert.equal(await panel.isVisible(), false)
    assert.equal(await page.locator('#list').evaluate(list => (list as HTMLElement).inert), false)
  })

  test('moves no row when the panel opens, and covers nothing with it, on a screen of medium width', async t => {
    const { page } = await open(t, service())
    await readRows(page)
    for (const width of [720, 768, 1000, 1119]) {
      await page.setViewportSize({ width, height: 900 })
      const row = page.locator('#rows tr').nth(5)
      const before = await boxOf(row)
      await row.click({ position: { x: 100, y: 20 } })
      const panel = await boxOf(page.locator('#panel'))
      const { y, height } = await boxOf(row)
      assert.deepEqual([y, height], [before.y, before.height], `the row moved at ${width}`)
      for (const part of ['#export', '#next', '#list-status', '#rows tr:nth-child(6) .status'])
        assert.ok((await boxOf(page.locator(part))).right <= panel.x, `${part} is covered at ${width}`)
      assert.ok((await boxOf(row.locator('.name'))).width >= 120, `the name has no room at ${width}`)
      if (width >= 1000) {
        const category = page.locator('#rows tr').first().locator('td').nth(1)
        const hidden = await category.evaluate(cell => cell.scrollWidth - cell.clientWidth)
        assert.equal(hidden, 0, `the category is cut at ${width}`)
      }
      assert.ok(panel.right <= width, `the panel leaves the screen at ${width}`)
      await page.keyboard.press('Escape')
    }
    await page.setViewportSize({ width: 844, height: 390 })
    await page.keyboard.press('n')
    await page.locator('#add-another').scrollIntoViewIfNeeded()
    assert.ok((await boxOf(page.locator('#add-another'))).bottom <= 390)
  })

  test('shows a progress line and dims the old rows, if a page takes longer than 100 ms', async t => {
    const { page } = await open(t, service())
    await readInventory(page)
    assert.equal(await style(page, '.progress', 'opacity'), '0')
    const { arrived, release } = await holdRequests(page, 'GET')
    await page.getByRole('link', { name: 'Next' }).click()
    await arrived
    assert.equal(await style(page, '.progress', 'transition-delay'), '0.1s')
    await waitUntil(async () => (await style(page, '.progress', 'opacity')) === '1', { what: 'the line' })
    await waitUntil(async () => Number(await style(page, '#rows', 'opacity')) < 1, { what: 'dimmed rows' })
    assert.equal(await page.locator('#rows tr').count(), 20)
    release()
    await readRows(page)
    assert.equal(await style(page, '.progress', 'opacity'), '0')
  })

  test('has no animation if the user prefers reduced motion', async t => {
    const { page } = await open(t, service(), { context: { reducedMotion: 'reduce' } })
    await page.keyboard.press('j')
    const animated = await page.evaluate(() =>
      [...document.querySelectorAll('*')]
        .filter(element => {
          const { animationDuration, transitionDuration } = getComputedStyle(element)
          return parseFloat(animationDuration) > 0 || parseFloat(transitionDuration) > 0
        })
        .map(element => element.outerHTML.slice(0, 80)),
    )
    assert.deepEqual(animated, [])
  })

  test('prints the list with its legend, and without controls', async t => {
    const { page } = await open(t, service())
    await readInventory(page)
    await page.keyboard.press('j')
    await page.emulateMedia({ media: 'print' })
    for (const selector of ['#search', '#view', '#panel', '#next', '#bar .new-animal'])
      assert.equal(await page.locator(selector).isVisible(), false, selector)
    for (const selector of ['.environment', '#rows tr', '#list-status', '#filter .sold', '#inventory-bar'])
      assert.equal(await page.locator(selector).first().isVisible(), true, selector)
    assert.equal(await style(page, '#bar', 'position'), 'static')
  })
})
