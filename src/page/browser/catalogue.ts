// The catalogue page at work: who is signed in, which page is shown, and what happens when the server is away.

import { AnimalStore, AnimalStoreError } from '../../client/animal-store.ts'
import { ServiceError } from '../../error.ts'
import { adding } from './adding.ts'
import { counted, find } from './elements.ts'
import { listing } from './listing.ts'
import { overview } from './overview.ts'
import { addressOf, type Place, parsePlace } from './place.ts'

/** Kept by the browser for this tab alone. */
const KEY = 'animal-store-key'

const SLOW_MS = 3_000
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 15_000

/** Pages that one can go back through; a browser keeps the list with each of them. */
const LONGEST_TRAIL = 1_000

const signIn = find('#sign-in', HTMLElement)
const signInForm = find('#sign-in form', HTMLFormElement)
const signInButton = find('#sign-in button', HTMLButtonElement)
const signInProblem = find('#sign-in-problem', HTMLElement)
const keyField = find('#key', HTMLInputElement)
const catalogue = find('#catalogue', HTMLElement)
const signOut = find('#sign-out', HTMLButtonElement)
const notice = find('#notice', HTMLElement)
const retry = find('#retry', HTMLButtonElement)
const list = listing()
const seen = overview()

/** Undefined while nobody is signed in. */
let store: AnimalStore | undefined
let loading = new AbortController()
let waiting: ReturnType<typeof setTimeout> | undefined
let failures = 0
/** What the address says, or said when it last made sense. */
let place: Place = parsePlace('')

const form = adding({
  create(animal, idempotencyKey) {
    if (store === undefined) throw new Error('nobody is signed in')
    return store.createAnimal(animal, { idempotencyKey })
  },
  onAdded(animal) {
    const { status, limit } = place
    const isListed = status === animal.status
    // The list is by id: the page that begins just before it shows it first.
    go(
      { status: isListed ? status : undefined, limit, after: animal.id - 1n },
      { newest: animal.id, message: `Added ${animal.name} with id ${animal.id}.` },
    )
  },
  onUnauthorized: () => leave('This key is no longer accepted.'),
})

/** A key that was accepted before opens the catalogue at once, another one when the server has accepted it. */
function enter(key: string, wasAccepted: boolean): void {
  try {
    store = new AnimalStore({ baseUrl: `${location.origin}/v1`, apiKey: key, retries: 0 })
  } catch {
    leave('This is not a key: a key has no spaces and only plain letters, digits and signs.')
    return
  }
  signInProblem.textContent = ''
  signInButton.disabled = true
  sessionStorage.setItem(KEY, key)
  if (wasAccepted) reveal()
  load()
}

function reveal(): void {
  signIn.hidden = true
  signInButton.disabled = false
  catalogue.hidden = false
  signOut.hidden = false
}

function leave(words = ''): void {
  sessionStorage.removeItem(KEY)
  loading.abort()
  clearTimeout(waiting)
  store = undefined
  form.close()
  seen.forget()
  list.forget()
  hideNotice()
  catalogue.hidden = true
  signOut.hidden = true
  signIn.hidden = false
  signInButton.disabled = false
  signInProblem.textContent = words
  keyField.value = ''
  keyField.focus()
}

signInForm.addEventListener('submit', event => {
  event.preventDefault()
  enter(keyField.value.trim(), false)
})
signOut.addEventListener('click', () => leave())

interface Arrival {
  /** Where the pages before this one began; null is the very beginning. */
  readonly trail: readonly (string | null)[]
}

function trail(): Arrival['trail'] {
  return (history.state as Arrival | null)?.trail ?? []
}

function previousPlace(): Place | undefined {
  const before = trail().at(-1)
  if (before === undefined) return undefined
  return { ...place, after: before === null ? undefined : BigInt(before) }
}

interface Going {
  readonly trail?: Arrival['trail']
  readonly newest?: bigint
  readonly message?: string
}

