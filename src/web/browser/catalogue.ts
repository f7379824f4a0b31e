// The script of the catalogue page: connects its parts and starts it. The parts change one state, and `render` shows it.

import { type Animal, AnimalStoreError, MAX_ID, type Page } from '../../../client/src/animal-store.ts'
import { wait } from '../../../client/src/wait.ts'
import { isSameAnimal, STATUS_NAMES } from '../../animal.ts'
import { formatCount } from '../../number-format.ts'
import { createAddAnimalForm } from './add-animal-form.ts'
import { createAnimalTable } from './animal-table.ts'
import { enableCsvDownload } from './csv-download.ts'
import { createDetails } from './details.ts'
import { createEditAnimalForm } from './edit-animal-form.ts'
import { find, isFocusLost, keepFocus } from './elements.ts'
import { showInventory } from './inventory-bar.ts'
import { type ListPage, showsNewAnimals } from './list-page.ts'
import { createListStatus } from './list-status.ts'
import { firstPage, isInList, pageFrom, toListUrl } from './location.ts'
import { createMarks } from './marks.ts'
import { createNavigation } from './navigation.ts'
import { createNotice, MESSAGE_MS, shortenName } from './notice.ts'
import { createPace } from './pace.ts'
import { createPageLoader } from './page-loader.ts'
import { contentOf, createPanel } from './panel.ts'
import { createSearchField } from './search-field.ts'
import { createSession } from './session.ts'
import { enableShortcuts } from './shortcuts.ts'
import { applyAnimal, applyRemoval, createState, cursorOf, findNext, forgetChanges } from './state.ts'
import { createStatusChanges } from './status-changes.ts'

/** How often the page counts the animals, and reads those on the screen again. */
const POLL_MS = 5_000

const state = createState()
let inventoryRequest = new AbortController()
let isLoaded = false
/** What was on the screen when the user asked for the new animals. */
let seen: ReadonlySet<bigint> | undefined
/** The animal in the panel is not on the page, so the next request reads it instead of the page. */
let isAnimalNext = false
const pace = createPace()
const message = createNotice('message')
const exportNotice = createNotice('export')
const session = createSession({
  pace,
  onSignIn: start,
  onPause: pausePage,
  onSignOut: clearPage,
  onReadOnly(isRejected) {
    forgetChanges(state)
    state.question = undefined
    state.form = undefined
    render()
    if (isRejected) message.show('This key may only read. Nothing was stored.', { forMs: MESSAGE_MS })
  },
})
const table = createAnimalTable({
  state,
  onSelect: id => details.select(id),
  onMark: id => marks.toggle(id),
})
const navigation = createNavigation({
  state,
  onList: loadList,
  onAnimal: () => details.follow(),
  onFormLeft: closeForm,
})
const listStatus = createListStatus({
  state,
  pace,
  onClear() {
    navigation.goTo(firstPage({ ...state.location, search: undefined }))
    searchField.focus()
  },
  onPart(found, isStopped) {
    state.page = found
    table.showPart(found, isStopped)
    navigation.showPager()
    navigation.restoreScroll()
  },
})
const loader = createPageLoader({
  state,
  session,
  notice: createNotice('connection'),
  watchSearch: listStatus.watchSearch,
  onLoading: isLong => table.showLoading(state.location.limit, isLong),
  onLoaded: showPage,
  onReread: followOthers,
  onError(text) {
    state.page = undefined
    table.showError(text)
    render()
  },
})
const panel = createPanel(state, closeFront)
const changes = createStatusChanges({ state, session, render, announce, onChanged: updateInventory })
const marks = createMarks({ state, session, changes, render, announce })
const details = createDetails({
  state,
  table,
  panel,
  navigation,
  session,
  notice: message,
  changes,
  render,
  announce,
  report,
  onChanged: updateInventory,
})
const addForm = createAddAnimalForm({ state, session, render, onAdded: showAdded })
const editForm = createEditAnimalForm({
  state,
  session,
  render,
  announce,
  report,
  onOpen: () => navigation.enterForm(state.location),
})
const newAnimals = find('#new-animals', HTMLButtonElement)
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
    details.focusRow()
  },
  onDone: () => details.focusRow(),
  onLeft: () => details.restoreFocus(),
})

enableShortcuts({
  shortcuts: {
    n: openForm,
    '/': () => searchField.focus(),
    j: () => details.move(1),
    ArrowDown: () => details.move(1),
    k: () => details.move(-1),
    ArrowUp: () => details.move(-1),
    ']': () => navigation.turnPage(1),
    '[': () => navigation.turnPage(-1),
    f: () => find('#filter [aria-pressed=true]', HTMLButtonElement).focus(),
    o: () => find('#view [aria-pressed=false]', HTMLButtonElement).click(),
    c: () => details.copyLink(),
    e: besideList(edit),
    s: besideList(() => marks.startChoosing()),
    x: besideList(() => marks.toggle(cursorOf(state))),
    z: besideList(() => state.undoable?.undo?.()),
    ...Object.fromEntries(STATUS_NAMES.map((_, index) => [index + 1, () => marks.choose(index)])),
  },
  isEnabled: () => session.isCatalogueShown && !addForm.isSending && !editForm.isSending,
  onOther(key) {
    if (!/^[s\d]$/.test(key ?? '')) marks.stopChoosing()
  },
})
enableCsvDownload({ notice: exportNotice, pace, session, state })
for (const button of document.querySelectorAll('.new-animal')) button.addEventListener('click', openForm)
newAnimals.addEventListener('click', () => {
  seen = new Set(state.page?.animals.map(({ id }) => id))
  scrollTo(0, 0)
  loadList()
})
// Requests end when the browser keeps this page for its Back button.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted && session.store !== undefined) loadList()
})
session.restore()

