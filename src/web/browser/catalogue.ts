// The script of the catalogue page: connects session, navigation, table and form, and starts the page.

import type { Animal, Page } from '../../../client/src/animal-store.ts'
import { createAddAnimalForm } from './add-animal-form.ts'
import { createAnimalTable } from './animal-table.ts'
import { find } from './elements.ts'
import { createNavigation } from './navigation.ts'
import { createNotice } from './notice.ts'
import { createOverview } from './overview.ts'
import { createPageLoader } from './page-loader.ts'
import { createSession } from './session.ts'

const ADDED_NOTICE_MS = 8_000

const table = createAnimalTable()
const overview = createOverview()
const notice = createNotice(() => {
  find('#title', HTMLElement).focus()
  loader.load()
})
const session = createSession({ onSignIn: () => loader.load(), onSignOut: clearPage })
const navigation = createNavigation({
  onNavigate: () => loader.load(),
  onUnknownPrevious: () => loader.goToPrevious(),
})
const loader = createPageLoader({ session, navigation, table, notice, onLoaded: showPage })

/** The animal that the user just added, until the page that shows it has loaded. */
let added: Animal | undefined

const form = createAddAnimalForm({
  create(animal, idempotencyKey) {
    const { store, signal } = session
    if (store === undefined) throw new Error('the user is signed out')
    return store.createAnimal(animal, { idempotencyKey, signal })
  },
  onAdded(animal) {
    const { status, limit } = navigation.current
    added = animal
    // The list is ordered by id, so this page starts with the new animal.
    navigation.goTo({ status: status === animal.status ? status : undefined, limit, after: animal.id - 1n })
  },
  onUnauthorized: () => session.signOut('This key is no longer accepted.'),
})

find('#add', HTMLButtonElement).addEventListener('click', () => form.open())
session.restore()

function showPage(page: Page): void {
  const { current } = navigation
  table.showPage({ page, location: current, previous: navigation.previous(), addedId: added?.id })
  overview.add(page.animals)
  document.title = [current.status, current.after && `after ${current.after}`, 'Animal Store']
    .filter(Boolean)
    .join(' · ')
  if (added !== undefined) {
    notice.show(`Added ${added.name} with id ${added.id}.`, { forMs: ADDED_NOTICE_MS })
  }
  added = undefined
}

function clearPage(): void {
  loader.stop()
  added = undefined
  form.reset()
  overview.clear()
  table.clear()
  notice.hide()
}
