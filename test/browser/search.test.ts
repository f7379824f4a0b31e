// The search on the catalogue page: the service finds the animals, and the page follows its links until a page is full.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type NewAnimal, STATUSES } from '../../src/animal.ts'
import { shared, type TestService } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'
import {
  holdRequests,
  newAnimals,
  readIds,
  readInventory,
  readRows,
  setHidden,
  startWithAnimals,
  stopClock,
  useCatalogue,
  waitForList,
} from './catalogue-page.ts'

const open = useCatalogue()

/** 1,204 animals. The last ones have names worth searching. */
const service = shared(scope =>
  startWithAnimals(scope, [
    ...newAnimals(1_200, [...STATUSES, undefined]),
    { name: 'Zoë the Cat', categoryId: 7n, status: 'sold' },
    { name: 'zoe', categoryId: 9007199254740993n },
    { name: 'Bella', categoryId: 7n },
    { name: '1234', categoryId: 9999n },
  ]),
)

/** 23,010 animals: a page that finds nothing needs three requests. The newest is the only "Hohenheim". */
const largeService = shared(scope =>
  startWithAnimals(scope, [...newAnimals(23_009), { name: 'Hohenheim', categoryId: 7n } satisfies NewAnimal]),
)

async function search(page: Page, text: string): Promise<void> {
  await page.getByLabel('Search or id').fill(text)
}

/** The requests to the API from now on. */
function watchRequests(page: Page): string[] {
  const requests: string[] = []
  page.on('request', request => {
    const { pathname, search } = new URL(request.url())
    if (pathname.startsWith('/v1/')) requests.push(pathname + search)
  })
  return requests
}

