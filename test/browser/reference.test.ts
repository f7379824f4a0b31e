// The API reference in a real browser: samples, forms, search, and its look on all screens.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { API_KEY, type TestService } from '../support/service.ts'
import { checkAccessibility } from './axe.ts'
import {
  failRequests,
  newAnimals,
  signIn,
  startWithAnimals,
  stopClock,
  useCatalogue,
} from './catalogue-page.ts'

const LARGE = 9007199254740993n
const WIDE = { viewport: { width: 1280, height: 900 } }
const COPYING = { ...WIDE, permissions: ['clipboard-read', 'clipboard-write'] }
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

async function textOf(locator: Locator): Promise<string> {
  return (await locator.textContent()) ?? ''
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

const CONFIRM = { createPet: 'Add an animal', updatePet: 'Change an animal', deletePet: 'Remove an animal' }

/** Answers the question that "Send" asks before a write in production. */
async function sendWrite(page: Page, operation: keyof typeof CONFIRM): Promise<Locator> {
  const output = await send(page, operation)
  await output.getByRole('button', { name: CONFIRM[operation] }).click()
  await output.locator('strong').waitFor()
  return output
}

function copied(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText())
}

function response(page: Page, operation: string): Locator {
  return page.locator(`#${operation} .response > pre`)
}

