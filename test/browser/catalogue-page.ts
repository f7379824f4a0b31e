// The catalogue page in a real browser, on a real service: opens it and reads what it shows.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { NewAnimal, Status } from '../../src/animal.ts'
import type { ServiceOptions } from '../../src/cli/service/service.ts'
import { createAnimals } from '../support/animals.ts'
import { API_KEY, type Scope, startTestService, type TestService } from '../support/service.ts'
import { useBrowser } from './browser.ts'

export interface OpenOptions {
  readonly path?: string
  /** The clock of the page stands still from the start. */
  readonly isClockStopped?: boolean
  readonly context?: BrowserContextOptions
  /** The default is true. */
  readonly isSignedIn?: boolean
}

interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
}

/** Returns a function that opens the page. An error in the page's console, or a request to another host, fails the test. */
export function useCatalogue() {
  const newContext = useBrowser()
  return async (t: TestContext, service: TestService, options: OpenOptions = {}): Promise<OpenPage> => {
    const { path = '/', isSignedIn = true, isClockStopped = false } = options
    const context = await newContext(t, options.context)
    const page = await context.newPage()
    const errors: string[] = []
    page.on('pageerror', error => errors.push(String(error)))
    page.on('console', message => {
      // The browser also logs every error response. Tests cause these on purpose.
      const isErrorResponse = /Failed to load resource/.test(message.text())
      if (message.type() === 'error' && !isErrorResponse) errors.push(message.text())
    })
    page.on('request', request => {
      if (new URL(request.url()).origin !== service.address) errors.push(`request to ${request.url()}`)
    })
    t.after(() => assert.deepEqual(errors, []))
    if (isSignedIn) await storeKey(page, service.address)
    if (isClockStopped) await stopClock(page)
    await page.goto(service.address + path)
    if (isSignedIn) await waitForCatalogue(page)
    return { page, context }
  }
}

export async function startWithAnimals(
  t: Scope,
  animals: readonly NewAnimal[],
  options?: Partial<ServiceOptions>,
): Promise<TestService> {
  const service = await startTestService(t, options)
  for (let start = 0; start < animals.length; start += 1_000) {
    const batch = animals.slice(start, start + 1_000)
    await createAnimals(
      service.store,
      batch.map(animal => ({ animal })),
    )
  }
  return service
}

/** Animals with ids from 1, whose statuses repeat in this order. */
export function newAnimals(
  count: number,
  statuses: readonly (Status | undefined)[] = ['available'],
): NewAnimal[] {
  return Array.from({ length: count }, (_, index) => {
    const status = statuses[index % statuses.length]
    const animal = { name: `Animal ${index + 1}`, categoryId: BigInt(index) }
    return status === undefined ? animal : { ...animal, status }
  })
}

/** Signs in without the form, as if this tab had done so before (src/web/browser/browser-storage.ts). */
async function storeKey(page: Page, address: string): Promise<void> {
  await page.goto(`${address}/livez`)
  await page.evaluate(key => sessionStorage.setItem('animal-store-key:/', key), API_KEY)
}

export async function signIn(page: Page, key = API_KEY): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  if (key === API_KEY) await waitForCatalogue(page)
}

export async function waitForCatalogue(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Animals', exact: true }).waitFor()
}

/** Waits until the list has loaded. Returns the cells of each row: id, name, category and status. */
export async function readRows(page: Page): Promise<string[][]> {
  await page.locator('table[aria-busy=false]').waitFor({ state: 'attached' })
  return page
    .locator('#rows tr')
    .evaluateAll(rows => rows.map(row => [...row.children].map(cell => cell.textContent ?? '')))
}

export async function readIds(page: Page): Promise<string[]> {
  return (await readRows(page)).map(([id = '']) => id)
}

/** Waits until the URL has this query, whatever animal is in the panel, and its list has loaded and starts with this id. */
export async function waitForList(page: Page, search: string, firstId: string): Promise<void> {
  await page.waitForFunction(
    ([search, id]) =>
      location.search.replace(/[?&]animal=-?\d+$/, '') === search &&
      document.querySelector('table[aria-busy=false] #rows tr td')?.textContent === id,
    [search, firstId] as const,
  )
}

