// The API reference in a real browser: samples, forms, search, and its look on all screens.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { API_KEY, type TestService } from '../support/service.ts'
import { checkAccessibility } from './axe.ts'
import { newAnimals, signIn, startWithAnimals, useCatalogue } from './catalogue-page.ts'

const LARGE = 9007199254740993n
const WIDE = { viewport: { width: 1280, height: 900 } }
const SMALL = { viewport: { width: 375, height: 700 } }

const openPage = useCatalogue()

interface OpenReference {
  readonly page: Page
  readonly service: TestService
}

async function openReference(
  t: TestContext,
  context: BrowserContextOptions = WIDE,
  path = '/docs',
): Promise<OpenReference> {
  const service = await startWithAnimals(t, [{ name: 'Momo', categoryId: LARGE }, ...newAnimals(24)])
  const { page } = await openPage(t, service, { path, context, isSignedIn: false })
  return { page, service }
}

function sample(page: Page, operation: string): Locator {
  return page.locator(`#${operation} .samples pre:visible`)
}

async function send(page: Page, operation: string): Promise<Locator> {
  await page.locator(`#${operation}`).getByRole('button', { name: 'Send' }).click()
  const output = page.locator(`#${operation} output`)
  await output.locator('strong, button').first().waitFor()
  return output
}

