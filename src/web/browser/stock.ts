// Stock at a glance: the filter shows the number of animals of each status, and a bar compares them.

import { MAX_WALKED, type Walked } from './catalogue-walk.ts'
import { find, formatCount, formatNumber } from './elements.ts'
import { KINDS, type Kind } from './location.ts'

const BAR_WIDTH = 1_000

export function countOf({ animals }: Walked, kind: Kind | undefined): number {
  if (kind === undefined) return animals.length
  return animals.filter(({ status = 'none' }) => status === kind).length
}

export function showStock(walked: Walked): void {
  const { state, animals } = walked
  // A number that is not final says so: "2,000 …" grows, "20,000+" does not.
  const suffix = { counting: ' …', complete: '', capped: '+' }[state]
  const show = (kind: string, count: number) => {
    find(`#filter [data-status="${kind}"] b`, HTMLElement).textContent = formatNumber(count) + suffix
  }
  find('#stock-note', HTMLElement).textContent =
    state === 'capped' ? `the first ${formatNumber(MAX_WALKED)} counted` : ''
  show('', animals.length)
  let x = 0
  const parts = KINDS.map(kind => {
    const count = countOf(walked, kind)
    show(kind, count)
    const width = animals.length === 0 ? 0 : (count / animals.length) * BAR_WIDTH
    const part = find(`#stock-bar .${kind}`, SVGRectElement)
    part.setAttribute('x', x.toFixed(1))
    part.setAttribute('width', width.toFixed(1))
    x += width
    return `${formatNumber(count)} ${kind === 'none' ? 'without a status' : kind}`
  })
  find('#stock-bar', SVGElement).ariaLabel = `${formatCount(animals.length, 'animal')}: ${parts.join(', ')}.`
  const { dataset } = find('#stock', HTMLElement)
  // The numbers have moved the filters.
  if (dataset.state !== state) scrollToFilter()
  dataset.state = state
}

/** On a small screen, the chosen filter may be out of sight. */
export function scrollToFilter(): void {
  const filter = find('#filter', HTMLElement)
  const chosen = find('#filter [aria-pressed=true]', HTMLElement)
  filter.scrollLeft = chosen.offsetLeft + (chosen.offsetWidth - filter.clientWidth) / 2
}
