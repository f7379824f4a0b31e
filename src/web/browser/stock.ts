// Stock at a glance: a chart and the counts of each status. The filter shows the counts too, once they are complete.

import { find, formatCount, formatNumber } from './elements.ts'
import { type Count, KINDS, type Kind, MAX_COUNTED } from './stock-count.ts'

const CHART_WIDTH = 1_000

const LABELS: Readonly<Record<Kind, string>> = {
  available: 'available',
  pending: 'pending',
  sold: 'sold',
  none: 'without a status',
}

export function showStock({ state, total, of }: Count): void {
  find('#stock-total', HTMLElement).textContent = {
    counting: `${formatNumber(total)} so far …`,
    complete: formatNumber(total),
    capped: `first ${formatNumber(MAX_COUNTED)} counted`,
  }[state]
  find('#stock', HTMLElement).dataset.state = state
  showChart(of, total)
  for (const kind of KINDS) find(`#stock-legend .${kind} b`, HTMLElement).textContent = formatNumber(of[kind])
  const isKnown = state === 'complete'
  for (const kind of KINDS.filter(kind => kind !== 'none')) showInFilter(kind, isKnown ? of[kind] : undefined)
  showInFilter('', isKnown ? total : undefined)
}

function showChart(of: Count['of'], total: number): void {
  let x = 0
  for (const kind of KINDS) {
    const width = total === 0 ? 0 : (of[kind] / total) * CHART_WIDTH
    const bar = find(`#stock-chart .${kind}`, SVGRectElement)
    bar.setAttribute('x', x.toFixed(1))
    bar.setAttribute('width', width.toFixed(1))
    x += width
  }
  const parts = KINDS.map(kind => `${formatNumber(of[kind])} ${LABELS[kind]}`)
  find('#stock-chart', SVGElement).ariaLabel = `${formatCount(total, 'animal')}: ${parts.join(', ')}.`
}

function showInFilter(status: string, count: number | undefined): void {
  find(`#filter [data-status="${status}"] small`, HTMLElement).textContent =
    count === undefined ? '' : formatNumber(count)
}