suite('the samples', () => {
  test('follow the values of the form, and show the key only if the reader asks for it', async t => {
    const { page, service } = await openReference(t)
    const list = sample(page, 'listPets')
    assert.equal(
      await list.textContent(),
      `curl '${service.address}/v1/pets' \\\n  -H "Authorization: Bearer $ANIMAL_STORE_KEY"`,
    )
    await page.locator('#listPets').getByLabel('limit').fill('5')
    await page.locator('#listPets').getByLabel('status').selectOption('sold')
    assert.match((await list.textContent()) ?? '', /\/v1\/pets\?limit=5&status=sold'/)
    await page.locator('#getPet').getByLabel('petId').fill('7')
    assert.match((await sample(page, 'getPet').textContent()) ?? '', /\/v1\/pets\/7'/)
    await page.getByLabel('API key').fill(API_KEY)
    assert.doesNotMatch((await list.textContent()) ?? '', new RegExp(API_KEY))
    await page.getByLabel('Show my key in the samples').check()
    for (const operation of ['listPets', 'createPet', 'getPet'])
      assert.match((await sample(page, operation).textContent()) ?? '', new RegExp(`Bearer ${API_KEY}'`))
    await page.getByLabel('Show my key in the samples').uncheck()
    assert.match((await list.textContent()) ?? '', /\$ANIMAL_STORE_KEY/)
  })

  test('are all in the language that was chosen for one of them, also after a reload', async t => {
    const { page } = await openReference(t)
    await page.locator('#createPet').getByText('JavaScript', { exact: true }).click()
    assert.match((await sample(page, 'createPet').textContent()) ?? '', /createAnimal\(\{\s+name: 'Bella',/)
    assert.match((await sample(page, 'listPets').textContent()) ?? '', /store\.listAnimals\(\)/)
    assert.match((await sample(page, 'getPet').textContent()) ?? '', /store\.findAnimal\(1n\)/)
    await page.locator('#listPets').getByRole('radio', { name: 'JavaScript' }).press('ArrowRight')
    assert.match((await sample(page, 'getPet').textContent()) ?? '', /^import json/)
    await page.reload()
    assert.match((await sample(page, 'getPet').textContent()) ?? '', /^import json/)
  })

  test('and the links to headings can be copied', async t => {
    const context = { ...WIDE, permissions: ['clipboard-read', 'clipboard-write'] }
    const { page, service } = await openReference(t, context)
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await page.locator('#createPet .samples').getByRole('button', { name: 'Copy' }).click()
    await page.locator('#createPet .copy[data-copied=true]').waitFor()
    assert.equal(await copied(), await sample(page, 'createPet').textContent())
    await page.getByRole('button', { name: 'Copy the link to Paging' }).click()
    await page.locator('#paging .copy-link[data-copied=true]').waitFor()
    assert.equal(await copied(), `${service.address}/docs#paging`)
    await page.getByRole('heading', { name: 'List animals' }).getByRole('link').click()
    await page.waitForURL(/#listPets$/)
    const headings = page.locator('main :is(h2, h3)')
    assert.equal(await headings.count(), await headings.locator('a[href^="#"]').count())
  })
})

suite('the forms', () => {
  test('use the key of the catalogue, and do not store another one', async t => {
    const { page } = await openReference(t, WIDE, '/')
    await signIn(page)
    await page.getByRole('link', { name: 'API reference' }).first().click()
    await page.getByText('The key that you used to sign in').waitFor()
    assert.equal(await page.getByLabel('API key').inputValue(), API_KEY)
    assert.match((await sample(page, 'listPets').textContent()) ?? '', /\$ANIMAL_STORE_KEY/)
    await page.getByLabel('API key').fill('another-key-0123456789')
    await page.getByText('Not stored').waitFor()
    await page.reload()
    assert.equal(await page.getByLabel('API key').inputValue(), API_KEY)
  })

  test('explain that a key is needed, and send nothing', async t => {
    const { page } = await openReference(t)
    const requests: string[] = []
    page.on('request', request => requests.push(request.url()))
    const output = await send(page, 'createPet')
    assert.match((await output.textContent()) ?? '', /^Nothing was sent: the request needs an API key/)
    await output.getByRole('button', { name: 'Enter a key' }).click()
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'api-key')
    assert.deepEqual(requests, [])
  })

  test('show status, time, headers and body, with every digit', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    await page.locator('#listPets').getByLabel('limit').fill('1')
    const output = await send(page, 'listPets')
    assert.match((await output.textContent()) ?? '', /^200 OK in [\d,]+ ms/)
    assert.match(
      (await output.locator('.headers').textContent()) ?? '',
      /^link: <\/v1\/pets\?limit=1&after=1>/m,
    )
    assert.equal(
      await output.locator('.body').textContent(),
      `[\n  {\n    "id": 1,\n    "name": "Momo",\n    "categoryId": ${LARGE}\n  }\n]`,
    )
    assert.equal(await output.getAttribute('class'), 'accepted')
  })

  test('add an animal, and show a rejected request as an error', async t => {
    const { page, service } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    assert.match((await (await send(page, 'createPet')).textContent()) ?? '', /^201 Created/)
    assert.equal((await service.send('GET', '/v1/pets/26')).status, 200)
    await page.locator('#createPet textarea').fill('{"name": ""}')
    const refused = page.locator('#createPet output.refused')
    await page.locator('#createPet').getByRole('button', { name: 'Send' }).click()
    await refused.waitFor()
    assert.match((await refused.textContent()) ?? '', /^Refused: 400 Bad Request/)
    assert.match((await refused.locator('.body').textContent()) ?? '', /categoryId is required/)
    await page.getByLabel('API key').fill('wrong')
    const getPet = await send(page, 'getPet')
    assert.match((await getPet.textContent()) ?? '', /^Refused: 401 Unauthorized/)
    await page.route('**/v1/pets/*', route => route.fulfill({ status: 503, json: {} }))
    assert.match((await (await send(page, 'getPet')).textContent()) ?? '', /^Failed: 503 Service Unavailable/)
  })

  test('say that the server cannot be reached', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    await page.route('**/v1/pets**', route => route.abort())
    assert.match((await (await send(page, 'listPets')).textContent()) ?? '', /^No response/)
  })

  test('can be used with the keyboard only', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').focus()
    await page.keyboard.type(API_KEY)
    await page.locator('#listPets').getByLabel('limit').focus()
    await page.keyboard.type('2')
    await page.keyboard.press('Enter')
    await page.locator('#listPets output.accepted').waitFor()
  })
})

suite('the contents', () => {
  test('can be searched', async t => {
    const { page } = await openReference(t)
    const links = page.locator('#contents a:visible')
    const all = await links.count()
    await page.keyboard.press('/')
    await page.keyboard.type('rate_limited')
    assert.ok((await links.allTextContents()).includes('Errors'))
    assert.ok((await links.count()) < all)
    await page.locator('#search').fill('newest')
    assert.ok((await links.allTextContents()).includes('Paging'))
    await page.locator('#search').fill('zebra')
    await page.getByText('Nothing matches.').waitFor()
    assert.equal(await links.count(), 0)
    await page.locator('#search').fill('idempotency')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#idempotency$/)
  })

  test('mark the section that is in view, however short or far down it is, on any screen', async t => {
    const { page } = await openReference(t)
    for (const height of [600, 1000]) {
      await page.setViewportSize({ width: 1280, height })
      for (const section of ['createPet', 'Status', 'ErrorObject', 'start']) {
        await page.locator(`#contents a[href="#${section}"]`).click()
        await page.locator(`#contents a[href="#${section}"][aria-current]`).waitFor()
        await page.waitForFunction(() => document.querySelectorAll('#contents [aria-current]').length === 1)
      }
    }
  })

  test('are a drawer on a small screen', async t => {
    const { page } = await openReference(t, SMALL)
    const contents = page.locator('#contents')
    assert.equal(await contents.isVisible(), false)
    await page.getByRole('button', { name: 'Contents' }).click()
    await contents.getByRole('link', { name: 'Add an animal' }).click()
    await page.waitForURL(/#createPet$/)
    await contents.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Contents' }).press('Enter')
    await contents.waitFor()
    await page.keyboard.press('Escape')
    await contents.waitFor({ state: 'hidden' })
  })
})

suite('the page', () => {
  test('has its columns side by side from 1000 pixels on, and the code is dark in both schemes', async t => {
    const { page } = await openReference(t)
    for (const [width, columns] of [
      [1000, 3],
      [999, 1],
    ] as const) {
      await page.setViewportSize({ width, height: 800 })
      const lefts = await page.evaluate(() =>
        ['#contents', '#listPets .text', '#listPets .code']
          .map(selector => document.querySelector(selector)?.getBoundingClientRect())
          .filter(box => box !== undefined && box.width > 0)
          .map(box => box?.left),
      )
      assert.equal(new Set(lefts).size, columns)
    }
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const background = await page
        .locator('#listPets .code')
        .evaluate(code => getComputedStyle(code).backgroundColor)
      const [red = 255] = (background.match(/\d+/g) ?? []).map(Number)
      assert.ok(red < 50, `${background} in ${colorScheme}`)
    }
  })

  test('ends the two columns of a section, text and code, at the same height', async t => {
    const { page } = await openReference(t)
    const ends = await page
      .locator('main > section:not(.operation)')
      .evaluateAll(sections =>
        sections.map(section =>
          [...section.children].map(column => Math.round(column.getBoundingClientRect().bottom)),
        ),
      )
    for (const [text, code] of ends) assert.equal(text, code)
  })

  test('has the field for the key and its option in one line from 720 pixels on', async t => {
    const { page } = await openReference(t)
    for (const width of [720, 768, 1000, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      const [field, option] = await Promise.all(
        ['#api-key', '#key .check'].map(selector => page.locator(selector).boundingBox()),
      )
      assert.ok(field && option)
      assert.ok(option.y < field.y + field.height && option.x >= field.x + field.width, `at ${width}`)
      assert.ok(field.width >= 160, `${field.width} pixels for the key at ${width}`)
    }
  })

  test('is readable without JavaScript', async t => {
    const { page } = await openReference(t, { ...WIDE, javaScriptEnabled: false })
    await page.locator('#listPets').getByText('Python', { exact: true }).click()
    assert.match((await sample(page, 'listPets').textContent()) ?? '', /^import json/)
    assert.equal(await page.locator('#contents').isVisible(), true)
    for (const useless of ['#api-key', '#search', '.copy', '.send', '.value input'])
      assert.equal(await page.locator(useless).first().isVisible(), false, useless)
  })

  test('has no violation that axe finds, in any colour scheme and width', { timeout: 300_000 }, async t => {
    const { page } = await openReference(t, { ...WIDE, reducedMotion: 'reduce' })
    await page.getByLabel('API key').fill(API_KEY)
    await send(page, 'listPets')
    await page.getByLabel('API key').fill('wrong')
    await send(page, 'createPet')
    await page.getByLabel('API key').fill('')
    await send(page, 'getPet')
    await page.locator('details').evaluateAll(all => {
      for (const details of all) details.setAttribute('open', '')
    })
    await page.locator('#listPets').getByText('Go', { exact: true }).click()
    await checkAccessibility(page, 'the reference with results')
    await page.setViewportSize(SMALL.viewport)
    await page.getByRole('button', { name: 'Contents' }).click()
    await checkAccessibility(page, 'the drawer')
  })
})
