// Stock at a glance: the filter shows the number of animals of each status, and a bar compares them.

import type { Inventory } from '../../../client/src/animal-store.ts'
import { STATUS_NAMES, type StatusName } from '../../animal.ts'
import { formatCount, formatNumber } from '../../count.ts'
import { find } from './elements.ts'

export function countOf(inventory: Inventory, kind: StatusName | undefined): bigint {
  return kind === undefined
    ? STATUS_NAMES.reduce((total, kind) => total + inventory[kind], 0n)
    : inventory[kind]
}

/** Nobody has counted the results of a search, so the filters have no numbers then. */
export function showInventory(inventory: Inventory | undefined, isSearch: boolean): void {
  find('#stock', HTMLElement).classList.toggle('search', isSearch)
  const { available = 0n, pending = 0n, sold = 0n, none = 0n } = inventory ?? {}
  const counts = { available, pending, sold, none }
  const total = countOf(counts, undefined)
  const show = (kind: string, count: bigint) => {
    const text = inventory === undefined ? '' : formatNumber(count)
    find(`#filter [data-status="${kind}"] b`, HTMLElement).textContent = text
  }
  show('', total)
  const bar = find('#stock-bar', SVGElement)
  bar.setAttribute('viewBox', `0 0 ${total} 8`)
  let before = 0n
  const parts = STATUS_NAMES.map(kind => {
    const count = counts[kind]
    show(kind, count)
    const part = find(`.${kind}`, SVGRectElement, bar)
    part.setAttribute('x', String(before))
    part.setAttribute('width', String(count))
    before += count
    return `${formatNumber(count)} ${kind === 'none' ? 'without a status' : kind}`
  })
  bar.ariaLabel = `${formatCount(total, 'animal')}: ${parts.join(', ')}.`
}
