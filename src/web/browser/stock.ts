// Stock at a glance: the filter shows the number of animals of each status, and a bar compares them.

import type { Inventory } from '../../../client/src/animal-store.ts'
import { find, formatCount, formatNumber } from './elements.ts'
import { KINDS, type Kind } from './location.ts'

export function countOf(inventory: Inventory, kind: Kind | undefined): bigint {
  return kind === undefined ? KINDS.reduce((total, kind) => total + inventory[kind], 0n) : inventory[kind]
}

/** Nobody has counted the results of a search, so the filters have no numbers then. */
export function showStock(inventory: Inventory | undefined, isSearch: boolean): void {
  const stock = find('#stock', HTMLElement)
  stock.classList.toggle('search', isSearch)
  if (inventory === undefined) return
  const show = (kind: string, count: bigint) => {
    find(`#filter [data-status="${kind}"] b`, HTMLElement).textContent = formatNumber(count)
  }
  const total = countOf(inventory, undefined)
  show('', total)
  const bar = find('#stock-bar', SVGElement)
  bar.setAttribute('viewBox', `0 0 ${total} 8`)
  let before = 0n
  const parts = KINDS.map(kind => {
    const count = inventory[kind]
    show(kind, count)
    const part = find(`.${kind}`, SVGRectElement, bar)
    part.setAttribute('x', String(before))
    part.setAttribute('width', String(count))
    before += count
    return `${formatNumber(count)} ${kind === 'none' ? 'without a status' : kind}`
  })
  bar.ariaLabel = `${formatCount(total, 'animal')}: ${parts.join(', ')}.`
  stock.dataset.state = 'complete'
}
