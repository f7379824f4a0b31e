// The script of the catalogue page: connects its parts and starts it.

import { type Animal, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { wait } from '../../../client/src/wait.ts'
import { createAddAnimalForm } from './add-animal-form.ts'
import { createAnimalTable } from './animal-table.ts'
import { enableCsvDownload } from './csv-download.ts'
import { find } from './elements.ts'
import type { ListPage } from './list-page.ts'
import { createListStatus } from './list-status.ts'
import { firstPage, isFirstPage, pageFrom, toListUrl } from './location.ts'
import { createNavigation } from './navigation.ts'
import { createNotice, MESSAGE_MS } from './notice.ts'
import { createPace } from './pace.ts'
import { createPageLoader } from './page-loader.ts'
import { createPanel } from './panel.ts'
import { createSearchField } from './search-field.ts'
import { createSelection } from './selection.ts'
import { createSession } from './session.ts'
import { enableShortcuts } from './shortcuts.ts'
import { createState } from './state.ts'
import { countOf, showStock } from './stock.ts'

const LONGEST_NAME_IN_NOTICE = 60

/** How often the page asks how many animals there are. */
const POLL_MS = 5_000

const state = createState()
let stockRequest = new AbortController()
const pace = createPace()
const message = createNotice('message')
const exportNotice = createNotice('export')
const table = createAnimalTable(id => selection.select(id))
const session = createSession({ pace, onSignIn: start, onPause: pausePage, onSignOut: clearPage })
const navigation = createNavigation({ state, onList: loadList, onAnimal: () => selection.follow() })
const listStatus = createListStatus({
  pace,
  onClear() {
    navigation.goTo(firstPage({ ...state.location, search: undefined }))
    searchField.focus()
  },
  onPart(found, isPaused) {
    state.page = found
    table.showPart(found, isPaused)
    navigation.showPager()
  },
})
const loader = createPageLoader({
  state,
  session,
  notice: createNotice('connection'),
  watchSearch: listStatus.watchSearch,
  onLoading: () => table.showLoading(state.location.limit),
  onLoaded: showPage,
  onRefreshed: refreshPage,
  onError(text) {
    state.page = undefined
    table.showError(text)
    navigation.showPager()
    listStatus.showPage(undefined, undefined)
  },
})
const panel = createPanel({
  canClose: () => !form.isSending,
  onClosed(content) {
    if (content === 'add-animal') return form.returnFocus()
    selection.focusRow()
    navigation.goTo({ ...state.location, animal: undefined })
  },
})
const form = createAddAnimalForm({ panel, session, onAdded: showAdded })
const selection = createSelection({ state, table, panel, navigation, session, notice: message })
const searchField = createSearchField({
  onSearch(search) {
    if (search !== state.location.search)
      navigation.goTo(firstPage({ ...state.location, search }), {
        // What the user types is one step in the history.
        replaces: search !== undefined && state.location.search !== undefined,
      })
  },
  checkId,
  onGoToId(id) {
    navigation.goTo(pageFrom(id, state.location.order, state.location))
    selection.focusRow()
  },
  onDone: () => selection.focusRow(),
})

enableShortcuts(
  {
    n: openForm,
    '/': () => searchField.focus(),
    j: () => selection.move(1),
    ArrowDown: () => selection.move(1),
    k: () => selection.move(-1),
    ArrowUp: () => selection.move(-1),
    ']': () => navigation.turnPage(1),
    '[': () => navigation.turnPage(-1),
    f: () => find('#filter [aria-pressed=true]', HTMLButtonElement).focus(),
    o: () => find('#view [aria-pressed=false]', HTMLButtonElement).click(),
    c: () => selection.copyLink(),
  },
  () => session.isCatalogueShown && !form.isSending,
)
enableCsvDownload({ notice: exportNotice, pace, session, state })
for (const button of document.querySelectorAll('.new-animal')) button.addEventListener('click', openForm)
// Requests end when the browser keeps this page for its Back button.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && session.store !== undefined) loadList()
})
session.restore()

function start(): void {
  navigation.readUrl()
  loadList()
  const { signal } = session
  watch(signal).catch(error => {
    if (!signal.aborted) throw error
  })
}

function loadList(): void {
  const { page, location } = state
  // The links to other pages of the old list must not be followed any more.
  if (page !== undefined && toListUrl(firstPage(page.location)) !== toListUrl(firstPage(location))) {
    state.page = undefined
    navigation.showPager()
    listStatus.showPage(undefined, undefined)
  }
  searchField.show(state.location.search)
  showStock(state.inventory, state.location.search !== undefined)
  loader.load()
}

