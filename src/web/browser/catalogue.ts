// The script of the catalogue page: connects its parts and starts it.

import { type Animal, AnimalStoreError } from '../../../client/src/animal-store.ts'
import { createAddAnimalForm } from './add-animal-form.ts'
import { createAnimalTable } from './animal-table.ts'
import { createCatalogueWalk } from './catalogue-walk.ts'
import { enableCsvDownload } from './csv-download.ts'
import { find } from './elements.ts'
import { firstPage, isFirstPage, isSearch, type ListPage, pageFrom } from './location.ts'
import { createNavigation } from './navigation.ts'
import { createNotice, MESSAGE_MS } from './notice.ts'
import { createPace, wait } from './pace.ts'
import { createPageLoader } from './page-loader.ts'
import { createPanel } from './panel.ts'
import { createSearchField, findMatches, pageOf, showSearchResult } from './search.ts'
import { createSelection } from './selection.ts'
import { createSession } from './session.ts'
import { enableShortcuts } from './shortcuts.ts'
import { createState } from './state.ts'
import { showStock } from './stock.ts'

const LONGEST_NAME_IN_NOTICE = 60

/** How often the page looks for new animals. */
const POLL_MS = 5_000

const state = createState()
const pace = createPace()
const message = createNotice('message')
const table = createAnimalTable(id => selection.select(id))
const session = createSession({ pace, onSignIn: start, onSignOut: clearPage })
const walk = createCatalogueWalk({
  pace,
  onProgress: showProgress,
  onAnswer: error => loader.noteAnswer(error),
})
const navigation = createNavigation({ state, onList: loadList, onAnimal: () => selection.follow() })
const loader = createPageLoader({
  state,
  session,
  notice: createNotice('connection'),
  search: options => pageOf(findMatches(walk.walked.animals, state.location), options),
  onLoading: () => table.showLoading(state.location.limit),
  onPause: table.showPause,
  onLoaded: showPage,
  onRefreshed: refreshPage,
  onError(text) {
    state.page = undefined
    table.showError(text)
    navigation.showPager()
    showSearchResult(walk.walked, undefined)
    startBackgroundWork()
  },
})
const form = createAddAnimalForm({ panel: () => panel, session, onAdded: showAdded })
const panel = createPanel({
  canClose: () => !form.isSending,
  onClosed(content) {
    if (content === 'add-animal') return form.returnFocus()
    selection.focusRow()
    navigation.goTo({ ...state.location, animal: undefined })
  },
})
const selection = createSelection({ state, table, panel, navigation, session, notice: message })
const searchField = createSearchField({
  onSearch(search) {
    if (search !== state.location.search)
      navigation.goTo(firstPage({ ...state.location, search }), {
        // What the user types is one step in the history.
        replaces: search !== undefined && state.location.search !== undefined,
      })
  },
  onGoToId(id) {
    message.hide()
    navigation.goTo(pageFrom(id, 'oldest', state.location))
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
    o: () => find('#view a:not([aria-current])', HTMLAnchorElement).click(),
    c: () => selection.copyLink(),
  },
  () => session.isCatalogueShown && !form.isSending,
)
enableCsvDownload({ notice: createNotice('export'), pace, session, state, walk })
for (const button of document.querySelectorAll('.new-animal')) button.addEventListener('click', openForm)
find('#search-result button', HTMLButtonElement).addEventListener('click', () => {
  const { search, status } = state.location
  // Without words, the search is for animals without a status.
  navigation.goTo(
    firstPage({ ...state.location, search: undefined, status: search === undefined ? undefined : status }),
  )
  searchField.focus()
})
session.restore()

function start(): void {
  navigation.readUrl()
  loadList()
}

function loadList(): void {
  searchField.show(state.location.search)
  loader.load()
}

function showPage(page: ListPage): void {
  startBackgroundWork()
  showList(page)
  if (state.selectNext !== undefined) {
    const animal = page.animals.at(state.selectNext === 'first' ? 0 : -1)?.id
    state.selectNext = undefined
    navigation.replaceUrl({ ...state.location, animal })
  }
  selection.follow()
}

/** After the first page, so that the user does not wait for these requests. */
function startBackgroundWork(): void {
  const { store, signal } = session
  if (state.isWatching || store === undefined) return
  state.isWatching = true
  walk.start(store, signal)
  if (walk.walked.state === 'complete') lookForNewAnimals()
  watch(signal).catch(error => {
    if (!signal.aborted) throw error
  })
}

async function watch(signal: AbortSignal): Promise<void> {
  while (true) {
    await wait(POLL_MS, signal)
    await pace.untilVisible(signal)
    await lookForNewAnimals()
  }
}

function showList(page: ListPage): void {
  const { animal } = state.location
  const isSearching = isSearch(page.location) && walk.walked.state === 'counting'
  // At the beginning of the list, the location may be another one than the user asked for. While a search goes on, its
  // pages are not known yet.
  if (page.location !== state.location && !isSearching) navigation.replaceUrl({ ...page.location, animal })
  state.page = page
  table.showPage(page, isSearching)
  navigation.showPager()
  showSearchResult(walk.walked, page.location)
}

function refreshPage(page: ListPage): void {
  const known = new Set(state.page?.animals.map(({ id }) => id))
  showList(page)
  selection.follow()
  const added = page.animals.map(({ id }) => id).filter(id => !known.has(id))
  if (!isSearch(page.location)) table.markNew(added)
}

/** The walk has come further, and may have found animals that were just added. */
function showProgress(hasNew: boolean): void {
  showStock(walk.walked)
  const { page } = state
  if (page === undefined) return
  if (isSearch(page.location) || (isAtEnd(page) && (hasNew || isStale(page)))) loader.refresh()
}

/** Animals appear at one end of the list only, so all pages but this one stay as they are. */
function isAtEnd({ location, next }: ListPage): boolean {
  return location.order === 'newest' ? isFirstPage(location) : next === undefined
}

/** Tells whether an animal was counted that belongs on this page at the end of the list. */
function isStale({ location, animals }: ListPage): boolean {
  const last = walk.walked.animals.findLast(({ status = 'none' }) => status === (location.status ?? status))
  return last !== undefined && !animals.some(({ id }) => id >= last.id)
}

async function lookForNewAnimals(): Promise<void> {
  try {
    const added = await walk.catchUp()
    const isUnknown = added === undefined && state.page !== undefined && isAtEnd(state.page)
    // A refresh hides the notice that the server is away.
    if (isUnknown || state.isAway) await loader.refresh()
  } catch (error) {
    if (error instanceof AnimalStoreError) loader.noteAnswer(error)
    else if (!session.signal.aborted) throw error
  }
}

/** The form replaces the details in the panel, so no row is selected any more. */
function openForm(): void {
  form.open()
  if (state.location.animal !== undefined) navigation.goTo({ ...state.location, animal: undefined })
}

function showAdded(animal: Animal): void {
  const name = [...animal.name].slice(0, LONGEST_NAME_IN_NOTICE).join('')
  message.show(`Added ${name}${name === animal.name ? '' : '…'}`, {
    action: { label: 'Show', run: () => showNewAnimal(animal.id) },
    forMs: MESSAGE_MS,
  })
  lookForNewAnimals()
}

/** Stays on this page if the animal is on it. Otherwise goes to the newest animals, from this one on. */
function showNewAnimal(id: bigint): void {
  message.hide()
  if (state.page?.animals.some(animal => animal.id === id)) selection.select(id)
  else navigation.goTo(pageFrom(id, 'newest', state.location))
}

function clearPage(): void {
  loader.stop()
  walk.clear()
  panel.hide()
  form.reset()
  Object.assign(state, createState())
  searchField.show(undefined)
  showSearchResult(walk.walked, undefined)
  table.clear()
  navigation.showPager()
  message.hide()
}
