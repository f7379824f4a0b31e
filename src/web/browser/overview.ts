// The overview: a chart of how many animals of each status this tab has loaded.

import type { Animal } from '../../../client/src/animal-store.ts'
import { STATUSES } from '../../animal.ts'
import { find, formatCount } from './elements.ts'

/** Limits the memory of a tab that stays open. Further animals are not counted, and the text says so. */
const MAX_COUNTED = 50_000

const BARS = [...STATUSES, 'none'] as const
type Bar = (typeof BARS)[number]

const CHART_WIDTH = 1_000

export interface Overview {
  add(animals: readonly Animal[]): void
  clear(): void
}

export function createOverview(): Overview {
  /** Animals never change, so each is counted once. */
  const countedIds = new Set<bigint>()
  const counts: Record<Bar, number> = { available: 0, pending: 0, sold: 0, none: 0 }

  function draw(): void {
    let x = 0
    for (const bar of BARS) {
      const width = countedIds.size === 0 ? 0 : (counts[bar] / countedIds.size) * CHART_WIDTH
      const rectangle = find(`#chart .${bar}`, SVGRectElement)
      rectangle.setAttribute('x', x.toFixed(1))
      rectangle.setAttribute('width', width.toFixed(1))
      x += width
      find(`#legend .${bar} b`, HTMLElement).textContent = counts[bar].toLocaleString('en')
    }
    find('#overview-text', HTMLElement).textContent = describe()
  }

  function describe(): string {
    if (countedIds.size === 0) return 'No animal has been loaded yet.'
    const which = countedIds.size >= MAX_COUNTED ? 'the first ' : 'the '
    return `Counted:  ${which}${formatCount(countedIds.size, 'animal')} loaded since this page was opened, filtered or not. There may be more.`
  }

  draw()
  return {
    add(animals) {
      for (const { id, status = 'none' } of animals) {
        if (countedIds.has(id) || countedIds.size >= MAX_COUNTED) continue
        countedIds.add(id)
        counts[status]++
      }
      draw()
    },
    clear() {
      countedIds.clear()
      for (const bar of BARS) counts[bar] = 0
      draw()
    },
  }
}
