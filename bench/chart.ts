// Draws the ratio of each contender to the bare server, for each workload, as SVG.

import { ANIMAL_STORE, BARE } from './contenders.ts'
import type { Comparison } from './measure.ts'
import { formatSize } from './report.ts'
import { WORKLOADS } from './workloads.ts'

const WIDTH = 820
const LEFT = 330
const RIGHT = 60
const TOP = 64
const BAR_HEIGHT = 16
const BAR_GAP = 4
const GROUP_GAP = 18

/** Shows the smallest catalogue on SQLite, because all contenders take part there. */
export function chart(comparisons: readonly Comparison[]): string {
  const smallest = comparisons.find(({ database }) => database === 'SQLite')
  if (smallest === undefined) return ''
  const scale = (ratio: number) => Math.min(ratio, 1) * (WIDTH - LEFT - RIGHT)
  let y = TOP
  const shapes: string[] = []
  for (const { name } of WORKLOADS) {
    const bars = smallest.measurements.filter(
      ({ workload, contender }) => workload === name && contender !== BARE.name,
    )
    shapes.push(`<text class="workload" x="16" y="${y + BAR_HEIGHT - 4}">${name}</text>`)
    for (const { contender, ratio } of bars) {
      const kind = contender === ANIMAL_STORE.name ? 'ours' : 'other'
      shapes.push(
        `<text class="label" x="${LEFT - 8}" y="${y + BAR_HEIGHT - 4}">${contender}</text>`,
        `<rect class="${kind}" x="${LEFT}" y="${y}" width="${Math.max(scale(ratio), 1).toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
        `<text class="value" x="${(LEFT + scale(ratio) + 6).toFixed(1)}" y="${y + BAR_HEIGHT - 4}">${ratio.toFixed(2)}</text>`,
      )
      y += BAR_HEIGHT + BAR_GAP
    }
    y += GROUP_GAP
  }
  const end = LEFT + scale(1)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-labelledby="title">
<title id="title">CPU time per request, as a ratio to a bare node:http server</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .heading { font-weight: 600; font-size: 15px }
  .workload { font-weight: 600 }
  .label { text-anchor: end; fill: #59636e }
  .value { font-variant-numeric: tabular-nums }
  .ours { fill: #0b7a5b }
  .other { fill: #b6bfc9 }
  .bare { stroke: #59636e; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .label { fill: #9198a1 } .ours { fill: #3fb98f } .other { fill: #4a535e } .bare { stroke: #9198a1 }
  }
</style>
<text class="heading" x="16" y="26">CPU time per request: bare node:http server / contender (longer is better)</text>
<text class="label" style="text-anchor: start" x="16" y="46">SQLite, ${formatSize(smallest.size)} animals, durable writes; Node.js ${process.versions.node}</text>
<line class="bare" x1="${end}" x2="${end}" y1="${TOP - 8}" y2="${y - GROUP_GAP}"/>
<text class="label" style="text-anchor: middle" x="${end}" y="${TOP - 14}">bare</text>
${shapes.join('\n')}
</svg>
`
}