export async function openAddForm(page: Page): Promise<void> {
  await page.locator('#bar').getByRole('button', { name: 'New animal' }).click()
  await page.getByRole('heading', { name: 'New animal' }).waitFor()
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

/** Waits until the page knows the inventory. Returns the counts: total, available, pending, sold, no status. */
export async function readInventory(page: Page): Promise<string[]> {
  await page.locator('#filter .all b:not(:empty)').waitFor({ state: 'attached' })
  return page.locator('#filter b').allTextContents()
}

/**
 * Stops the clock of the page, starting with the next page that is loaded. Time then passes only when the test calls
 * `page.clock.fastForward`, so that a slow machine changes nothing.
 */
export async function stopClock(page: Page): Promise<void> {
  await page.clock.install({ time: 0 })
  // Until then the clock runs, and it cannot be set back.
  await page.clock.pauseAt(30_000)
}

/** Answers every API request of the page with this error. */
export async function failRequests(
  page: Page,
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  await page.route('**/v1/**', route =>
    route.fulfill({
      status,
      headers,
      contentType: 'application/json',
      body: JSON.stringify({ code, message: '', status }),
    }),
  )
}

interface HeldRequests {
  /** Resolves when the first request arrives. */
  readonly arrived: Promise<void>
  readonly release: () => void
}

/** Holds back the API requests of this method until they are released. */
export async function holdRequests(page: Page, method: string): Promise<HeldRequests> {
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  await page.route('**/v1/pets**', async route => {
    if (route.request().method() === method) {
      arrived.resolve()
      await released.promise
    }
    await route.continue()
  })
  return { arrived: arrived.promise, release: released.resolve }
}

/** How often the page counts the animals, and reads those on the screen again (src/web/browser/catalogue.ts). */
export const INTERVAL_MS = 5_000

/** Tells the page that its tab is hidden or visible again. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(isHidden => {
    Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

/** The row of the animal with this id. */
export function rowOf(page: Page, id: number): Locator {
  return page.locator('#rows tr', { has: page.locator('.id', { hasText: new RegExp(`^${id}$`) }) })
}

/** Opens the panel with the animal of this row. */
export async function openAnimal(page: Page, id: number): Promise<void> {
  await rowOf(page, id).locator('.name').click()
  await page.waitForFunction(id => document.querySelector('#details-id')?.textContent === id, String(id))
}

/** The button of the panel that sets this status. */
export function statusButton(page: Page, name: string): Locator {
  return page.getByRole('group', { name: 'Status', exact: true }).getByRole('button', { name })
}

/** Waits until the panel shows this status as the animal's. */
export async function waitForStatus(page: Page, name: string): Promise<void> {
  await page
    .getByRole('group', { name: 'Status', exact: true })
    .getByRole('button', { name, pressed: true })
    .waitFor()
}

/** Waits until a screen reader is told this. */
export async function waitForAnnouncement(page: Page, text: string): Promise<void> {
  await page.locator('#announcement', { hasText: text }).waitFor({ state: 'attached' })
}

/** Changes an animal as a colleague would. */
export async function changeAnimal(service: TestService, id: number, changes: object): Promise<void> {
  const { status } = await service.send('PATCH', `/v1/pets/${id}`, {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(changes),
  })
  assert.equal(status, 200)
}

/** Replaces the next answers to this method by an error of the server, after the service has carried out the requests. */
export async function failAnswers(page: Page, method: string, url = '**/v1/pets/**'): Promise<void> {
  await page.route(url, async route => {
    if (route.request().method() !== method) return route.fallback()
    await route.fetch()
    await route.fulfill({ status: 500, json: { code: 'internal_error', message: '', status: 500 } })
  })
}

/** Lets the next answers to this method get lost, after the service has carried out the requests. */
export async function loseAnswers(page: Page, method: string): Promise<void> {
  await page.route('**/v1/pets/**', async route => {
    if (route.request().method() !== method) return route.fallback()
    // The test may end before the page stops retrying.
    await route.fetch().catch(() => {})
    await route.abort().catch(() => {})
  })
}