suite('the samples', () => {
  test('follow the values of the form, and never show the key', async t => {
    const { page, service } = await openReference(t)
    const list = sample(page, 'listPets')
    assert.equal(
      await list.textContent(),
      `curl '${service.address}/v1/pets' \\\n  -H "Authorization: Bearer $ANIMAL_STORE_KEY"`,
    )
    await page.locator('#listPets').getByLabel('limit', { exact: true }).fill('5')
    await page.locator('#listPets').getByLabel('status', { exact: true }).selectOption('sold')
    assert.match(await textOf(list), /\/v1\/pets\?limit=5&status=sold'/)
    await page.locator('#listPets').getByLabel('name', { exact: true }).fill(`Zoë's +1% `)
    await page.locator('#listPets').getByLabel('categoryId', { exact: true }).fill(String(LARGE))
    assert.ok((await textOf(list)).includes(`&status=sold&name=Zo%C3%AB%27s+%2B1%25+&categoryId=${LARGE}'`))
    await page.locator('#getPet').getByLabel('petId', { exact: true }).fill('7')
    assert.match(await textOf(sample(page, 'getPet')), /\/v1\/pets\/7'/)
    await page.getByLabel('API key').fill(API_KEY)
    assert.doesNotMatch(await textOf(list), new RegExp(API_KEY))
  })

  test('are all in the language that was chosen for one of them, also after a reload', async t => {
    const { page } = await openReference(t)
    await page.locator('#createPet').getByText('TypeScript', { exact: true }).click()
    assert.match(await textOf(sample(page, 'createPet')), /createAnimal\(\{\s+name: 'Bella',/)
    assert.match(await textOf(sample(page, 'listPets')), /store\.listAnimals\(\)/)
    assert.match(await textOf(sample(page, 'getPet')), /store\.findAnimal\(1n\)/)
    assert.match(await textOf(sample(page, 'getInventory')), /store\.inventory\(\)/)
    assert.match(await textOf(sample(page, 'updatePet')), /\.updateAnimal\(1n, \{\s+status: 'sold'/)
    assert.match(await textOf(sample(page, 'deletePet')), /\.deleteAnimal\(1n, \{ idempotencyKey: '\d+' \}\)/)
    const search = page.locator('#listPets')
    await search.getByLabel('name', { exact: true }).fill("Zoë's")
    await search.getByLabel('categoryId', { exact: true }).fill('7')
    assert.match(await textOf(sample(page, 'listPets')), /\(\{ name: 'Zoë\\'s', categoryId: 7n \}\)/)
    await page.locator('#listPets').getByRole('radio', { name: 'TypeScript' }).press('ArrowRight')
    assert.match(await textOf(sample(page, 'createPet')), /^const response = await fetch\('http.*body: `\{/s)
    await page.locator('#errors').getByRole('radio', { name: 'JavaScript' }).press('ArrowRight')
    assert.match(await textOf(sample(page, 'getPet')), /^import json/)
    await page.reload()
    for (const id of ['getPet', 'paging']) assert.match(await textOf(sample(page, id)), /^import json/)
    await page.evaluate(() => localStorage.setItem('animal-store-language:/', 'cobol'))
    await page.reload()
    assert.match(await textOf(sample(page, 'getPet')), /^curl /)
  })

  test('can be copied', async t => {
    const { page } = await openReference(t, COPYING)
    await page.locator('#createPet .samples').getByRole('button', { name: 'Copy' }).click()
    await page.locator('#createPet .copy[data-state=copied]').waitFor()
    assert.equal(await copied(page), await sample(page, 'createPet').textContent())
    const withoutButton = await page
      .locator('main pre')
      .evaluateAll(blocks => blocks.filter(block => !block.parentElement?.querySelector(':scope > .copy')))
    assert.deepEqual(withoutButton, [])
  })
})

suite('the forms', () => {
  test('ask for the key once, beside "Send", and the page does not move', async t => {
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 375, height: 667 },
    ]) {
      const { page } = await openReference(t, { viewport })
      const place = (operation: string) =>
        page
          .locator(`#${operation} .send button`)
          .evaluate(button => [scrollY, button.getBoundingClientRect().top])
      const field = page.getByLabel('API key')
      for (const operation of ['createPet', 'listPets', 'getPet']) {
        const button = page.locator(`#${operation}`).getByRole('button', { name: 'Send' })
        await button.scrollIntoViewIfNeeded()
        const before = await place(operation)
        await button.click()
        await page.locator(`#${operation} #api-key:focus`).waitFor()
        assert.deepEqual(await place(operation), before, `${operation} at ${viewport.width}`)
        await field.pressSequentially('0123456789')
        assert.deepEqual(await place(operation), before, `${operation} at ${viewport.width}, typed`)
        await field.fill('')
      }
      await page.locator('#getPet .send button').click()
      const before = await place('getPet')
      await field.fill(API_KEY)
      await field.press('Enter')
      await page.locator('#getPet output.accepted').waitFor()
      assert.deepEqual(await place('getPet'), before)
      assert.equal(await page.locator('#getPet .send button:focus').count(), 1)
      assert.match(await textOf(await send(page, 'listPets')), /^200 OK/)
      assert.equal(await page.locator('#top').getByLabel('API key').inputValue(), API_KEY)
    }
  })

  test('offer to change a key that was rejected, in the same place', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill('wrong')
    assert.match(await textOf(await send(page, 'getPet')), /^Rejected: 401 .* Enter another API key\.$/)
    await page.locator('#getPet #api-key:focus').waitFor()
    await page.keyboard.type(API_KEY)
    await page.keyboard.press('Enter')
    await page.locator('#getPet output.accepted').waitFor()
  })

  test('say in words why there is no response', async t => {
    const { page } = await openReference(t)
    const output = page.locator('#listPets output')
    const sends = async (sentence: string) => {
      await page.locator('#listPets').getByRole('button', { name: 'Send' }).click()
      await output.getByText(sentence).waitFor()
      assert.doesNotMatch(await textOf(output), /fetch|Error|ISO/)
    }
    for (const key of ['clé', '🔑', 'two words']) {
      await page.getByLabel('API key').fill(key)
      await sends('Not sent. This is not a valid key. A key has only ASCII letters, digits and symbols')
      assert.equal(await page.locator('#listPets').getByLabel('API key').inputValue(), key)
    }
    await page.getByLabel('API key').fill(API_KEY)
    await page.route('**/v1/pets', route => route.abort())
    await sends('No response. The service cannot be reached.')
    await page.unroute('**/v1/pets')
    await page.context().setOffline(true)
    await sends('No response. This device is offline.')
    await page.context().setOffline(false)
    await page.evaluate(() => {
      AbortSignal.timeout = () => AbortSignal.abort(new DOMException('', 'TimeoutError'))
    })
    await sends('No response. The service did not answer within 30 seconds.')
    await page.locator('#createPet').getByLabel('Idempotency-Key', { exact: true }).fill('🐈')
    const creation = await send(page, 'createPet')
    assert.match(await textOf(creation), /^Not sent\. Idempotency-Key has a character that no header can/)
  })

  test('open the next page, also of a search, until there is none', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    const operation = page.locator('#listPets')
    await operation.getByLabel('limit', { exact: true }).fill('10')
    await operation.getByLabel('name', { exact: true }).fill('animal')
    await operation.getByLabel('before', { exact: true }).fill('12')
    await send(page, 'listPets')
    const next = operation.getByRole('button', { name: 'Next page' })
    for (const [after, first] of [
      ['11', '12'],
      ['21', '22'],
    ]) {
      await next.press('Enter')
      await response(page, 'listPets').getByText(`"id": ${first},`).waitFor()
      assert.equal(await operation.getByLabel('after', { exact: true }).inputValue(), after)
      assert.equal(await operation.getByLabel('before', { exact: true }).inputValue(), '')
      assert.match(await textOf(sample(page, 'listPets')), new RegExp(`name=animal&after=${after}'`))
    }
    await next.waitFor({ state: 'hidden' })
    assert.equal(await operation.locator('.send button:focus').count(), 1)
  })

  test('show an example of each status, and the response again', async t => {
    const { page } = await openReference(t)
    const block = page.locator('#getPet .response')
    const status = block.getByLabel('Status of the example')
    assert.deepEqual(await status.locator('option').allTextContents(), [
      '200',
      '304',
      '400',
      '401',
      '404',
      '408',
      '410',
      '413',
      '417',
      '429',
      '431',
      '500',
      '503',
    ])
    await status.selectOption('304')
    assert.equal(await response(page, 'getPet').textContent(), 'no body')
    await status.selectOption('404')
    await block.getByText('Response 404, an example').waitFor()
    assert.match(await textOf(response(page, 'getPet')), /"code": "not_found"/)
    await page.getByLabel('API key').fill(API_KEY)
    await send(page, 'getPet')
    assert.match(await textOf(response(page, 'getPet')), /"name": "Momo"/)
    await status.selectOption('429')
    assert.match(await textOf(response(page, 'getPet')), /"code": "rate_limited"/)
    assert.equal(await block.getByText('Headers').isVisible(), false)
    await status.selectOption('Your response')
    assert.match(await textOf(response(page, 'getPet')), /"name": "Momo"/)
    assert.equal(await block.locator('p').textContent(), 'Response 200')
  })

  test('use the key of the catalogue, and do not store another one', async t => {
    const { page } = await openReference(t, WIDE, '/')
    await signIn(page)
    await page.getByRole('link', { name: 'API reference' }).first().click()
    await page.getByText('The key that you entered in the catalogue.').waitFor()
    assert.equal(await page.getByLabel('API key').inputValue(), API_KEY)
    assert.match(await textOf(sample(page, 'listPets')), /\$ANIMAL_STORE_KEY/)
    await page.getByLabel('API key').fill('another-key-0123456789')
    await page.getByText('The key is not stored.').waitFor()
    await page.reload()
    assert.equal(await page.getByLabel('API key').inputValue(), API_KEY)
  })

  test('show an example of the response, and after "Send" the response with every digit', async t => {
    const { page } = await openReference(t, COPYING)
    const block = page.locator('#listPets .response')
    assert.match(await textOf(block), /^Response 200, an example.*"Bella"/s)
    assert.equal(await block.getByText('Headers').isVisible(), false)
    const limit = page.locator('#listPets').getByLabel('limit', { exact: true })
    await limit.fill('1')
    await limit.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'api-key', 'no key is asked for')
    await page.keyboard.type(API_KEY)
    await limit.press('Enter')
    const output = page.locator('#listPets output')
    await output.locator('strong').waitFor()
    assert.match(await textOf(output), /^200 OK in [\d,]+ ms$/)
    assert.equal(await output.getAttribute('class'), 'accepted')
    const body = `[\n  {\n    "id": 1,\n    "name": "Momo",\n    "categoryId": ${LARGE}\n  }\n]`
    assert.equal(await response(page, 'listPets').textContent(), body)
    await block.getByRole('button', { name: 'Copy' }).first().click()
    await block.locator('[data-state=copied]').waitFor()
    assert.equal(await copied(page), body)
    const headers = block.locator('details pre')
    assert.equal(await headers.isVisible(), false)
    await block.getByText('Headers').click()
    assert.match(await textOf(headers), /^link: <\/v1\/pets\?limit=1&after=1>/m)
  })

  test('send a search with the text as it was typed', async t => {
    const name = ` Zoë's + 100% & co=?#/\\ 🐈 `
    const service = await startWithAnimals(t, [{ name: `x${name}x`, categoryId: LARGE }, ...newAnimals(24)])
    const { page } = await openPage(t, service, { path: '/docs', context: WIDE, isSignedIn: false })
    await page.getByLabel('API key').fill(API_KEY)
    await page.locator('#listPets').getByLabel('name', { exact: true }).fill(name)
    await page.locator('#listPets').getByLabel('categoryId', { exact: true }).fill(String(LARGE))
    assert.match(await textOf(await send(page, 'listPets')), /^200 OK/)
    const ids = (await textOf(response(page, 'listPets'))).match(/"id": \d+/g)
    assert.deepEqual(ids, ['"id": 1'])
  })

  test('send an operation without parameters', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    await page.locator('#getInventory .send').getByText('GET /v1/store/inventory').waitFor()
    assert.match(await textOf(await send(page, 'getInventory')), /^200 OK/)
    const body = '{\n  "available": 24,\n  "pending": 0,\n  "sold": 0,\n  "none": 1\n}'
    assert.equal(await response(page, 'getInventory').textContent(), body)
  })

  test('ask before each write in production, in words of the operation', async t => {
    const { page, service } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    const cases = [
      { operation: 'createPet', effect: 'adds an animal to production', outcomes: ['201', '201'] },
      { operation: 'updatePet', effect: 'changes animal 7 in production', outcomes: ['200', '200'] },
      {
        operation: 'deletePet',
        effect: 'removes animal 7 from production for good',
        outcomes: ['204', '404'],
      },
    ] as const
    for (const { operation, effect, outcomes } of cases) {
      const form = page.locator(`#${operation}`)
      const petId = form.getByLabel('petId', { exact: true })
      if ((await petId.count()) > 0) await petId.fill('7')
      assert.equal(await form.locator('.effect').textContent(), effect)
      const before = (await service.send('GET', '/v1/pets?limit=100')).text
      const output = await send(page, operation)
      await output.getByText(`Nothing was sent yet. This request ${effect}.`).waitFor()
      await output.getByRole('button', { name: 'Cancel' }).click()
      assert.equal(await output.textContent(), 'Nothing was sent.')
      assert.equal((await service.send('GET', '/v1/pets?limit=100')).text, before)
      for (const outcome of outcomes)
        assert.match(await textOf(await sendWrite(page, operation)), new RegExp(`${outcome} `), operation)
    }
  })

  test('withdraw the question when the request changes, and not when the language of the sample does', async t => {
    const { page, service } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    const output = await send(page, 'deletePet')
    await page.locator('#deletePet').getByText('Go', { exact: true }).click()
    await output.getByText('This request removes animal 1 from production').waitFor()
    await page.locator('#deletePet').getByLabel('petId', { exact: true }).fill('2')
    await output.getByText('Nothing was sent yet. The request was changed.').waitFor()
    assert.equal(await output.getByRole('button').count(), 0)
    assert.match(await textOf(await sendWrite(page, 'deletePet')), /^204 No Content/)
    assert.equal((await service.send('GET', '/v1/pets/1')).status, 200)
    assert.equal((await service.send('GET', '/v1/pets/2')).status, 404)
  })

  test('do not ask in staging', async t => {
    const service = await startWithAnimals(t, newAnimals(25), { environment: 'staging' })
    const { page } = await openPage(t, service, { path: '/docs', context: WIDE, isSignedIn: false })
    await page.getByLabel('API key').fill(API_KEY)
    await page.locator('#listPets .send').getByText('reads from staging and changes nothing').waitFor()
    await page.locator('#deletePet .send').getByText('removes animal 1 from staging for good').waitFor()
    assert.match(await textOf(await send(page, 'createPet')), /^201 Created/)
    assert.match(await textOf(await send(page, 'updatePet')), /^200 OK/)
    assert.match(await textOf(await send(page, 'deletePet')), /^204 No Content/)
  })

  test('send a change with its media type and its conditions, and leave out what is empty', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    const form = page.locator('#updatePet')
    const fill = (name: string, value: string) => form.getByLabel(name, { exact: true }).fill(value)
    await fill('petId', '2')
    const requests: { url: string; headers: Record<string, string> }[] = []
    page.on('request', request => requests.push({ url: request.url(), headers: request.headers() }))
    await sendWrite(page, 'updatePet')
    assert.match(await textOf(response(page, 'updatePet')), /"id": 2,.*"status": "sold"/s)
    assert.match(requests[0]?.url ?? '', /\/v1\/pets\/2$/)
    assert.equal(requests[0]?.headers['content-type'], 'application/merge-patch+json')
    assert.equal(requests[0]?.headers['if-match'], undefined)
    const [, tag = ''] = /^etag: (.*)$/m.exec(await textOf(form.locator('details pre').last())) ?? []
    await fill('If-Match', tag)
    await form.getByLabel('ifStatus', { exact: true }).selectOption('sold')
    await form.locator('textarea').fill('{"status": null}')
    assert.match(await textOf(await sendWrite(page, 'updatePet')), /^200 OK/)
    assert.equal(
      await response(page, 'updatePet').textContent(),
      '{\n  "id": 2,\n  "name": "Animal 1",\n  "categoryId": 0\n}',
    )
    assert.match(await textOf(await sendWrite(page, 'updatePet')), /^Rejected: 412 Precondition Failed/)
    await fill('If-Match', '')
    assert.match(await textOf(await sendWrite(page, 'updatePet')), /^Rejected: 409 Conflict/)
    await page.locator('#getPet').getByLabel('If-None-Match', { exact: true }).fill('*')
    assert.match(await textOf(await send(page, 'getPet')), /^304 Not Modified/)
    await page.locator('#deletePet').getByLabel('petId', { exact: true }).fill('2')
    assert.match(await textOf(await sendWrite(page, 'deletePet')), /^204 No Content/)
    for (const operation of ['getPet', 'deletePet'])
      assert.equal(await response(page, operation).textContent(), 'no body')
  })

  test('generate an Idempotency-Key: a new one after each animal, the same one without an answer', async t => {
    const { page, service } = await openReference(t)
    const field = page.locator('#createPet').getByLabel('Idempotency-Key', { exact: true })
    const first = await field.inputValue()
    assert.match(first, /^\d+$/)
    assert.match(await textOf(sample(page, 'createPet')), new RegExp(`Idempotency-Key: ${first}`))
    await page.getByLabel('API key').fill(API_KEY)
    // The animal is stored, but the answer is lost.
    await page.route('**/v1/pets', async route => {
      await route.fetch()
      await route.abort()
    })
    assert.match(await textOf(await sendWrite(page, 'createPet')), /^No response.*nothing is done twice\.$/)
    assert.equal(await field.inputValue(), first)
    await page.unroute('**/v1/pets')
    assert.match(await textOf(await sendWrite(page, 'createPet')), /^201 Created/)
    assert.match(await textOf(page.locator('#createPet details pre').last()), /idempotent-replayed/)
    assert.equal((await service.send('GET', '/v1/pets/27')).status, 404)
    assert.notEqual(await field.inputValue(), first)
    await field.fill('my-own')
    await sendWrite(page, 'createPet')
    await response(page, 'createPet').getByText('"id": 27').waitFor()
    assert.equal(await field.inputValue(), 'my-own')
  })

  test('generate an Idempotency-Key for each change and removal too', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    for (const operation of ['updatePet', 'deletePet'] as const) {
      const form = page.locator(`#${operation}`)
      const field = form.getByLabel('Idempotency-Key', { exact: true })
      const first = await field.inputValue()
      await form.getByLabel('ifStatus', { exact: true }).selectOption('pending')
      await sendWrite(page, operation)
      assert.equal(await field.inputValue(), first, 'the key of a rejected request')
      await form
        .getByLabel('ifStatus', { exact: true })
        .selectOption(operation === 'updatePet' ? 'none' : 'sold')
      await page.route('**/v1/pets/1?*', async route => {
        await route.fetch()
        await route.abort()
      })
      assert.match(await textOf(await sendWrite(page, operation)), /^No response/)
      assert.equal(await field.inputValue(), first)
      await page.unroute('**/v1/pets/1?*')
      assert.match(await textOf(await sendWrite(page, operation)), /^20[04] /)
      assert.match(await textOf(form.locator('details pre').last()), /idempotent-replayed/)
      assert.notEqual(await field.inputValue(), first)
    }
  })

  test('say how long to wait, and send nothing by themselves', async t => {
    const { page } = await openReference(t, WIDE, '/livez')
    await stopClock(page)
    await page.goto(new URL('/docs', page.url()).href)
    await page.locator('#api-key').fill(API_KEY)
    let sent = 0
    page.on('request', request => {
      if (request.url().includes('/v1/')) sent++
    })
    await failRequests(page, 429, 'rate_limited', { 'retry-after': '20' })
    assert.match(await textOf(await send(page, 'listPets')), / ms\. Wait 20 seconds, then send again\.$/)
    await failRequests(page, 503, 'unavailable', { 'retry-after': '1' })
    assert.match(await textOf(await sendWrite(page, 'createPet')), / ms\. Wait 1 second, then send again\.$/)
    await page.clock.fastForward(60_000)
    await send(page, 'listPets')
    assert.equal(sent, 3)
  })

  test('show a rejected request as an error', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    await page.locator('#createPet textarea').fill('{"name": ""}')
    assert.match(await textOf(await sendWrite(page, 'createPet')), /^Rejected: 400 Bad Request/)
    assert.match(await textOf(response(page, 'createPet')), /categoryId is required/)
    await page.getByLabel('API key').fill('wrong')
    const getPet = await send(page, 'getPet')
    assert.equal(await getPet.getAttribute('class'), 'refused')
    assert.match(await textOf(getPet), /^Rejected: 401 Unauthorized/)
    await page.route('**/v1/pets/*', route => route.fulfill({ status: 503, json: {} }))
    assert.match(await textOf(await send(page, 'getPet')), /^Failed: 503 Service Unavailable/)
  })
})

suite('with a key that may only read', () => {
  const WRITES = ['createPet', 'updatePet', 'deletePet'] as const
  const READS = ['listPets', 'getInventory', 'getPet'] as const
  const REASON = 'This key may only read. Enter one that may write.'

  async function checkWrites(page: Page, isOffered: boolean): Promise<void> {
    for (const operation of WRITES) {
      const form = page.locator(`#${operation}`)
      assert.equal(await form.getByRole('button', { name: 'Send' }).isEnabled(), isOffered, operation)
      assert.equal((await form.locator('.effect').textContent()) === REASON, !isOffered, operation)
    }
    assert.equal(await page.locator('.environment-note').isVisible(), !isOffered, 'the badge')
    for (const operation of READS)
      assert.equal(
        await page.locator(`#${operation}`).getByRole('button', { name: 'Send' }).isEnabled(),
        true,
        operation,
      )
  }

  test('there is nothing to send that writes, and each of these operations says why', async t => {
    const { page } = await openReference(t)
    const requests: string[] = []
    page.on('request', request => requests.push(request.method()))
    const field = page.getByLabel('API key')
    for (const prefix of ['as_read_live_', 'as_read_test_']) {
      await checkWrites(page, true)
      await field.fill(`${prefix}abc`)
      await checkWrites(page, false)
      // It sends from a field neither.
      await page.locator('#updatePet').getByLabel('petId', { exact: true }).fill('2')
      await page.locator('#updatePet').getByLabel('petId', { exact: true }).press('Enter')
      await checkWrites(page, false)
      await field.fill(API_KEY)
    }
    assert.match(await textOf(await send(page, 'listPets')), /^200 OK/)
    assert.deepEqual(requests, ['GET'])
    await checkWrites(page, true)
  })

  test('a question is withdrawn, and a key that was asked for is refused in place', async t => {
    const { page } = await openReference(t)
    const output = page.locator('#createPet output')
    await page.locator('#createPet').getByRole('button', { name: 'Send' }).click()
    await page.locator('#createPet').getByLabel('API key').fill('Bearer as_read_live_abc')
    await output.getByText(`Not sent. ${REASON}`).waitFor()
    await page.getByLabel('API key').fill(API_KEY)
    await page.getByLabel('API key').press('Enter')
    await output.getByRole('button', { name: 'Add an animal' }).waitFor()
    await page.getByLabel('API key').fill('as_read_live_abc')
    await output.getByText(`Not sent. ${REASON}`).waitFor()
    assert.equal(await output.getByRole('button').count(), 0)
    await page.getByLabel('API key').fill(API_KEY)
    await output.waitFor({ state: 'hidden' })
  })

  test('it is the same after a 403, if the prefix says nothing', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    const error = { code: 'forbidden', message: 'This API key may only read.', status: 403 }
    await page.route('**/v1/pets', route => route.fulfill({ status: 403, json: error }))
    assert.match(await textOf(await sendWrite(page, 'createPet')), /^Rejected: 403 Forbidden.*may only read/)
    await page.locator('#createPet #api-key:focus').waitFor()
    await checkWrites(page, false)
    await page.getByLabel('API key').fill('another-key')
    await checkWrites(page, true)
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
    await page.locator('#search').fill('zebra')
    await page.getByText('Nothing matches.').waitFor()
    assert.equal(await links.count(), 0)
    const cases: [query: string, found: string[], opened: string][] = [
      ['python', ['List animals', 'Change an animal', 'Remove an animal', 'Get an animal'], '#listPets'],
      ['merge-patch', ['Change an animal', '415 unsupported_media_type'], '#conditions'],
      ['ifstatus', ['Change without undoing others', '409 conflict'], '#updatePet-ifStatus'],
      ['422', ['Errors', '422 idempotency_key_reused'], '#error-idempotency_key_reused'],
      ['limit', ['List animals', 'limit'], '#listPets-limit'],
      ['categoryid', ['Animal', 'categoryId'], '#listPets-categoryId'],
      ['counting', ['Searching and counting'], '#searching'],
      ['idempotency', ['Idempotency'], '#idempotency'],
      ['pagination', ['Paging', 'List animals'], '#paging'],
      ['cursor', ['Paging', 'List animals'], '#paging'],
      ['sort', ['Paging', 'List animals'], '#paging'],
      ['update', ['Change an animal'], '#updatePet'],
      ['delete', ['Remove an animal'], '#deletePet'],
      ['sell', ['Change without undoing others', 'Change an animal'], '#conditions'],
      ['retry', ['Idempotency', 'Change without undoing others', 'Rate limits'], '#idempotency'],
      ['lost update', ['Change without undoing others'], '#conditions'],
    ]
    for (const [query, found, opened] of cases) {
      await page.locator('#search').fill(query)
      const texts = (await links.allTextContents()).map(text =>
        text.replace(/(until .*)?(GET|POST|PATCH|DELETE)$/, ''),
      )
      assert.deepEqual(
        found.filter(text => !texts.includes(text)),
        [],
        `${query} finds ${texts.join()}`,
      )
      assert.equal(await page.locator('#contents .best').getAttribute('href'), opened, query)
      await page.locator('#search').press('Enter')
      assert.equal(await page.evaluate(() => location.hash), opened, query)
    }
    await page.locator('#search').fill('')
    assert.equal(await links.count(), all)
    assert.equal(await page.locator('#contents .best').count(), 0)
  })

  test('show a sentence of each result, and the arrow keys move between the search and the results', async t => {
    const { page } = await openReference(t)
    const focused = () =>
      page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent)
    await page.keyboard.press('/')
    await page.keyboard.type('retry-after')
    await page.locator('#contents').getByText('The API key has sent more requests than its limit').waitFor()
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(), 'Errors')
    await page.keyboard.press('ArrowDown')
    assert.equal(await focused(), '429 rate_limited')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    assert.equal(await focused(), 'search')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#error-rate_limited$/)
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
    await contents.locator('[href="#createPet"]:focus').waitFor()
    for (const [name, target] of [
      ['Catalogue', './'],
      ['OpenAPI document', './openapi.json'],
    ] as const)
      assert.equal(await contents.getByRole('link', { name }).getAttribute('href'), target)
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
        .locator('#listPets .response')
        .evaluate(block => getComputedStyle(block).backgroundColor)
      const [red = 255] = (background.match(/\d+/g) ?? []).map(Number)
      assert.ok(red < 50, `${background} in ${colorScheme}`)
    }
  })

  test('has the request, "Send" and the response on the screen together, also for the longest sample', async t => {
    const { page, service } = await openReference(t)
    await page.locator('#createPet').getByText('Go', { exact: true }).click()
    await page.getByLabel('API key').fill(API_KEY)
    await send(page, 'listPets')
    await page.locator('#listPets .response summary').click()
    await page.locator('#updatePet').getByText('Go', { exact: true }).click()
    await send(page, 'createPet')
    await send(page, 'updatePet')
    await send(page, 'deletePet')
    await send(page, 'getInventory')
    for (const [width, height] of [
      [1000, 768],
      [1280, 768],
      [1920, 1080],
    ] as const) {
      await page.setViewportSize({ width, height })
      for (const operation of ['listPets', 'createPet', 'updatePet', 'deletePet', 'getInventory']) {
        await page.goto(`${service.address}/docs#${operation}`)
        for (const part of ['.samples', '.send', 'output', '.response']) {
          const box = await page.locator(`#${operation} ${part}`).boundingBox()
          const bottom = box ? box.y + box.height : Number.POSITIVE_INFINITY
          assert.ok(bottom <= height, `${operation} ${part} ends at ${bottom} of ${width} × ${height}`)
        }
      }
    }
  })

  test('wraps the lines of all code', async t => {
    for (const context of [WIDE, SMALL]) {
      const { page } = await openReference(t, context)
      for (const language of ['curl', 'TypeScript', 'JavaScript', 'Python', 'Go']) {
        await page.locator('#updatePet .languages').getByText(language, { exact: true }).click()
        const hidden = await page
          .locator('main pre:visible')
          .evaluateAll(blocks => blocks.filter(block => block.scrollWidth > block.clientWidth).length)
        assert.equal(hidden, 0, language)
      }
    }
  })

  test('has the field of a parameter below its name on a small screen', async t => {
    const { page } = await openReference(t, SMALL)
    const [label, field] = await Promise.all(
      ['dt', '.value'].map(part => page.locator(`#listPets-name ${part}`).boundingBox()),
    )
    assert.ok(label && field && field.y >= label.y + label.height && field.width > 300)
  })

  test('indents the rest of a line that wraps, and changes no line break of a selection', async t => {
    const { page } = await openReference(t, SMALL)
    await page.locator('#listPets').getByLabel('name', { exact: true }).fill('a'.repeat(100))
    const { text, selected, start, lefts } = await sample(page, 'listPets').evaluate(block => {
      getSelection()?.selectAllChildren(block)
      return {
        text: block.textContent,
        selected: String(getSelection()),
        start: block.querySelector('.keyword')?.getBoundingClientRect().left ?? 0,
        lefts: [...(block.querySelector('.string')?.getClientRects() ?? [])].map(({ left }) => left),
      }
    })
    assert.equal(selected, text)
    assert.ok((lefts.at(-1) ?? 0) > start + 10, `${start}, then ${lefts}`)
  })

  test('marks the language and the section in forced colours', async t => {
    const { page } = await openReference(t, { ...WIDE, forcedColors: 'active' })
    const background = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate(element => getComputedStyle(element).backgroundColor)
    assert.notEqual(await background('.languages label'), await background('.languages label + label'))
    assert.notEqual(await background('#contents [aria-current]'), await background('#contents li + li a'))
  })

  test('is printed without controls, and with dark text on white', async t => {
    const { page } = await openReference(t)
    await page.getByLabel('API key').fill(API_KEY)
    await send(page, 'listPets')
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('button:visible, select:visible, textarea:visible').count(), 0)
    assert.equal(await page.locator('main input:visible').count(), 0)
    const style = await sample(page, 'listPets')
      .locator('.string')
      .first()
      .evaluate(element => [
        getComputedStyle(element).color,
        getComputedStyle(document.body).color,
        getComputedStyle(element.closest('.block') ?? element).backgroundColor,
      ])
    assert.deepEqual(style, [style[1], style[1], 'rgba(0, 0, 0, 0)'])
  })

  test('begins with a link that skips the contents', async t => {
    const { page } = await openReference(t)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(/#content$/)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'api-key')
  })

  test('is readable without JavaScript', async t => {
    const { page } = await openReference(t, { ...WIDE, javaScriptEnabled: false })
    await page.locator('#listPets').getByText('Python', { exact: true }).click()
    assert.match(await textOf(sample(page, 'listPets')), /^import json/)
    assert.equal(await page.locator('#contents').isVisible(), true)
    for (const useless of ['#api-key', '#search', '.copy', '.send', '.value input'])
      assert.equal(await page.locator(useless).first().isVisible(), false, useless)
  })

  test('has no violation that axe finds, light or dark, narrow or wide', async t => {
    const { page } = await openReference(t, { ...WIDE, reducedMotion: 'reduce' })
    await page.getByLabel('API key').fill(API_KEY)
    await send(page, 'listPets')
    await send(page, 'getInventory')
    await send(page, 'deletePet')
    await sendWrite(page, 'updatePet')
    await page.getByLabel('API key').fill('wrong')
    await send(page, 'getPet')
    await send(page, 'createPet')
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
