// How many animals of each status this tab has seen: a chart that says what it covers.

import type { Animal } from '../../../client/src/animal-store.ts'
import { STATUSES } from '../../animal.ts'
import { counted, find } from './elements.ts'

/** More than anyone looks at; beyond it nothing new is counted, and the page says so. */
const MOST = 50_000

const KINDS = [...STATUSES, 'none'] as const
type Kind = (typeof KINDS)[number]

const WIDTH = 1_000

export interface Overview {
  add(animals: readonly Animal[]): void
  /** For whoever signs in next. */
  forget(): void
}

export function overview(): Overview {
  /** An animal never changes: to have counted it once is enough. */
  const seen = new Set<bigint>()
  const counts: Record<Kind, number> = { available: 0, pending: 0, sold: 0, none: 0 }

  function draw(): void {
    let x = 0
    for (const kind of KINDS) {
      const width = seen.size === 0 ? 0 : (counts[kind] / seen.size) * WIDTH
      const bar = find(`#chart .${kind}`, SVGRectElement)
      bar.setAttribute('x', x.toFixed(1))
      bar.setAttribute('width', width.toFixed(1))
      x += width
      find(`#legend .${kind} b`, HTMLElement).textContent = counts[kind].toLocaleString('en')
    }
    find('#overview-words', HTMLElement).textContent = words()
  }

  function words(): string {
    if (seen.size === 0) return 'No animal has been loaded yet.'
    const which = seen.size >= MOST ? 'the first ' : 'the '
    return `Counted: ${which}${counted(seen.size, 'animal')} loaded since this page was opened, filtered or not. There may be more.`
  }

  draw()
  return {
    add(animals) {
      for (const { id, status = 'none' } of animals) {
        if (seen.has(id) || seen.size >= MOST) continue
        seen.add(id)
        counts[status]++
      }
      draw()
    },
    forget() {
      seen.clear()
      for (const kind of KINDS) counts[kind] = 0
      draw()
    },
  }
}