/** Shows the state in all parts of the page. The texts in the fields of the forms are no part of it. */
function render(): void {
  const { page, inventory, location, newCount } = state
  const hadFocus = document.activeElement !== document.body
  table.render()
  panel.render()
  details.render()
  editForm.render()
  marks.render()
  navigation.showPager()
  navigation.showTitle()
  showInventory(inventory, location.search !== undefined)
  if (!state.isWaiting) {
    const isListed = (animal: Animal) => !state.rowNotes.has(animal.id) && isInList(animal, location)
    listStatus.showPage(page && { ...page, animals: page.animals.filter(isListed) })
  }
  if (newCount === 0) keepFocus(newAnimals)
  newAnimals.hidden = newCount === 0
  newAnimals.className = `quiet ${location.order}`
  const count = newCount === undefined ? 'New animals' : formatCount(newCount, 'new animal')
  find('#new-animals span', HTMLElement).textContent = newCount === 0 ? '' : count
  // What renders may move the focus itself.
  if (hadFocus) queueMicrotask(() => isFocusLost() && details.restoreFocus())
}

/** What became of a write whose panel the user has left. */
function report(id: bigint, text: string): void {
  const show = () => {
    message.hide()
    details.select(id)
  }
  message.show(text, { action: { label: 'Show', run: show } })
}

/** A key that writes does nothing to the list behind the form for a new animal. */
function besideList(action: () => void): () => void {
  return () => {
    if (state.form !== 'add-animal') action()
  }
}

/** For screen readers. */
function announce(text: string): void {
  find('#announcement', HTMLElement).textContent = text
}

function start(): void {
  navigation.readUrl()
  // The user may have signed in again: what has happened before stays.
  showList()
  const { signal } = session
  watch(signal).catch(error => {
    if (!signal.aborted) throw error
  })
}

function loadList(): void {
  forgetChanges(state)
  showList()
}

function showList(): void {
  const { page, location } = state
  // The links to other pages of the old list must not be followed any more.
  if (page !== undefined && toListUrl(firstPage(page.location)) !== toListUrl(firstPage(location)))
    state.page = undefined
  searchField.show(state.location.search)
  render()
  loader.load()
}

/** Keeps the counts, the rows and the panel up to date. */
async function watch(signal: AbortSignal): Promise<void> {
  await updateInventory()
  while (true) {
    await wait(POLL_MS, signal)
    await pace.untilVisible(signal)
    await updateInventory()
    const isPageRead = state.page?.requests === 1 && !isAnimalNext
    isAnimalNext = false
    if (isPageRead) await loader.reread()
    else await rereadAnimal()
  }
}

/** Replaces the request in flight: an older answer must not replace a newer one. */
async function updateInventory(): Promise<void> {
  const { store } = session
  inventoryRequest.abort()
  inventoryRequest = new AbortController()
  const signal = AbortSignal.any([session.signal, inventoryRequest.signal])
  try {
    const inventory = await store?.inventory({ signal })
    signal.throwIfAborted()
    state.inventory = inventory
    render()
    loader.noteAnswer()
  } catch (error) {
    if (error instanceof AnimalStoreError) loader.noteAnswer(error)
    else if (!signal.aborted) throw error
  }
}

/** The animal in the panel, if the list does not have it. */
async function rereadAnimal(): Promise<void> {
  const { animal: shown } = state
  const { store, signal } = session
  if (shown === undefined) return
  try {
    const animal = await store?.findAnimal(shown.id, { signal })
    // What was stored meanwhile is newer.
    if (state.animal !== shown) return
    if (animal === undefined) applyRemoval(state, shown)
    else if (!isSameAnimal(animal, shown)) applyAnimal(state, animal)
    render()
    loader.noteAnswer()
  } catch (error) {
    if (error instanceof AnimalStoreError) loader.noteAnswer(error)
    else if (!signal.aborted) throw error
  }
}