suite('the search', () => {
  test('finds names and categories, whatever the case and accents', async t => {
    const { page } = await open(t, service())
    const cases: [text: string, ids: string[]][] = [
      ['ZOE', ['1202', '1201']],
      ['zoë', ['1202', '1201']],
      ['category:7', ['1203', '1201', '8']],
      ['category: 9007199254740993', ['1202']],
      ['bell category:7', ['1203']],
      ['animal 1199', ['1199']],
    ]
    for (const [text, ids] of cases) {
      await search(page, text)
      await page.waitForFunction(text => new URLSearchParams(location.search).get('q') === text, text)
      await page.locator('#list-status').getByText(`${ids.length} found`).waitFor()
      assert.deepEqual(await readIds(page), ids, text)
    }
    await search(page, 'unicorn')
    await page.getByRole('heading', { name: 'No animal matches “unicorn”' }).waitFor()
    await page.getByRole('link', { name: 'Show all animals' }).click()
    await waitForList(page, '', '1204')
    assert.equal(await page.getByLabel('Search or id').inputValue(), '')
    await search(page, 'x'.repeat(101))
    await page.getByText('name must have at most 100 characters.').waitFor()
    assert.equal(await page.getByLabel('Search or id').inputValue(), 'x'.repeat(101))
  })

  test('marks what it has found in the names', async t => {
    const names = ['Zoë the zoé', 'ẞ zoe', '한zoe', '<b>zoe</b>', `zoe${'\u0301'}`]
    const service = await startWithAnimals(
      t,
      names.map(name => ({ name, categoryId: 1n })),
    )
    const { page } = await open(t, service, { path: '/?q=ZOE&order=oldest' })
    await readRows(page)
    const marked = await page
      .locator('#rows .name')
      .evaluateAll(links =>
        links.map(link => [...link.querySelectorAll('mark')].map(mark => mark.textContent)),
      )
    assert.deepEqual(marked, [['Zoë', 'zoé'], ['zoe'], ['zoe'], ['zoe'], [`zoe${'\u0301'}`]])
    assert.deepEqual(
      (await readRows(page)).map(([, name]) => name),
      names,
    )
    await page.goto(`${service.address}/?q=하`)
    await waitForList(page, '?q=%ED%95%98', '3')
    assert.equal(await page.locator('#rows mark').textContent(), '한')
  })

  test('offers both for a number: the id, and a name that has it', async t => {
    const { page } = await open(t, service())
    await search(page, '1234')
    await page.getByRole('button', { name: 'Search names for “1234”' }).click()
    await waitForList(page, '?q=1234', '1204')
    assert.deepEqual(await readIds(page), ['1204'])
    await page.reload()
    await waitForList(page, '?q=1234', '1204')
  })

  test('follows the category of a row and of the panel', async t => {
    const { page } = await open(t, service(), { path: '/?before=1204' })
    await page.locator('#rows tr').first().getByRole('link', { name: '7' }).click()
    await waitForList(page, '?q=category%3A7', '1203')
    assert.equal(await page.locator('#panel').isVisible(), false)
    await page.goto(`${service().address}/?animal=1201`)
    await page.locator('#details-category').click()
    await waitForList(page, '?q=category%3A7', '1203')
    assert.equal(await page.getByLabel('Search or id').inputValue(), 'category:7')
    await page.setViewportSize({ width: 375, height: 700 })
    await page.goto(`${service().address}/?animal=1201`)
    await page.locator('#details-category').click()
    await waitForList(page, '?q=category%3A7', '1203')
    await page.locator('#panel').waitFor({ state: 'hidden' })
  })

  test('keeps the status when it follows the category of a row, and offers to drop it', async t => {
    const { page } = await open(t, service(), { path: '/?status=sold&q=zo' })
    await page.locator('#rows tr').first().getByRole('link', { name: '7' }).click()
    await waitForList(page, '?status=sold&q=category%3A7', '1201')
    await page.locator('#rows .name').first().click()
    assert.match(String(await page.locator('#details-category').getAttribute('href')), /status=sold/)
    await search(page, 'category:7 bella')
    await page.getByRole('heading', { name: 'No sold animal matches “category:7 bella”' }).waitFor()
    await page.getByRole('link', { name: 'Search all animals' }).click()
    await waitForList(page, '?q=category%3A7+bella', '1203')
  })

  test('says what a category is instead of searching names for a mistyped one', async t => {
    const { page } = await open(t, service(), { path: '/?q=zoe' })
    const field = page.getByLabel('Search or id')
    for (const mistyped of ['category:', 'category:seven']) {
      await field.fill(mistyped)
      await field.press('Enter')
      await page.getByText('A category is a whole number, such as category:7.').waitFor()
    }
    assert.equal(new URL(page.url()).search, '?q=zoe')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'search-field')
  })

  test('is a part of the URL, and one step in the history', async t => {
    const { page } = await open(t, service())
    await readRows(page)
    await page.keyboard.press('/')
    await page.keyboard.type('zoe')
    await waitForList(page, '?q=zoe', '1202')
    await search(page, 'zoë the')
    await waitForList(page, '?q=zo%C3%AB+the', '1201')
    await page.goBack()
    await waitForList(page, '', '1204')
    assert.equal(await page.getByRole('button', { name: 'Clear' }).isVisible(), false)
    await page.goForward()
    await waitForList(page, '?q=zo%C3%AB+the', '1201')
    assert.equal(await page.getByLabel('Search or id').inputValue(), 'zoë the')
    await page.keyboard.press('/')
    await page.keyboard.press('Escape')
    await waitForList(page, '', '1204')
    await search(page, 'bella')
    await waitForList(page, '?q=bella', '1203')
    await page.getByRole('button', { name: 'Clear' }).click()
    await waitForList(page, '', '1204')
  })

  test('shows its results like any list: filtered, in pages, oldest first, with the panel', async t => {
    const { page } = await open(t, service(), { path: '/?limit=10' })
    await search(page, 'animal 1')
    const filter = page.getByRole('group', { name: 'Filter by status' })
    // Not with the mouse: the buttons become narrower when the search begins, shortly after the last key.
    await filter.getByRole('button', { name: 'pending' }).dispatchEvent('click')
    await waitForList(page, '?status=pending&q=animal+1&limit=10', '1198')
    await page.getByText('10 shown, there may be more').waitFor()
    assert.equal(await filter.locator('b').first().isVisible(), false, 'a number that is not of this search')
    const first = await readIds(page)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/before=/)
    const second = await readIds(page)
    assert.equal(new Set([...first, ...second]).size, 20)
    await page.getByRole('link', { name: 'Previous' }).click()
    await waitForList(page, '?status=pending&q=animal+1&limit=10', '1198')
    assert.deepEqual(await readIds(page), first)
    await page.getByRole('button', { name: 'Oldest first' }).click()
    await waitForList(page, '?status=pending&q=animal+1&limit=10&order=oldest', '10')
    await page.getByLabel('Search or id').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Animal 10', exact: true }).waitFor()
  })

  test('lists animals without a status, alone and in a search, on the screen and in the file', async t => {
    const { page } = await open(t, service(), { path: '/?status=none&limit=50' })
    await waitForList(page, '?status=none&limit=50', '1204')
    await page.getByText('of 303').waitFor()
    const statuses = (await readRows(page)).map(([, , , status]) => status)
    assert.deepEqual(statuses, Array(50).fill('no status'))
    const first = await readIds(page)
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/before=/)
    const second = await readIds(page)
    assert.deepEqual([first.at(-1), second[0]], ['1016', '1012'])
    await page.goto(`${service().address}/?status=none&q=animal+120`)
    await waitForList(page, '?status=none&q=animal+120', '1200')
    assert.deepEqual(await readIds(page), ['1200', '120'])
    await page.goto(`${service().address}/?status=none`)
    await readRows(page)
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const text = readFileSync(await (await downloaded).path(), 'utf8')
    assert.equal((await downloaded).suggestedFilename(), 'animals-none.csv')
    assert.equal(text.trimEnd().split('\r\n').length, 304)
  })

  test('finds an animal that somebody adds', async t => {
    const service = await startWithAnimals(t, newAnimals(3))
    const { page } = await open(t, service)
    await stopClock(page)
    await page.goto(`${service.address}/?q=kim`)
    await page.getByRole('heading', { name: 'No animal matches “kim”' }).waitFor()
    await readInventory(page)
    await service.create({ name: 'Kim', categoryId: 8 })
    await page.clock.fastForward(5_000)
    await waitForList(page, '?q=kim', '4')
  })

  test('saves its results in a file', async t => {
    const { page } = await open(t, service(), { path: '/?q=zoe' })
    await readRows(page)
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    assert.equal((await downloaded).suggestedFilename(), 'animals-search.csv')
    const text = readFileSync(await (await downloaded).path(), 'utf8')
    assert.match(text, /\r\n1201,Zoë the Cat,7,sold\r\n1202,zoe,9007199254740993,\r\n$/)
  })
})