/** Keeps the stock and the newest animals up to date. */
async function watch(signal: AbortSignal): Promise<void> {
  await updateStock()
  while (true) {
    await wait(POLL_MS, signal)
    await pace.untilVisible(signal)
    await updateStock()
    await addNewAnimals()
  }
}

/** Replaces the request in flight: an older answer must not replace a newer one. */
async function updateStock(): Promise<void> {
  const { store } = session
  stockRequest.abort()
  stockRequest = new AbortController()
  const signal = AbortSignal.any([session.signal, stockRequest.signal])
  try {
    const inventory = await store?.inventory({ signal })
    signal.throwIfAborted()
    state.inventory = inventory
    showStock(inventory, state.location.search !== undefined)
    if (!state.isWaiting) listStatus.showPage(state.page, inventory)
    loader.noteAnswer()
  } catch (error) {
    if (error instanceof AnimalStoreError) loader.noteAnswer(error)
    else if (!signal.aborted) throw error
  }
}

/** Animals appear at one end of the list only, so all other pages stay as they are. */
async function addNewAnimals(): Promise<void> {
  const { page, inventory, inventoryOfPage } = state
  if (page === undefined || inventory === undefined || !isAtEnd(page)) return
  const { status } = page.location
  const isUpToDate = inventoryOfPage && countOf(inventoryOfPage, status) === countOf(inventory, status)
  // A search that needs several requests is not repeated.
  if (!isUpToDate && page.requests === 1) await loader.refresh()
}

function isAtEnd({ location, next }: ListPage): boolean {
  return location.order === 'newest' ? isFirstPage(location) : next === undefined
}

function showPage(page: ListPage): void {
  showList(page)
  if (state.selectNext !== undefined) {
    const animal = page.animals.at(state.selectNext === 'first' ? 0 : -1)?.id
    state.selectNext = undefined
    navigation.replaceUrl({ ...state.location, animal })
  }
  selection.follow()
}

function showList(page: ListPage): void {
  const { animal } = state.location
  // At the beginning of the list, the location may be another one than the user asked for.
  if (page.location !== state.location) navigation.replaceUrl({ ...page.location, animal })
  state.page = page
  table.showPage(page)
  navigation.showPager()
  listStatus.showPage(page, state.inventory)
}

function refreshPage(page: ListPage): void {
  const known = new Set(state.page?.animals.map(({ id }) => id))
  showList(page)
  selection.follow()
  table.markNew(page.animals.map(({ id }) => id).filter(id => !known.has(id)))
}

async function checkId(id: bigint): Promise<string | undefined> {
  const { store, signal } = session
  try {
    const animal = await store?.findAnimal(id, { signal })
    return animal === undefined ? `No animal has id ${id}` : undefined
  } catch (error) {
    if (error instanceof AnimalStoreError) loader.noteAnswer(error)
    return `Animal ${id} cannot be loaded right now. Try again.`
  }
}

/** The form replaces the details in the panel, so no row is selected any more. */
function openForm(): void {
  form.open()
  if (state.location.animal !== undefined) navigation.goTo({ ...state.location, animal: undefined })
}

async function showAdded(animal: Animal): Promise<void> {
  const name = [...animal.name].slice(0, LONGEST_NAME_IN_NOTICE).join('')
  message.show(`Added ${name}${name === animal.name ? '' : '…'}`, {
    action: { label: 'Show', run: () => showNewAnimal(animal.id) },
    forMs: MESSAGE_MS,
  })
  await updateStock()
  await addNewAnimals()
}

/** Stays on this page if the animal is on it. Otherwise goes to the newest animals, from this one on. */
function showNewAnimal(id: bigint): void {
  message.hide()
  if (state.page?.animals.some(animal => animal.id === id)) selection.select(id)
  else navigation.goTo(pageFrom(id, 'newest', state.location))
}

/** Requests stop. What the user has typed stays. */
function pausePage(): void {
  loader.stop()
  message.hide()
}

function clearPage(): void {
  pausePage()
  exportNotice.hide()
  panel.hide()
  form.reset()
  Object.assign(state, createState())
  searchField.show(undefined)
  listStatus.showPage(undefined, undefined)
  table.clear()
  navigation.showPager()
  navigation.showTitle()
  showStock(undefined, false)
}
