// Stock at a glance: the filter shows the number of animals of each status, and a bar compares them.

import { type Count, MAX_WALKED } from './catalogue-walk.ts'
import { find, formatCount, formatNumber } from './elements.ts'
import { KINDS, type Kind } from './location.ts'

const BAR_WIDTH = 1_000

const LABELS: Readonly<Record<Kind, string>> = {
  available: 'available',
  pending: 'pending',
  sold: 'sold',
  none: 'without a status',
}

export function showStock({ state, total, of }: Count): void {
  // A number that is not final says so: "2,000 …" grows, "20,000+" does not.
  const suffix = { counting: ' …', complete: '', capped: '+' }[state]
  const capped = state === 'capped' ? `the first ${formatNumber(MAX_WALKED)} counted` : ''
  const show = (kind: string, count: number) => {
    find(`#filter [data-status="${kind}"] b`, HTMLElement).textContent = formatNumber(count) + suffix
  }
  find('#stock-note', HTMLElement).textContent = capped
  show('', total)
  let x = 0
  for (const kind of KINDS) {
    show(kind, of[kind])
    const width = total === 0 ? 0 : (of[kind] / total) * BAR_WIDTH
    const part = find(`#stock-bar .${kind}`, SVGRectElement)
    part.setAttribute('x', x.toFixed(1))
    part.setAttribute('width', width.toFixed(1))
    x += width
  }
  const { dataset } = find('#stock', HTMLElement)
  // The numbers have moved the filters.
  if (dataset.state !== state) scrollToFilter()
  dataset.state = state
  const parts = KINDS.map(kind => `${formatNumber(of[kind])} ${LABELS[kind]}`)
  find('#stock-bar', SVGElement).ariaLabel = `${formatCount(total, 'animal')}: ${parts.join(', ')}.`
}

/** On a small screen, the chosen filter may be out of sight. */
export function scrollToFilter(): void {
  const filter = find('#filter', HTMLElement)
  const chosen = find('#filter [aria-pressed=true]', HTMLElement)
  filter.scrollLeft = chosen.offsetLeft + (chosen.offsetWidth - filter.clientWidth) / 2
}

/** How far the names are known, of all animals that were counted. */
export function describeProgress(searched: Count, count: Count): string {
  if (searched.state === 'capped') return `Searched the first ${formatNumber(MAX_WALKED)}`
  if (count.state === 'counting') return `Searched ${formatNumber(searched.total)} so far …`
  const total = Math.max(searched.total, count.total)
  return `Searched ${formatNumber(searched.total)} of ${formatNumber(total)}${searched.state === 'counting' ? ' …' : ''}`
}
