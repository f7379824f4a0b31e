// The script of the catalogue page: connects its parts and starts it.

import type { Animal } from '../../../client/src/animal-store.ts'
import { createAddAnimalForm } from './add-animal-form.ts'
import { createAnimalTable } from './animal-table.ts'
import { enableCsvDownload } from './csv-download.ts'
import { createDetails } from './details.ts'
import { find } from './elements.ts'
import { createGoToId } from './go-to-id.ts'
import type { ListPage } from './list-page.ts'
import { isFirstPage, type ListLocation, newestPageFrom, pageFrom } from './location.ts'
import { createNavigation } from './navigation.ts'
import { createNotice, MESSAGE_MS } from './notice.ts'
import { createPageLoader } from './page-loader.ts'
import { createPager } from './pager.ts'
import { createPanel } from './panel.ts'
import { createPolling } from './polling.ts'
import { enableScrollEdges } from './scroll-edges.ts'
import { createSelection } from './selection.ts'
import { createSession } from './session.ts'
import { enableShortcuts } from './shortcuts.ts'
import { showStock } from './stock.ts'
import { type Count, createStockCount } from './stock-count.ts'

const LONGEST_NAME_IN_NOTICE = 60

const message = createNotice('message')
const table = createAnimalTable(id => selection.select(id))
const pager = createPager()
const stockCount = createStockCount({
  onChange(count) {
    stock = count
    showStock(count)
  },
  onFailure: () => loader.refresh(),
})
const polling = createPolling(lookForNewAnimals)
const session = createSession({ onSignIn: () => loader.load(), onSignOut: clearPage })
const navigation = createNavigation(() => {
  wantedId = undefined
  selection.selectWhenLoaded(undefined)
  loader.load()
})
const loader = createPageLoader({
  session,
  navigation,
  notice: createNotice('connection'),
  onLoading: () => table.showLoading(navigation.current.limit),
  onLoaded: showPage,
  onRefreshed: refreshPage,
  onError(text) {
    table.showError(text)
    pager.clear()
    selection.setAnimals([])
    countStock()
  },
})
const form = createAddAnimalForm({
  panel: () => panel,
  create(animal, idempotencyKey) {
    const { store, signal } = session
    if (store === undefined) throw new Error('the user is signed out')
    return store.createAnimal(animal, { idempotencyKey, signal })
  },
  onAdded: showAdded,
  onUnauthorized: () => session.signOut('This key is no longer accepted.'),
})
const panel = createPanel({
  canClose: () => !form.isSending,
  onClosed(content) {
    if (content === 'details') selection.focusRow()
    else form.returnFocus()
    selection.clear()
  },
})
const selection = createSelection({ table, details: createDetails(showInList), panel, turnPage })
const goToId = createGoToId({
  onGo: goToAnimal,
  onInvalid: problem => message.show(problem, { forMs: MESSAGE_MS }),
})

/** The id that the user asked for, until another page is shown. */
let wantedId: bigint | undefined
/** The ids on the page that is shown. */
let shownIds: ReadonlySet<bigint> = new Set()
let isCounting = false
let stock: Count | undefined

enableShortcuts(
  {
    n: openForm,
    '/': () => goToId.focus(),
    j: () => selection.move(1),
    ArrowDown: () => selection.move(1),
    k: () => selection.move(-1),
    ArrowUp: () => selection.move(-1),
    ']': () => turnPage(1),
    '[': () => turnPage(-1),
    f: () => find('#filter [aria-pressed=true]', HTMLButtonElement).focus(),
  },
  () => session.isCatalogueShown && !form.isSending,
)
enableCsvDownload({
  notice: createNotice('export'),
  source: () => session.backgroundStore && { store: session.backgroundStore, signal: session.signal },
  status: () => navigation.current.status,
  total: status => (stock?.state !== 'complete' ? undefined : status ? stock.of[status] : stock.total),
})
enableScrollEdges()
for (const button of document.querySelectorAll('.new-animal')) button.addEventListener('click', openForm)
session.restore()

function showPage(page: ListPage): void {
  showList(page)
  polling.start()
  if (wantedId !== undefined && page.animals.length > 0 && !shownIds.has(wantedId))
    message.show(`No animal has the id ${wantedId}. The list starts at the next one.`, { forMs: MESSAGE_MS })
  countStock()
}

function countStock(): void {
  if (isCounting || session.backgroundStore === undefined) return
  isCounting = true
  stockCount.start(session.backgroundStore, session.signal)
}

function showList(page: ListPage): void {
  table.showPage(page, wantedId)
  pager.show(page)
  shownIds = new Set(page.animals.map(({ id }) => id))
  selection.setAnimals(page.animals)
}

function refreshPage(page: ListPage): void {
  const known = shownIds
  showList(page)
  table.markNew(new Set([...shownIds].filter(id => !known.has(id))))
}

/**
 * Animals appear at one end of the list only, so all pages but one stay as they are. If the server may be away, any
 * page is refreshed: the refresh shows a notice while the server is away, and hides it when the server is back.
 */
async function lookForNewAnimals(): Promise<void> {
  const { store, signal } = session
  if (store === undefined) return
  const added = await stockCount.catchUp(store, signal).catch(() => 'failed' as const)
  const { current } = navigation
  const isAtEnd = current.order === 'newest' ? isFirstPage(current) : pager.next === undefined
  if (added === 'failed' || loader.isAway || (added !== 0 && isAtEnd)) await loader.refresh()
}

/** The form replaces the details in the panel, so no row is selected any more. */
function openForm(): void {
  selection.clear()
  form.open()
}

function showAdded(animal: Animal): void {
  const name = [...animal.name].slice(0, LONGEST_NAME_IN_NOTICE).join('')
  message.show(`Added ${name}${name === animal.name ? '' : '…'}`, {
    action: { label: 'Show', run: () => showNewAnimal(animal.id) },
    forMs: MESSAGE_MS,
  })
  loader.refresh()
  if (session.store !== undefined) stockCount.catchUp(session.store, session.signal).catch(() => undefined)
}

/** The animal comes first on its page, in the order that is chosen. */
function showInList(id: bigint): void {
  const { current } = navigation
  goTo(current.order === 'newest' ? newestPageFrom(id, current) : pageFrom(id, current), id)
}

/** Stays on this page if the animal is on it. Otherwise goes to the newest animals, from this one on. */
function showNewAnimal(id: bigint): void {
  message.hide()
  if (shownIds.has(id)) selection.select(id)
  else goTo(newestPageFrom(id, navigation.current), id)
}

function goToAnimal(id: bigint): void {
  message.hide()
  goTo(pageFrom(id, navigation.current), id)
}

function goTo(location: ListLocation, id: bigint): void {
  navigation.goTo(location)
  wantedId = id
  selection.selectWhenLoaded(id)
}

function turnPage(direction: 1 | -1): boolean {
  const target = direction === 1 ? pager.next : pager.previous
  if (target !== undefined) navigation.goTo(target)
  return target !== undefined
}

function clearPage(): void {
  loader.stop()
  polling.stop()
  isCounting = false
  wantedId = undefined
  panel.close()
  form.reset()
  goToId.clear()
  selection.clear()
  table.clear()
  pager.clear()
  message.hide()
}
