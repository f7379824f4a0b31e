// The catalogue page, in a real browser, on the real service.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { NewAnimal, Status } from '../../src/animal.ts'
import type { ServiceOptions } from '../../src/cli/service.ts'
import { freePort } from '../support/postgres.ts'
import { API_KEY, startTestService, type TestService, temporaryFolder } from '../support/service.ts'
import { useBrowser } from './browser.ts'

const newContext = useBrowser()
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  readonly service: TestService
}

interface OpenOptions {
  readonly animals?: readonly NewAnimal[]
  readonly path?: string
  readonly service?: Partial<ServiceOptions>
  readonly context?: BrowserContextOptions
  readonly isSignedIn?: boolean
}

/** Opens the page, signed in unless told otherwise. Whatever the page complains about fails the test. */
async function open(t: TestContext, options: OpenOptions = {}): Promise<Opened> {
  const { animals = [], path = '/', isSignedIn = true } = options
  const service = await startTestService(t, options.service)
  for (let at = 0; at < animals.length; at += 1_000)
    await service.store.createAnimals(animals.slice(at, at + 1_000).map(animal => ({ animal })))
  const context = await newContext(t, options.context)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('console', message => {
    // What the server refuses is in the console too.
    const isAnswer = /Failed to load resource/.test(message.text())
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text())
  })
  page.on('request', request => {
    if (new URL(request.url()).origin !== service.address) complaints.push(`asked for ${request.url()}`)
  })
  t.after(() => assert.deepEqual(complaints, []))
  await page.goto(service.address + path)
  if (isSignedIn) await signIn(page)
  return { page, context, service }
}

async function signIn(page: Page, key = API_KEY): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Open the catalogue' }).click()
  if (key === API_KEY) await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
}

function some(count: number, statuses: readonly (Status | undefined)[] = ['available']): NewAnimal[] {
  return Array.from({ length: count }, (_, index) => {
    const status = statuses[index % statuses.length]
    const animal = { name: `Animal ${index + 1}`, categoryId: BigInt(index) }
    return status === undefined ? animal : { ...animal, status }
  })
}

/** The cells of each row that is shown, once the list is no longer busy. */
async function rows(page: Page): Promise<string[][]> {
  await page.locator('table[aria-busy=false]').waitFor({ state: 'attached' })
  return page
    .locator('#rows tr')
    .evaluateAll(found => found.map(row => [...row.children].map(cell => cell.textContent ?? '')))
}

async function ids(page: Page): Promise<string[]> {
  return (await rows(page)).map(([, id = '']) => id)
}

/** Waits until the address is this one, and the list is that of it. */
async function arrive(page: Page, search: string, first: string): Promise<void> {
  await page.waitForFunction(
    ([wanted, id]) => location.search === wanted && document.querySelector('#rows tr td')?.textContent === id,
    [search, first] as const,
  )
}