/** What others have changed appears in place. No row moves: new animals wait until the user asks for them. */
function followOthers({ animals, next }: Page): void {
  const { page, rowNotes, location } = state
  if (page === undefined) return
  const read = new Map(animals.map(animal => [animal.id, animal]))
  const changed: bigint[] = []
  for (const known of page.animals) {
    const now = read.get(known.id)
    const isExamined = next?.after === undefined || known.id <= next.after
    if (now !== undefined) {
      const isChanged = !isSameAnimal(now, known) || rowNotes.has(known.id)
      if (isChanged) applyAnimal(state, now)
      if (isChanged) changed.push(known.id)
    } else if (isExamined && isInList(known, location) && !rowNotes.has(known.id)) {
      const isFiltered = location.status !== undefined || location.search !== undefined
      if (isFiltered) rowNotes.set(known.id, 'no longer in this list')
      else applyRemoval(state, known)
    }
  }
  const shown = new Set(page.animals.map(({ id }) => id))
  const added = animals.filter(
    animal => animal.id > state.largestId && !shown.has(animal.id) && isInList(animal, location),
  )
  if (showsNewAnimals(page)) {
    state.newCount = next === undefined ? added.length : undefined
    if (state.newCount !== 0) leaveRoomForNew(page)
  }
  isAnimalNext = state.animal !== undefined && !read.has(state.animal.id)
  render()
  table.markNew(changed)
}

/** A full page gets no further animals, but a link to the next page. */
function leaveRoomForNew({ animals, location }: ListPage): void {
  const last = animals.at(-1)
  if (location.order !== 'oldest' || animals.length < location.limit || state.page === undefined) return
  state.newCount = 0
  state.page = { ...state.page, next: { ...firstPage(location), after: last?.id } }
}

function showPage(page: ListPage): void {
  const { animal } = state.location
  // At the beginning of the list, the location may be another one than the user asked for.
  if (page.location !== state.location) navigation.replaceUrl({ ...page.location, animal })
  state.page = page
  state.rowNotes.clear()
  state.largestId = page.animals
    .map(({ id }) => id)
    .reduce((one, other) => (one > other ? one : other), -MAX_ID)
  table.showPage(page)
  if (state.selectNext !== undefined) {
    const edge = page.animals.at(state.selectNext === 1 ? 0 : -1)
    const animal = (findNext(state, page.animals, state.selectNext) ?? edge)?.id
    state.selectNext = undefined
    navigation.replaceUrl({ ...state.location, animal })
  }
  const listed = page.animals.find(({ id }) => id === state.animal?.id)
  if (listed !== undefined) state.animal = listed
  render()
  if (seen !== undefined) table.markNew(page.animals.map(({ id }) => id).filter(id => !seen?.has(id)))
  seen = undefined
  details.follow().then(() => {
    if (!isLoaded) editForm.resume()
    isLoaded = true
  })
  navigation.restoreScroll()
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

/** One press closes one thing, the one in front. */
function closeFront(isKey: boolean): void {
  const { animal } = state.location
  if (isKey && state.choosing !== undefined) marks.stopChoosing()
  else if (isKey && state.question !== undefined) details.keep()
  else if (state.form !== undefined) closeForm()
  else if (contentOf(state) !== undefined) {
    state.cursor = animal
    navigation.goTo({ ...state.location, animal: undefined })
    details.focusRow()
  } else if (isKey) marks.clear()
}

/** Keeps what was typed. */
function closeForm(): void {
  if (addForm.isSending || editForm.isSending) return
  if (state.form === 'add-animal') addForm.close()
  else editForm.close()
}

/** The form replaces the details in the panel, so no row is selected any more. */
function openForm(): void {
  const { location, cursor } = state
  if (session.isReadOnly) return
  const isOpen = state.form === 'add-animal'
  addForm.open()
  if (isOpen) return
  state.cursor = location.animal ?? cursor
  navigation.enterForm({ ...location, animal: undefined })
}

/** Edits the animal in the panel, otherwise that with the cursor. */
function edit(): void {
  const { cursor, page, animal } = state
  if (session.isReadOnly) return
  const isListed = page?.animals.some(({ id }) => id === cursor)
  if (animal === undefined && cursor !== undefined && isListed) details.select(cursor)
  editForm.open()
}

function showAdded(animal: Animal): void {
  message.show(`Added ${shortenName(animal.name)}`, {
    action: { label: 'Show', run: () => showNewAnimal(animal.id) },
    forMs: MESSAGE_MS,
  })
  updateInventory()
  const { page } = state
  if (page === undefined || !showsNewAnimals(page) || !isInList(animal, page.location)) return
  if (page.animals.length === 0) return void loader.reread()
  // Who has added the animal looks for it.
  leaveRoomForNew(page)
  if (state.page?.next === page.next || page.location.order === 'newest') {
    const isNewest = page.location.order === 'newest'
    state.page = { ...page, animals: isNewest ? [animal, ...page.animals] : [...page.animals, animal] }
  }
  render()
  table.markNew([animal.id])
}

/** Stays on this page if the animal is on it. Otherwise goes to the newest animals, from this one on. */
function showNewAnimal(id: bigint): void {
  message.hide()
  if (state.page?.animals.some(animal => animal.id === id)) details.select(id)
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
  addForm.reset()
  editForm.reset()
  Object.assign(state, createState())
  announce('')
  searchField.show(undefined)
  table.clear()
  render()
}
