// Draws the CPU time of the contenders, as a multiple of this service's, as SVG: SQLite on the left, PostgreSQL on the right.

import { ANIMAL_STORE, BARE } from './contenders.ts'
import { CONNECTIONS } from './load.ts'
import type { Comparison, Measurement } from './measure.ts'
import { formatSize } from './report.ts'
import { SEARCH_CONNECTIONS, WORKLOADS } from './workloads.ts'

const WIDTH = 760
const MARGIN = 16
const TOP = 82
const PANEL_WIDTH = 350
/** The part of a panel for the names of the contenders. */
const NAME_WIDTH = 152
const VALUE_WIDTH = 30
const ROW_HEIGHT = 15
const BAR_HEIGHT = 11
const GROUP_GAP = 6

const PANEL_NOTES = { SQLite: 'this service caches its first page', PostgreSQL: "with the server's CPU time" }

/** Longer bars are cut off. Their number says how long they are. */
const MAX_TIMES = 4

/** Shows the smallest catalogue on each database, without the request log. */
export function chart(comparisons: readonly Comparison[]): string {
  const panels = (['SQLite', 'PostgreSQL'] as const).flatMap(
    database => comparisons.find(each => each.database === database && !each.log) ?? [],
  )
  const workloads = WORKLOADS.filter(({ isMain }) => isMain).map(({ name }) => name)
  // The name of the workload and a bar for each contender but the bare server. The panels are aligned.
  const rows = Math.max(
    ...panels.map(({ measurements }) => new Set(measurements.map(each => each.contender)).size),
  )
  const groupHeight = rows * ROW_HEIGHT + GROUP_GAP
  const height = TOP + workloads.length * groupHeight + MARGIN - GROUP_GAP
  const shapes = panels.flatMap((panel, index) => {
    const left = MARGIN + index * (WIDTH - 2 * MARGIN - PANEL_WIDTH)
    const one = left + NAME_WIDTH + scale(1)
    return [
      `<text class="panel" x="${left}" y="${TOP - 10}">${panel.database}<tspan class="note" dx="8">${PANEL_NOTES[panel.database]}</tspan></text>`,
      ...workloads.flatMap((name, position) => drawGroup(panel, name, left, TOP + position * groupHeight)),
      `<line class="one" x1="${one}" x2="${one}" y1="${TOP}" y2="${height - MARGIN}"/>`,
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">CPU time per request of other services, as a multiple of this service's, on SQLite and on PostgreSQL</title>
<style>
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .heading { font-weight: 600; font-size: 15px }
  .panel { font-weight: 600; font-size: 14px }
  .workload { font-weight: 600 }
  .note, .name { fill: #59636e; font-weight: 400; font-size: 12px }
  .value { font-variant-numeric: tabular-nums }
  .ours { fill: #0b7a5b }
  .other { fill: #aab4bf }
  .one { stroke: #59636e; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .note, .name { fill: #9198a1 } .ours { fill: #3fb98f } .other { fill: #57616d } .one { stroke: #9198a1 }
  }
</style>
<text class="heading" x="${MARGIN}" y="26">CPU time per request, as a multiple of this service's (shorter is better)</text>
<text class="note" x="${MARGIN}" y="45">${formatSize(panels[0]?.size ?? 0)} animals, ${CONNECTIONS} connections (${SEARCH_CONNECTIONS} for searches), durable writes, request log off</text>
${shapes.join('\n')}
</svg>
`
}

function drawGroup({ measurements }: Comparison, workload: string, left: number, top: number): string[] {
  const bars = measurements.filter(each => each.workload === workload && each.contender !== BARE.name)
  return [
    `<text class="workload" x="${left}" y="${top + BAR_HEIGHT - 1}">${workload}</text>`,
    ...bars.flatMap((bar, index) => drawBar(bar, left, top + (index + 1) * ROW_HEIGHT)),
  ]
}

function drawBar({ contender, timesOurs }: Measurement, left: number, y: number): string[] {
  const kind = contender === ANIMAL_STORE.name ? 'ours' : 'other'
  const start = left + NAME_WIDTH
  const width = scale(timesOurs)
  const baseline = y + BAR_HEIGHT - 1
  // A number must not lie on the line at 1.
  const end = start + Math.max(width, scale(1))
  const cut = timesOurs > MAX_TIMES ? '» ' : ''
  return [
    `<text class="name" x="${left}" y="${baseline}">${contender}</text>`,
    `<rect class="${kind}" x="${start}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
    `<text class="value" x="${(end + 5).toFixed(1)}" y="${baseline}">${cut}${timesOurs.toFixed(1)}</text>`,
  ]
}

function scale(times: number): number {
  return (Math.min(times, MAX_TIMES) / MAX_TIMES) * (PANEL_WIDTH - NAME_WIDTH - VALUE_WIDTH)
}
