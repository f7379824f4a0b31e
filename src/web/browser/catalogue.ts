// The catalogue page at work: who is signed in, which page is shown, and what happens when the server is away.

import { type Animal, AnimalStore, AnimalStoreError, type Page } from '../../../client/src/animal-store.ts'
import { ServiceError } from '../../error.ts'
import { adding } from './adding.ts'
import { find } from './elements.ts'
import { listing } from './listing.ts'
import { addressOf, type Place, parsePlace } from './location.ts'
import { noticeBoard, SLOW_MS } from './notice.ts'
import { overview } from './overview.ts'
import { placeBefore } from './previous-page.ts'
import { forgetKey, keepKey, keptKey } from './session-key.ts'

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 15_000
const GOOD_NEWS_MS = 8_000

const OFFLINE = 'You are offline. This page goes on when the network is back.'

/** Pages that one can go back through; a browser keeps the list with each of them. */
const LONGEST_TRAIL = 1_000

const signIn = find('#sign-in', HTMLElement)
const signInForm = find('#sign-in form', HTMLFormElement)
const signInButton = find('#sign-in button', HTMLButtonElement)
const signInProblem = find('#sign-in-problem', HTMLElement)
const keyField = find('#key', HTMLInputElement)
const catalogue = find('#catalogue', HTMLElement)
const signOut = find('#sign-out', HTMLButtonElement)
const list = listing()
const seen = overview()
const notice = noticeBoard(() => {
  find('#title', HTMLElement).focus()
  load()
})

/** Undefined while nobody is signed in. */
let store: AnimalStore | undefined
/** Ends with signing out, and all that is still under way with it. */
let session = new AbortController()
let loading = new AbortController()
let waiting: ReturnType<typeof setTimeout> | undefined
let failures = 0
/** What the address says, or said when it last made sense. */
let place: Place = parsePlace('')
/** An animal that was just added, until a page that may show it has been loaded. */
let added: Animal | undefined

const form = adding({
  create(animal, idempotencyKey) {
    if (store === undefined) throw new Error('nobody is signed in')
    return store.createAnimal(animal, { idempotencyKey, signal: session.signal })
  },
  onAdded(animal) {
    const { status, limit } = place
    added = animal
    // The list is by id: the page that begins just before it shows it first.
    go({ status: status === animal.status ? status : undefined, limit, after: animal.id - 1n })
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
  session = new AbortController()
  signInProblem.textContent = ''
  signInButton.disabled = true
  keepKey(key)
  if (wasAccepted) reveal()
  load()
}

function reveal(): void {
  if (!catalogue.hidden) return
  signIn.hidden = true
  signInButton.disabled = false
  keyField.value = ''
  keyField.ariaInvalid = 'false'
  catalogue.hidden = false
  signOut.hidden = false
  find('#title', HTMLElement).focus()
}

function leave(words = ''): void {
  forgetKey()
  session.abort()
  loading.abort()
  clearTimeout(waiting)
  store = undefined
  added = undefined
  failures = 0
  form.forget()
  seen.forget()
  list.forget()
  notice.hide()
  catalogue.hidden = true
  signOut.hidden = true
  signIn.hidden = false
  signInButton.disabled = false
  signInProblem.textContent = words
  keyField.value = ''
  keyField.ariaInvalid = String(words !== '')
  keyField.focus()
}

signInForm.addEventListener('submit', event => {
  event.preventDefault()
  enter(keyField.value.trim(), false)
})
signOut.addEventListener('click', () => leave())
// A page that comes back as it was left may be one that was signed out of meanwhile.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && store !== undefined && keptKey() === undefined) leave()
})

interface Arrival {
  /** Where the pages before this one began; null is the very beginning. */
  readonly trail: readonly (string | null)[]
}

function trail(): Arrival['trail'] {
  return (history.state as Arrival | null)?.trail ?? []
}

/** Where one came from or, on a page that was come to by a link, where the page before it most likely begins. */
function previousPlace(): Place | undefined {
  const { after, limit } = place
  if (after === undefined) return undefined
  const before = trail().at(-1)
  if (before !== undefined) return { ...place, after: before === null ? undefined : BigInt(before) }
  const likely = after - BigInt(limit)
  return { ...place, after: likely > 0n ? likely : undefined }
}

