// The inventory: the filter shows the number of animals of each status, and a bar compares them.

import type { Inventory } from '../../../client/src/animal-store.ts'
import { STATUS_NAMES, type StatusName } from '../../animal.ts'
import { formatCount, formatNumber } from '../../number-format.ts'
import { find } from './elements.ts'

export function countOf(inventory: Inventory, status: StatusName | undefined): bigint {
  return status === undefined
    ? STATUS_NAMES.reduce((total, name) => total + inventory[name], 0n)
    : inventory[status]
}

/** Nobody has counted the results of a search, so the filters have no numbers then. */
export function showInventory(inventory: Inventory | undefined, isSearch: boolean): void {
  find('#inventory', HTMLElement).classList.toggle('search', isSearch)
  const { available = 0n, pending = 0n, sold = 0n, none = 0n } = inventory ?? {}
  const counts = { available, pending, sold, none }
  const total = countOf(counts, undefined)
  const show = (status: string, count: bigint) => {
    const text = inventory === undefined ? '' : formatNumber(count)
    find(`#filter [data-status="${status}"] b`, HTMLElement).textContent = text
  }
  show('', total)
  const bar = find('#inventory-bar', SVGElement)
  bar.setAttribute('viewBox', `0 0 ${total} 8`)
  let before = 0n
  const parts = STATUS_NAMES.map(status => {
    const count = counts[status]
    show(status, count)
    const part = find(`.${status}`, SVGRectElement, bar)
    part.setAttribute('x', String(before))
    part.setAttribute('width', String(count))
    before += count
    return `${formatNumber(count)} ${status === 'none' ? 'without a status' : status}`
  })
  bar.ariaLabel = `${formatCount(total, 'animal')}: ${parts.join(', ')}.`
}