function go(next: Place, { trail = [], ...going }: Going = {}): void {
  history.pushState({ trail: trail.slice(-LONGEST_TRAIL) } satisfies Arrival, '', addressOf(next))
  load(going)
}

function follow(selector: string, trailAfter: () => Arrival['trail']): void {
  find(selector, HTMLAnchorElement).addEventListener('click', event => {
    const link = event.currentTarget as HTMLAnchorElement
    // A new tab or window is the browser's own business.
    if (!link.hasAttribute('href') || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    go(parsePlace(link.search), { trail: trailAfter() })
    find('#title', HTMLElement).focus()
  })
}

follow('#next', () => [...trail(), place.after === undefined ? null : String(place.after)])
follow('#previous', () => trail().slice(0, -1))
follow('#first', () => [])
follow('#instead a', () => [])

find('#filters', HTMLFormElement).addEventListener('change', () => {
  const status = find('#status', HTMLSelectElement).value
  const limit = find('#limit', HTMLSelectElement).value
  go(parsePlace(new URLSearchParams({ limit, ...(status !== '' && { status }) }).toString()))
})
find('#filters', HTMLFormElement).addEventListener('submit', event => event.preventDefault())
find('#add', HTMLButtonElement).addEventListener('click', () => form.open())
addEventListener('popstate', () => load())

function showFilters({ status, limit }: Place): void {
  const limits = find('#limit', HTMLSelectElement)
  // A link may ask for a size that is not among those offered.
  if (![...limits.options].some(({ value }) => value === String(limit))) limits.add(new Option(String(limit)))
  limits.value = String(limit)
  find('#status', HTMLSelectElement).value = status ?? ''
}

async function load({ newest, message }: Omit<Going, 'trail'> = {}): Promise<void> {
  if (store === undefined) return
  loading.abort()
  clearTimeout(waiting)
  loading = new AbortController()
  const { signal } = loading
  const slow = setTimeout(() => say('This takes longer than usual. Still waiting …'), SLOW_MS)
  try {
    place = parsePlace(location.search)
    showFilters(place)
    list.wait(place)
    const page = await store.listAnimals({ ...place, signal })
    reveal()
    list.show(page, { place, previous: previousPlace() }, newest)
    seen.add(page.animals)
    failures = 0
    if (message === undefined) hideNotice()
    else say(message)
  } catch (error) {
    if (!signal.aborted) fail(error, { ...(newest !== undefined && { newest }) })
  } finally {
    clearTimeout(slow)
  }
}

function fail(error: unknown, going: Omit<Going, 'trail'>): void {
  if (error instanceof AnimalStoreError && error.code === 'unauthorized') {
    leave('This key is not accepted here.')
    return
  }
  reveal()
  if (error instanceof ServiceError) list.refuse(error.message)
  else if (!(error instanceof AnimalStoreError)) say(`Something went wrong in this page: ${error}`)
  else if (error.status !== undefined && error.status < 500) list.refuse(error.message)
  else recover(error, going)
}

/** Tries again by itself, less and less often, and at once when the network is back or somebody asks for it. */
function recover(error: AnimalStoreError, going: Omit<Going, 'trail'>): void {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS)
  failures++
  const seconds = counted(Math.round(wait / 1_000), 'second')
  if (!navigator.onLine) say('You are offline. This page goes on when the network is back.', true)
  else if (error.status === undefined) say(`The server cannot be reached. Trying again in ${seconds}.`, true)
  else say(`The server cannot answer right now. Trying again in ${seconds}.`, true)
  waiting = setTimeout(() => load(going), wait)
}

retry.addEventListener('click', () => load())
addEventListener('online', () => load())
addEventListener('offline', () => say('You are offline. This page goes on when the network is back.'))

function say(words: string, canRetry = false): void {
  find('#notice span', HTMLElement).textContent = words
  retry.hidden = !canRetry
  notice.hidden = false
}

function hideNotice(): void {
  notice.hidden = true
}

const key = sessionStorage.getItem(KEY)
if (key === null) leave()
else enter(key, true)