function go(next: Place, trail: Arrival['trail'] = []): void {
  history.pushState({ trail: trail.slice(-LONGEST_TRAIL) } satisfies Arrival, '', addressOf(next))
  load()
}

function follow(selector: string, trailAfter: () => Arrival['trail'], look?: () => Promise<void>): void {
  find(selector, HTMLAnchorElement).addEventListener('click', event => {
    const link = event.currentTarget as HTMLAnchorElement
    // A new tab or window is the browser's own business.
    if (!link.hasAttribute('href') || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    // Clicked twice: the page that it leads to is on its way.
    if (link.href === location.href) return
    find('#title', HTMLElement).focus()
    if (look !== undefined && trail().length === 0) look()
    else go(parsePlace(link.search), trailAfter())
  })
}

async function goBefore(): Promise<void> {
  if (store === undefined) return
  const signal = restart()
  try {
    go(await placeBefore(store, place, signal))
  } catch (error) {
    if (!signal.aborted) fail(error)
  }
}

follow('#next', () => [...trail(), place.after === undefined ? null : String(place.after)])
follow('#previous', () => trail().slice(0, -1), goBefore)
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

/** Ends what was being loaded or waited for. */
function restart(): AbortSignal {
  loading.abort()
  clearTimeout(waiting)
  loading = new AbortController()
  return loading.signal
}

async function load(): Promise<void> {
  if (store === undefined) return
  const signal = restart()
  const slow = setTimeout(() => notice.say('This takes longer than usual. Still waiting …'), SLOW_MS)
  try {
    const problem = readAddress()
    showFilters(place)
    list.wait(place)
    // An address that makes no sense is told to those whose key was accepted.
    const page = await store.listAnimals(problem === undefined ? { ...place, signal } : { limit: 1, signal })
    reveal()
    failures = 0
    notice.hide()
    if (problem === undefined) show(page)
    else list.refuse(problem)
  } catch (error) {
    if (!signal.aborted) fail(error)
  } finally {
    clearTimeout(slow)
  }
}

/** Takes the place from the address; returns what is wrong with it, if anything is. */
function readAddress(): string | undefined {
  try {
    place = parsePlace(location.search)
    return undefined
  } catch (error) {
    return error instanceof ServiceError ? error.message : String(error)
  }
}

function show(page: Page): void {
  list.show(page, { place, previous: previousPlace() }, added?.id)
  seen.add(page.animals)
  document.title = [place.status, place.after && `after ${place.after}`, 'Animal Store']
    .filter(Boolean)
    .join(' · ')
  if (added !== undefined) notice.say(`Added ${added.name} with id ${added.id}.`, { forMs: GOOD_NEWS_MS })
  added = undefined
}

function fail(error: unknown): void {
  const { code, status } = error instanceof AnimalStoreError ? error : {}
  const isAway =
    error instanceof AnimalStoreError && (status === undefined || status >= 500 || status === 429)
  if (code === 'unauthorized') leave('This key is not accepted here.')
  else if (isAway && catalogue.hidden) {
    leave(
      status === undefined
        ? 'The server cannot be reached. Try again.'
        : 'The server cannot answer right now. Try again.',
    )
  } else if (isAway) recover(status)
  else {
    reveal()
    notice.hide()
    list.refuse(
      error instanceof AnimalStoreError ? error.message : `Something went wrong in this page: ${error}`,
    )
  }
}

/** Tries again by itself, less and less often, and at once when the network is back or somebody asks for it. */
function recover(status: number | undefined): void {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS)
  failures++
  if (!navigator.onLine) notice.say(OFFLINE, { canRetry: true })
  else if (status === undefined)
    notice.say('The server cannot be reached. Trying again …', { canRetry: true })
  else notice.say('The server cannot answer right now. Trying again …', { canRetry: true })
  waiting = setTimeout(load, wait)
}

addEventListener('online', () => {
  notice.hide()
  load()
})
addEventListener('offline', () => notice.say(OFFLINE))

const key = keptKey()
if (key === undefined) leave()
else enter(key, true)