suite('the requests of the page', () => {
  test('are two for a load: the list and the inventory', async t => {
    const { page } = await open(t, largeService())
    await stopClock(page)
    await page.goto('about:blank')
    const requests = watchRequests(page)
    await page.goto(largeService().address)
    assert.equal((await readInventory(page))[0], '23,010')
    assert.equal((await readIds(page))[0], '23010')
    assert.deepEqual(requests.sort(), ['/v1/pets?limit=20&before=9223372036854775807', '/v1/store/inventory'])
  })

  test('are one for a page of a search, and none while the user types', async t => {
    const { page } = await open(t, service())
    await readInventory(page)
    await stopClock(page)
    await page.goto(service().address)
    await readInventory(page)
    const requests = watchRequests(page)
    await page.getByLabel('Search or id').pressSequentially('anim')
    assert.deepEqual(requests, [])
    await page.clock.fastForward(150)
    await waitForList(page, '?q=anim', '1200')
    assert.deepEqual(requests, ['/v1/pets?name=anim&limit=20&before=9223372036854775807'])
  })
})

suite('a large catalogue', () => {
  test('is not searched for animals without a status if the inventory has none', async t => {
    const service = await startWithAnimals(t, newAnimals(350))
    const { page } = await open(t, service)
    assert.equal((await readInventory(page)).at(-1), '0')
    await readRows(page)
    const requests = watchRequests(page)
    await page.getByRole('button', { name: 'no status' }).click()
    await page.getByRole('heading', { name: 'No animal without a status' }).waitFor()
    const lists = requests.filter(url => url.startsWith('/v1/pets?limit=100'))
    assert.equal(lists.length, 1, String(requests))
    assert.equal(await page.locator('#next').isVisible(), false)
    await service.create({ name: 'Kim', categoryId: 8 })
    await waitForList(page, '?status=none', '351')
  })

  test('is searched as a whole: the newest animal is found by its name, also after a reload', async t => {
    const { page } = await open(t, largeService(), { path: '/?q=hohen' })
    await waitForList(page, '?q=hohen', '23010')
    await page.locator('#list-status').getByText('1 found').waitFor()
    await page.reload()
    await waitForList(page, '?q=hohen', '23010')
    assert.deepEqual((await readRows(page))[0], ['23010', 'Hohenheim', '7', 'no status'])
    await page.getByRole('link', { name: 'API reference' }).click()
    await page.waitForURL(/docs$/)
    await page.goBack()
    await waitForList(page, '?q=hohen', '23010')
    await page.goto(`${largeService().address}/?q=hohen&order=oldest`)
    await waitForList(page, '?q=hohen&order=oldest', '23010')
  })

  /** Opens a search whose requests are held back until `answer` is called, once for each. */
  async function openHeld(t: TestContext, service: TestService, path: string) {
    const { page } = await open(t, service)
    await stopClock(page)
    const held: (() => void)[] = []
    await page.route(/\/v1\/pets\?name=/, async route => {
      await new Promise<void>(resolve => held.push(resolve))
      await route.continue().catch(() => {})
    })
    const arrived = () => waitUntil(() => held.length > 0, { what: 'a request is held back' })
    await page.goto(service.address + path)
    await arrived()
    return { page, arrived, answer: () => held.shift()?.() }
  }

  test('says how far the search is after a second, can stop it, and goes on', async t => {
    const { page, arrived, answer } = await openHeld(t, largeService(), '/?q=zebra')
    answer()
    await arrived()
    assert.equal(await page.getByText('Searching').isVisible(), false)
    await page.clock.fastForward(1_000)
    await page.getByText('Searching … 10,000 of 23,010').waitFor()
    await page.getByRole('heading', { name: 'Nothing found yet' }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Searched 10,000 of 23,010').waitFor()
    answer()
    await page.getByText('Searched 20,000 of 23,010').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await arrived()
    await page.getByText('Searching … 20,000 of 23,010').waitFor()
    answer()
    await page.getByRole('heading', { name: 'No animal matches “zebra”' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0)
  })

  test('goes on by itself through any number of animals, but not while the tab is hidden', async t => {
    const { page } = await open(t, service())
    let examined = 0
    let hasHidden = false
    await page.route(/\/v1\/pets\?name=/, async route => {
      examined += 10_000
      if (examined === 200_000) {
        await setHidden(page, true)
        hasHidden = true
      }
      const link = `</v1/pets?name=kim&limit=20&before=${1_000_000 - examined}>; rel="prev"`
      const headers: Record<string, string> = examined < 300_000 ? { link } : {}
      await route.fulfill({ contentType: 'application/json', headers, body: '[]' })
    })
    await page.goto(`${service().address}/?q=kim`)
    await waitUntil(() => hasHidden, { what: 'the tab is hidden' })
    await page.getByText('Searching … 200,000 so far').waitFor()
    assert.equal(examined, 200_000)
    await setHidden(page, false)
    await page.getByRole('heading', { name: 'No animal matches “kim”' }).waitFor()
    assert.equal(examined, 300_000)
  })

  test('is announced without the numbers that go on changing', async t => {
    const { page, arrived, answer } = await openHeld(t, largeService(), '/?q=zebra')
    answer()
    await arrived()
    await page.clock.fastForward(1_000)
    await page.getByText('Searching … 10,000 of 23,010').waitFor()
    assert.equal(await page.locator('#list-status [role=status]').textContent(), 'Searching …')
  })

  test('is scrolled with its first part when the user comes back to it, and not again at its end', async t => {
    const { page } = await open(t, service(), { isClockStopped: true })
    const animals = Array.from({ length: 40 }, (_, index) => ({
      id: 961 + index,
      name: 'Kim',
      categoryId: 1,
    }))
    const held: (() => void)[] = []
    await page.route(/\/v1\/pets\?name=kim/, async route => {
      const url = route.request().url()
      if (url.includes('status=')) return route.fulfill({ json: [] })
      const isFirst = !url.includes('before=961')
      if (!isFirst) await new Promise<void>(resolve => held.push(resolve))
      const link = '</v1/pets?name=kim&limit=50&before=961>; rel="prev"'
      const headers: Record<string, string> = isFirst ? { link } : {}
      await route.fulfill({ headers, json: isFirst ? animals : [] }).catch(() => {})
    })
    const waitForPart = async () => {
      await waitUntil(() => held.length > 0, { what: 'the second request' })
      await page.clock.fastForward(1_000)
      await page.getByText('Searching …').waitFor()
    }
    await page.goto(`${service().address}/?q=kim&limit=50`)
    await waitForPart()
    await page.evaluate(() => scrollTo(0, 200))
    // A real click would scroll first.
    await page.locator('#filter .sold').dispatchEvent('click')
    await page.waitForFunction(() => location.search.includes('sold') && scrollY === 0)
    held.length = 0
    await page.goBack()
    await waitForPart()
    await page.waitForFunction(() => scrollY === 200)
    await page.evaluate(() => scrollTo(0, 30))
    held.shift()?.()
    await page.getByText('40 found').waitFor()
    assert.equal(await page.evaluate(() => scrollY), 30)
  })

  test('never shows a late answer in place of a newer one', async t => {
    const { page } = await open(t, service())
    const released = Promise.withResolvers<void>()
    await page.route(/name=bella|after=4$/, async route => {
      const response = await route.fetch()
      await released.promise
      await route.fulfill({ response }).catch(() => {})
    })
    const late = page.waitForRequest(/name=bella/)
    await search(page, 'bella')
    await late
    // Neither the answer to a search nor that to an id.
    const id = page.waitForRequest(/after=4/)
    await search(page, '5')
    await page.keyboard.press('Enter')
    await id
    await search(page, 'zoe')
    await waitForList(page, '?q=zoe', '1202')
    released.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
    assert.deepEqual(await readIds(page), ['1202', '1201'])
    assert.equal(new URL(page.url()).search, '?q=zoe')
    assert.equal(await page.locator('#panel').isVisible(), false)
  })

  test('goes on after a failure, and does not start again', async t => {
    const { page } = await open(t, largeService())
    const requests = watchRequests(page)
    let failures = 1
    await page.route(/name=zebra.*before=13011/, async route => {
      if (failures-- > 0) await route.fulfill({ status: 503, headers: { 'retry-after': '0' }, body: '{}' })
      else await route.continue()
    })
    await search(page, 'zebra')
    await page.getByRole('heading', { name: 'No animal matches “zebra”' }).waitFor()
    const bounds = requests.filter(url => url.includes('zebra')).map(url => /before=(\d+)/.exec(url)?.[1])
    assert.deepEqual(bounds, ['9223372036854775807', '13011', '13011', '3011'])
  })

  test('forgets the progress of a search when another list is shown', async t => {
    const { page, arrived, answer } = await openHeld(t, largeService(), '/?q=zebra')
    answer()
    await arrived()
    await page.clock.fastForward(1_000)
    await page.getByText('Searching … 10,000 of').waitFor()
    const { release } = await holdRequests(page, 'GET')
    await search(page, '')
    await page.getByText('Searching').waitFor({ state: 'hidden' })
    assert.equal(await page.getByText('Nothing found').isVisible(), false)
    await page.locator('tr.skeleton').first().waitFor()
    release()
    await waitForList(page, '', '23010')
  })

  test('leaves half of the rate limit to the user while it is searched', async t => {
    const rateLimit = { requests: 12, windowSeconds: 60 }
    const service = await startWithAnimals(t, newAnimals(60_000), { rateLimit })
    const { page } = await open(t, service)
    await stopClock(page)
    const isHalf = page.waitForResponse(response => /;r=6;/.test(response.headers().ratelimit ?? ''))
    await page.goto(`${service.address}/?q=kim`)
    await isHalf
    const requests = watchRequests(page)
    await page.clock.fastForward(1_000)
    await page.getByText('Searching …').waitFor()
    const continued = page.waitForRequest(/name=kim/)
    assert.deepEqual(requests, [], 'the search has used the half that the user needs')
    await page.clock.fastForward(20_000)
    await continued
  })
})