suite('signing in', () => {
  test('with a wrong key says so, and with a right one shows the catalogue', async t => {
    const { page } = await open(t, { animals: some(1), isSignedIn: false })
    const wrong: [string, string][] = [
      ['a-key-that-nobody-gave-out', 'This key is not accepted here.'],
      ['two words', 'This is not a key'],
    ]
    for (const [key, words] of wrong) {
      await signIn(page, key)
      await page.getByText(words).waitFor()
      assert.equal(await page.locator('#catalogue').isVisible(), false)
    }
    await signIn(page)
    assert.deepEqual(await rows(page), [['Animal 1', '1', '0', 'available']])
  })

  test('lasts for the tab, and until one signs out', async t => {
    const { page, context, service } = await open(t)
    await page.reload()
    await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
    const other = await context.newPage()
    await other.goto(service.address)
    await other.getByLabel('API key').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    assert.deepEqual(await page.evaluate(() => [sessionStorage.length, localStorage.length]), [0, 0])
    await page.reload()
    await page.getByLabel('API key').waitFor()
  })

  test('with a key that was not looked at opens nothing', async t => {
    const { page } = await open(t, { isSignedIn: false, path: '/?after=x' })
    await signIn(page, 'a-key-that-nobody-gave-out')
    await page.getByText('This key is not accepted here.').waitFor()
    await page.route('**/v1/pets**', route => route.abort())
    await signIn(page, 'a-key-that-nobody-gave-out')
    await page.getByText('The server cannot be reached. Try again.').waitFor()
    assert.equal(await page.locator('#catalogue').isVisible(), false)
    assert.equal(await page.evaluate(() => sessionStorage.length), 0)
  })

  test('ends with all that was filled in or is under way', async t => {
    const { page } = await open(t)
    await page.getByRole('button', { name: 'Add an animal' }).click()
    await page.getByLabel('Name').fill('Left behind')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page)
    await page.getByRole('button', { name: 'Add an animal' }).click()
    assert.equal(await page.getByLabel('Name').inputValue(), '')
  })

  test('ends when the key does', async t => {
    const { page } = await open(t, { animals: some(30) })
    await page.route('**/v1/pets**', route =>
      route.fulfill({
        status: 401,
        contentType: 'application/json',
        body: '{"code":"unauthorized","message":"","status":401}',
      }),
    )
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('This key is not accepted here.').waitFor()
  })

  for (const environment of ['production', 'staging'] as const) {
    test(`shows at all times that this is ${environment}`, async t => {
      const { page } = await open(t, {
        animals: some(100),
        path: '/?limit=100',
        service: { environment },
        isSignedIn: false,
      })
      const mark = page.locator('.bar .environment')
      const isShown = async () => {
        assert.equal(await mark.textContent(), environment)
        const box = await mark.boundingBox()
        assert.ok(box !== null && box.y >= 0 && box.y < 100, JSON.stringify(box))
      }
      await isShown()
      await signIn(page)
      await rows(page)
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      await isShown()
    })
  }
})

suite('the list', () => {
  test('shows every animal exactly, and a name as the text that it is', async t => {
    const path = join(temporaryFolder(t), 'animals.db')
    const hostile = '<img src=x onerror="document.title=1"> &amp;'
    await startTestService(t, { database: { kind: 'sqlite', path } })
    const database = new DatabaseSync(path)
    database.exec(`insert into animals (id, name, category_id, status) values
      (9007199254740993, '${hostile}', -9223372036854775808, null),
      (9223372036854775807, '  two  spaces ', 9223372036854775807, 'sold')`)
    database.close()
    const { page } = await open(t, { service: { database: { kind: 'sqlite', path } } })
    assert.deepEqual(await rows(page), [
      [hostile, '9007199254740993', '-9223372036854775808', '–'],
      ['  two  spaces ', '9223372036854775807', '9223372036854775807', 'sold'],
    ])
    assert.equal(await page.locator('#rows img').count(), 0)
    assert.equal(await page.title(), 'Animal Store')
  })

  test('keeps to a status and a size, and the address says so', async t => {
    const { page, service } = await open(t, { animals: some(40, ['available', 'sold', undefined]) })
    assert.equal((await rows(page)).length, 20)
    await page.getByLabel('Status', { exact: true }).first().selectOption('sold')
    await arrive(page, '?status=sold', '2')
    await page.getByLabel('Per page').selectOption('10')
    await arrive(page, '?status=sold&limit=10', '2')
    assert.deepEqual(
      (await rows(page)).map(([, , , status]) => status),
      Array(10).fill('sold'),
    )
    const link = page.url()
    await page.goto('about:blank')
    await page.goto(link)
    await arrive(page, '?status=sold&limit=10', '2')
    assert.equal(await page.getByLabel('Per page').inputValue(), '10')
    assert.equal(link, `${service.address}/?status=sold&limit=10`)
  })

  test('goes forward and back, by its links and by the buttons of the browser', async t => {
    const { page } = await open(t, { animals: some(50) })
    const next = page.getByRole('link', { name: 'Next' })
    const previous = page.getByRole('link', { name: 'Previous' })
    assert.equal(await previous.count(), 0, 'there is nothing before the first page')
    await next.click()
    await arrive(page, '?after=20', '21')
    await next.click()
    await arrive(page, '?after=40', '41')
    assert.equal(await next.count(), 0, 'there is nothing after the last page')
    await previous.click()
    await arrive(page, '?after=20', '21')
    await previous.click()
    await arrive(page, '', '1')
    for (const [search, first] of [
      ['?after=20', '21'],
      ['?after=40', '41'],
    ] as const) {
      await page.goBack()
      await arrive(page, search, first)
    }
    await page.goForward()
    await arrive(page, '?after=20', '21')
    await page.reload()
    await arrive(page, '?after=20', '21')
    await previous.waitFor()
    await page.getByRole('link', { name: 'First page' }).click()
    await arrive(page, '', '1')
  })

  test('takes two clicks for one', async t => {
    const { page } = await open(t, { animals: some(90) })
    await page.getByRole('link', { name: 'Next' }).click()
    await arrive(page, '?after=20', '21')
    await page.getByRole('link', { name: 'Next' }).dblclick()
    await arrive(page, '?after=40', '41')
    await page.getByRole('link', { name: 'Previous' }).click()
    await arrive(page, '?after=20', '21')
    await page.getByRole('link', { name: 'Previous' }).dblclick()
    await arrive(page, '', '1')
    await page.goBack()
    await arrive(page, '?after=20', '21')
  })

  test('asks one question for a page, however deep', async t => {
    const { page, service } = await open(t, { animals: some(10_000, ['sold', 'pending']) })
    const asked: string[] = []
    page.on('request', request => {
      if (request.url().includes('/v1/')) asked.push(request.url().slice(service.address.length))
    })
    await page.goto(`${service.address}/?status=pending&limit=10&after=9000`)
    await arrive(page, '?status=pending&limit=10&after=9000', '9002')
    assert.equal((await ids(page)).length, 10)
    assert.deepEqual(asked, ['/v1/pets?status=pending&limit=10&after=9000'])
  })
})

