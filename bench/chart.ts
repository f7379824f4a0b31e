// Draws the CPU time of the other services, as a multiple of this service's, on both databases, as SVG.

import { ANIMAL_STORE, BARE } from './contenders.ts'
import type { Comparison, Measurement } from './measure.ts'
import { formatSize } from './report.ts'
import { WORKLOADS } from './workloads.ts'

const WIDTH = 860
const LEFT = 350
const RIGHT = 70
const TOP = 64
const BAR_HEIGHT = 14
const BAR_GAP = 4
const GROUP_GAP = 14
const PANEL_GAP = 34

/** Longer bars are cut off. Their number says how long they are. */
const MAX_TIMES = 6

/** Shows the smallest catalogue on each database, because all contenders take part there. */
export function chart(comparisons: readonly Comparison[]): string {
  const smallest = (['SQLite', 'PostgreSQL'] as const).flatMap(
    database => comparisons.find(each => each.database === database) ?? [],
  )
  const shapes: string[] = []
  let y = TOP
  for (const comparison of smallest) {
    shapes.push(`<text class="panel" x="16" y="${y + 4}">${panelTitle(comparison)}</text>`)
    y += 22
    const top = y
    for (const { name } of WORKLOADS) {
      const bars = comparison.measurements.filter(
        ({ workload, contender }) => workload === name && contender !== BARE.name,
      )
      shapes.push(`<text class="workload" x="16" y="${y + BAR_HEIGHT - 3}">${name}</text>`)
      for (const bar of bars) {
        shapes.push(...drawBar(bar, y))
        y += BAR_HEIGHT + BAR_GAP
      }
      y += GROUP_GAP
    }
    const one = LEFT + scale(1)
    shapes.push(`<line class="one" x1="${one}" x2="${one}" y1="${top - 4}" y2="${y - GROUP_GAP}"/>`)
    y += PANEL_GAP - GROUP_GAP
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-labelledby="title">
<title id="title">CPU time per request of other services, as a multiple of this service's, on SQLite and on PostgreSQL</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .heading { font-weight: 600; font-size: 15px }
  .panel { font-weight: 600; font-size: 14px }
  .workload { font-weight: 500 }
  .label { text-anchor: end; fill: #59636e }
  .value { font-variant-numeric: tabular-nums }
  .ours { fill: #0b7a5b }
  .other { fill: #b6bfc9 }
  .one { stroke: #59636e; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .label { fill: #9198a1 } .ours { fill: #3fb98f } .other { fill: #4a535e } .one { stroke: #9198a1 }
  }
</style>
<text class="heading" x="16" y="26">CPU time per request, as a multiple of this service's (shorter is better)</text>
<text class="label" style="text-anchor: start" x="16" y="46">64 connections, durable writes; Node.js ${process.versions.node}; on PostgreSQL the server's CPU time is included</text>
${shapes.join('\n')}
</svg>
`
}

function panelTitle({ database, size }: Comparison): string {
  return `${database}, ${formatSize(size)} animals`
}

function drawBar({ contender, relativeToService }: Measurement, y: number): string[] {
  const kind = contender === ANIMAL_STORE.name ? 'ours' : 'other'
  const width = scale(relativeToService)
  const baseline = y + BAR_HEIGHT - 3
  const isCut = relativeToService > MAX_TIMES
  return [
    `<text class="label" x="${LEFT - 8}" y="${baseline}">${contender}</text>`,
    `<rect class="${kind}" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<text class="value" x="${(LEFT + width + 6).toFixed(1)}" y="${baseline}">${isCut ? '» ' : ''}${relativeToService.toFixed(isCut ? 0 : 1)}</text>`,
  ]
}

function scale(times: number): number {
  return (Math.min(times, MAX_TIMES) / MAX_TIMES) * (WIDTH - LEFT - RIGHT)
}
