// Saves the filtered list as a CSV file. It fetches one page after another and shows its progress.

import type { AnimalStore, Inventory, ListOptions, Page } from '../../../client/src/animal-store.ts'
import { CSV_COLUMNS, renderCsvLine, spreadsheetSafe } from '../../csv.ts'
import { formatCount, formatNumber } from '../../number-format.ts'
import { PAGE_LIMIT } from '../../page.ts'
import { createElement, find } from './elements.ts'
import { countOf } from './inventory-bar.ts'
import { type ListLocation, toFilters } from './location.ts'
import { MESSAGE_MS, type Notice } from './notice.ts'
import type { Pace } from './pace.ts'
import type { Session } from './session.ts'
import type { PageState } from './state.ts'

/** The byte order mark tells spreadsheets that the file is UTF-8. */
const CSV_HEADER = `\ufeff${CSV_COLUMNS.join()}\r\n`

interface CsvDownloadOptions {
  readonly notice: Notice
  readonly pace: Pace
  readonly session: Session
  readonly state: PageState
}

export function enableCsvDownload({ notice, pace, session, state }: CsvDownloadOptions): void {
  const button = find('#export', HTMLButtonElement)

  async function download(): Promise<void> {
    const { retryingStore } = session
    if (retryingStore === undefined || button.ariaDisabled === 'true') return
    const { location } = state
    const cancelled = new AbortController()
    const signal = AbortSignal.any([session.signal, cancelled.signal])
    const cancel = { label: 'Cancel', run: () => cancelled.abort() }
    let count = 0
    let formulas = 0
    // The browser may keep the parts of a Blob on the disk, so that a long list does not fill the memory.
    let file = new Blob([CSV_HEADER], { type: 'text/csv' })
    // A disabled button would lose the focus.
    button.ariaDisabled = 'true'
    notice.show('Saving the list …', { action: cancel })
    try {
      for await (const animals of listPages(retryingStore, location, signal)) {
        const safe = animals.map(animal => ({ ...animal, name: spreadsheetSafe(animal.name) }))
        file = new Blob([file, ...safe.map(animal => `${renderCsvLine(animal)}\r\n`)], { type: 'text/csv' })
        count += animals.length
        formulas += safe.filter(({ name }, index) => name !== animals[index]?.name).length
        notice.show(describeProgress(count, location, state.inventory), { action: cancel })
      }
      const words = ['animals', location.search && 'search', location.status].filter(Boolean)
      save(file, `${words.join('-')}.csv`)
      notice.show(describeSaved(count, formulas), { forMs: MESSAGE_MS })
    } catch (error) {
      if (signal.aborted) notice.hide()
      else
        notice.show(`The list could not be saved: ${error instanceof Error ? error.message : error}`, {
          action: { label: 'Try again', run: download },
        })
    } finally {
      button.ariaDisabled = 'false'
    }
  }

  async function* listPages(store: AnimalStore, { status, search }: ListLocation, signal: AbortSignal) {
    const filters = { ...toFilters(search), status: status === 'none' ? undefined : status }
    let options: ListOptions | undefined = { ...filters, limit: PAGE_LIMIT.maximum }
    while (options !== undefined) {
      await pace.untilSpare(signal)
      const { animals, next }: Page = await store.listAnimals({ ...options, signal })
      yield status === 'none' ? animals.filter(animal => animal.status === undefined) : animals
      options = next
    }
  }

  button.addEventListener('click', download)
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  createElement('a', { href: url, download: name }).click()
  // The browser has taken the file when the click returns.
  URL.revokeObjectURL(url)
}

/** Nobody has counted the results of a search. */
function describeProgress(
  count: number,
  { status, search }: ListLocation,
  inventory: Inventory | undefined,
): string {
  const total = inventory === undefined || search !== undefined ? 0n : countOf(inventory, status)
  if (total < count) return `Downloaded ${formatCount(count, 'animal')} so far …`
  return `Downloaded ${formatNumber(count)} of ${formatCount(total, 'animal')} …`
}

function describeSaved(count: number, formulas: number): string {
  const saved = `Downloaded ${formatCount(count, 'animal')}.`
  if (formulas === 0) return saved
  return `${saved} ${formatNumber(formulas)} of the names got a leading apostrophe, because a spreadsheet would run them as formulas.`
}