suite('the page before one that was come to by a link', () => {
  async function openGaps(t: TestContext): Promise<Opened & { all: bigint[] }> {
    const path = join(temporaryFolder(t), 'animals.db')
    await startTestService(t, { database: { kind: 'sqlite', path } })
    // Dense, then far apart, then dense again, as after an import that was stopped and resumed.
    const all = [
      ...Array.from({ length: 150 }, (_, index) => BigInt(index + 1)),
      ...Array.from({ length: 40 }, (_, index) => 10_000n + BigInt(index) * 1_000_000_007n),
      ...Array.from({ length: 60 }, (_, index) => 9_000_000_000_000_000_000n + BigInt(index)),
    ]
    const database = new DatabaseSync(path)
    database.exec(
      `insert into animals (id, name, category_id) values ${all.map(id => `(${id}, 'a', 1)`).join()}`,
    )
    database.close()
    return { ...(await open(t, { service: { database: { kind: 'sqlite', path } } })), all }
  }

  for (const limit of [10, 50]) {
    test(`is found wherever ids have gaps, ${limit} at a time`, async t => {
      const { page, service, all } = await openGaps(t)
      for (const at of [245, 195, 185, 160, 152, limit + 5]) {
        await page.goto(`${service.address}/?limit=${limit}&after=${all[at - 1]}`)
        await rows(page)
        await page.getByRole('link', { name: 'Previous' }).click()
        await page.waitForFunction(
          id => [...document.querySelectorAll('#rows tr')].at(-1)?.children[1]?.textContent === id,
          String(all[at - 1]),
        )
        assert.deepEqual(await ids(page), all.slice(at - limit, at).map(String))
      }
    })
  }

  test('is the first page, if too few animals come before', async t => {
    const { page, service } = await open(t, { animals: some(40) })
    await page.goto(`${service.address}/?after=5`)
    await rows(page)
    await page.getByRole('link', { name: 'Previous' }).click()
    await arrive(page, '', '1')
  })
})

suite('the form', () => {
  async function openForm(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Add an animal' }).click()
    await page.getByRole('dialog').waitFor()
  }

  test('says as one types whether the rules are kept', async t => {
    const { page } = await open(t)
    await openForm(page)
    const state = (rule: string) => page.locator(rule).getAttribute('data-state')
    assert.deepEqual([await state('#name-rule'), await state('#category-rule')], ['open', 'open'])
    const cases: [string, string, string][] = [
      ['#name', ' ', 'broken'],
      ['#name', 'x'.repeat(1_001), 'broken'],
      ['#name', '🐈'.repeat(1_000), 'right'],
      ['#category', '1.5', 'broken'],
      ['#category', '9223372036854775808', 'broken'],
      ['#category', '-9223372036854775808', 'right'],
    ]
    for (const [field, text, expected] of cases) {
      await page.locator(field).fill(text)
      assert.equal(await state(`${field}-rule`), expected, text.slice(0, 30))
      assert.equal(await page.locator(field).getAttribute('aria-invalid'), String(expected === 'broken'))
    }
    await page.locator('#name').fill('')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    assert.equal(await page.locator('#name').evaluate(field => field === document.activeElement), true)
  })

  test('adds one animal for two clicks, and shows it', async t => {
    const { page, service } = await open(t, { animals: some(50), path: '/?status=sold' })
    await page.getByText('Nothing is sold').waitFor()
    await openForm(page)
    await page.getByLabel('Name').fill('Bella <b>')
    await page.getByLabel('Category').fill('9007199254740993')
    await page.getByRole('dialog').getByLabel('Status').selectOption('pending')
    await page.getByRole('button', { name: 'Add', exact: true }).dblclick()
    await arrive(page, '?after=50', '51')
    assert.deepEqual(await rows(page), [['Bella <b>', '51', '9007199254740993', 'pending']])
    assert.equal(await page.locator('tr.new').count(), 1)
    await page.getByText('Added Bella <b> with id 51.').waitFor()
    assert.equal((await service.store.listAnimals({ limit: 100 })).length, 51)
  })

  test('adds one animal when the answer was lost and one presses again', async t => {
    const { page, service } = await open(t)
    await openForm(page)
    await page.getByLabel('Name').fill('Kim')
    await page.getByLabel('Category').fill('8')
    await page.route('**/v1/pets', async route => {
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('The server cannot be reached').waitFor()
    await page.unroute('**/v1/pets')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await arrive(page, '?after=0', '1')
    assert.equal((await service.store.listAnimals({ limit: 100 })).length, 1)
  })

  test('cannot be closed or changed while it is being sent', async t => {
    const { page } = await open(t)
    await openForm(page)
    await page.getByLabel('Name').fill('Kim')
    await page.getByLabel('Category').fill('8')
    let answer = () => {}
    const asked = new Promise<void>(resolve => {
      page.route('**/v1/pets', async route => {
        if (route.request().method() === 'POST') {
          resolve()
          await new Promise<void>(go => {
            answer = go
          })
        }
        await route.continue()
      })
    })
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await asked
    await page.getByRole('button', { name: 'Adding …' }).waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.getByRole('dialog').isVisible(), true)
    assert.equal(await page.getByRole('button', { name: 'Cancel' }).isDisabled(), true)
    answer()
    await page.getByText('Added Kim with id 1.').waitFor()
  })

  test('shows the words of the server when it refuses', async t => {
    const { page } = await open(t)
    await page.route('**/v1/pets', route =>
      route.fulfill({
        status: 400,
        contentType: 'application/json',
        headers: { 'x-request-id': 'abc-1' },
        body: '{"code":"invalid_request","message":"name must be another one.","status":400}',
      }),
    )
    await openForm(page)
    await page.getByLabel('Name').fill('Kim')
    await page.getByLabel('Category').fill('8')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('name must be another one. (request abc-1)').waitFor()
    assert.equal(await page.getByRole('dialog').isVisible(), true)
  })
})

suite('the overview', () => {
  test('counts each animal that was loaded once, and says what it covers', async t => {
    const { page } = await open(t, { animals: some(50, ['available', 'sold', 'sold', undefined]) })
    await page.getByText('Counted: the 20 animals loaded since this page was opened').waitFor()
    const legend = () => page.locator('#legend').innerText()
    assert.deepEqual((await legend()).match(/\d+/g), ['5', '0', '10', '5'])
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('Counted: the 40 animals').waitFor()
    await page.goBack()
    await arrive(page, '', '1')
    assert.deepEqual((await legend()).match(/\d+/g), ['10', '0', '20', '10'])
    const widths = await page
      .locator('#chart rect')
      .evaluateAll(bars => bars.map(bar => bar.getAttribute('width')))
    assert.deepEqual(widths, ['250.0', '0.0', '500.0', '250.0'])
  })
})

suite('the states of the page', () => {
  test('empty: the catalogue, a status, the end of the list', async t => {
    const { page, service } = await open(t)
    await page.getByText('The catalogue is empty. Add the first animal.').waitFor()
    await page.goto(`${service.address}/?status=sold`)
    await page.getByText('No animal has this status now.').waitFor()
    await page.goto(`${service.address}/?after=5`)
    await page.getByText('No animal comes after id 5.').waitFor()
    await page.getByRole('link', { name: 'Show the first page' }).click()
    await page.getByText('The catalogue is empty').waitFor()
  })

  test('loading and slow: rows are kept free, and after three seconds the page says that it waits', async t => {
    const { page, service } = await open(t, { animals: some(5) })
    let answer = () => {}
    const asked = new Promise<void>(resolve => {
      page.route('**/v1/pets**', async route => {
        resolve()
        await new Promise<void>(go => {
          answer = go
        })
        await route.continue()
      })
    })
    await page.clock.install()
    await page.goto(`${service.address}/?limit=50`)
    await asked
    assert.equal(await page.locator('tr.skeleton').count(), 20)
    assert.equal(await page.locator('table').getAttribute('aria-busy'), 'true')
    assert.equal(await page.getByText('longer than usual').isVisible(), false)
    await page.clock.fastForward(3_000)
    await page.getByText('This takes longer than usual. Still waiting …').waitFor()
    answer()
    assert.equal((await rows(page)).length, 5)
    await page.getByText('longer than usual').waitFor({ state: 'hidden' })
  })

  test('refused: an address that leads nowhere is told in the words of the server, with a way out', async t => {
    const { page, service } = await open(t, { animals: some(1) })
    for (const [search, words] of [
      ['?limit=500', 'limit must be a whole number from 1 to 100'],
      ['?after=x', 'after must be the id of an animal'],
      ['?status=lost', 'status must be one of'],
    ]) {
      await page.goto(service.address + search)
      await page.getByText(words as string).waitFor()
      await page.getByRole('link', { name: 'Show the first page' }).click()
      await arrive(page, '', '1')
    }
  })

  test('away: what was loaded stays, and the page goes on by itself when the server is back', async t => {
    const port = await freePort()
    const database = { kind: 'sqlite', path: join(temporaryFolder(t), 'animals.db') } as const
    const { page, service } = await open(t, { animals: some(30), service: { port, database } })
    await rows(page)
    await service.stop()
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('The server cannot be reached. Trying again').waitFor()
    assert.equal((await page.locator('#rows tr').count()) > 0, true)
    await startTestService(t, { port, database })
    await arrive(page, '?after=20', '21')
    await page.getByText('cannot be reached').waitFor({ state: 'hidden' })
  })

  test('away: 503 is told apart, and one need not wait', async t => {
    const { page } = await open(t, { animals: some(30) })
    await page.route('**/v1/pets**', route =>
      route.fulfill({
        status: 503,
        contentType: 'application/json',
        body: '{"code":"unavailable","message":"","status":503}',
      }),
    )
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('The server cannot answer right now.').waitFor()
    await page.unroute('**/v1/pets**')
    await page.getByRole('button', { name: 'Try now' }).click()
    await arrive(page, '?after=20', '21')
  })

  test('offline: the page says so, and goes on when the network is back', async t => {
    const { page, context } = await open(t, { animals: some(30) })
    await rows(page)
    await context.setOffline(true)
    await page.getByText('You are offline.').waitFor()
    const failed = page.waitForEvent('requestfailed')
    await page.getByRole('link', { name: 'Next' }).click()
    await failed
    await page.getByRole('button', { name: 'Try now' }).waitFor()
    await context.setOffline(false)
    await arrive(page, '?after=20', '21')
    await page.getByText('You are offline.').waitFor({ state: 'hidden' })
  })
})

suite('for everyone', () => {
  test('everything can be done with the keyboard', async t => {
    const { page } = await open(t, { animals: some(30), isSignedIn: false })
    const press = (...keys: string[]) =>
      keys.reduce((last, key) => last.then(() => page.keyboard.press(key)), Promise.resolve())
    const focused = () =>
      page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent)
    assert.equal(await focused(), 'key')
    await page.keyboard.type(API_KEY)
    await press('Enter')
    await rows(page)
    assert.equal(await focused(), 'title')
    await press('Tab')
    assert.equal(await focused(), 'add')
    await press('Enter')
    assert.equal(await focused(), 'name')
    await press('Escape')
    assert.equal(await focused(), 'add')
    await press('Enter')
    await page.keyboard.type('Kim')
    await press('Tab')
    await page.keyboard.type('8')
    await press('Enter')
    await arrive(page, '?after=30', '31')
    await page.getByRole('link', { name: 'First page' }).focus()
    await press('Enter')
    await arrive(page, '', '1')
    assert.equal(await focused(), 'title')
    await press('Tab', 'Tab', 'ArrowDown')
    await arrive(page, '?status=available', '1')
    assert.equal(await focused(), 'status')
  })

  const WIDTHS = [320, 768, 1440]
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of WIDTHS) {
      test(`has no barrier that axe knows, in ${colorScheme} on ${width} pixels`, async t => {
        const long = { name: 'long'.repeat(250), categoryId: -9223372036854775808n }
        const { page, service } = await open(t, {
          animals: [...some(25, ['available', 'pending', 'sold', undefined]), long],
          context: { colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce' },
          isSignedIn: false,
        })
        await check(page, 'signing in')
        await signIn(page)
        await rows(page)
        await check(page, 'the list')
        await page.goto(`${service.address}/?after=20`)
        await rows(page)
        await check(page, 'the last page')
        await page.getByRole('button', { name: 'Add an animal' }).click()
        await page.getByLabel('Name').fill(' ')
        await page.getByLabel('Category').fill('7')
        await check(page, 'the form')
        await page.getByRole('button', { name: 'Cancel' }).click()
        await page.goto(`${service.address}/?limit=500`)
        await page.getByText('limit must be').waitFor()
        await check(page, 'a refusal')
        await page.route('**/v1/pets**', route => route.abort())
        await page.goto(service.address)
        await page.getByText('The server cannot be reached').waitFor()
        await check(page, 'the server away')
      })
    }
  }

  async function check(page: Page, state: string): Promise<void> {
    await page.evaluate(AXE)
    const { violations, overflow } = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: unknown[] }> } }
      const { violations } = await axe.run()
      return { violations, overflow: document.documentElement.scrollWidth - innerWidth }
    })
    assert.deepEqual(violations, [], state)
    assert.ok(overflow <= 0, `${state} is ${overflow} pixels too wide`)
  }

  test('nothing moves by itself while a page is loaded', async t => {
    const { page, service } = await open(t, { animals: some(60, ['sold', 'pending']) })
    await page.goto(`${service.address}/?after=20`)
    await arrive(page, '?after=20', '21')
    const shifts = await page.evaluate(async () => {
      const observer = new PerformanceObserver(() => {})
      observer.observe({ type: 'layout-shift', buffered: true })
      for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame)
      const found = observer.takeRecords() as unknown as { value: number }[]
      return found.reduce((sum, { value }) => sum + value, 0)
    })
    assert.ok(shifts < 0.01, `the page moved by ${shifts}`)
  })
})
