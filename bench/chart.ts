// The outcome as a picture: for each workload, how near each contender comes to a bare server.

import { ANIMAL_STORE, BARE } from './contenders.ts'
import type { Table } from './measure.ts'
import { find, words } from './report.ts'
import { WORKLOADS } from './workloads.ts'

const WIDTH = 820
const LEFT = 330
const RIGHT = 60
const BAR = 16
const GAP = 4
const BETWEEN = 18
const TOP = 64

/** The smallest catalogue on SQLite: there everyone takes part. */
export function chart(tables: readonly Table[]): string {
  const smallest = tables.find(({ database }) => database === 'SQLite')
  if (smallest === undefined) return ''
  const scale = (ratio: number) => Math.min(ratio, 1) * (WIDTH - LEFT - RIGHT)
  let y = TOP
  const shapes: string[] = []
  for (const { name } of WORKLOADS) {
    const bars = smallest.measured
      .filter(({ workload, contender }) => workload === name && contender !== BARE.name)
      .map(({ contender }) => find(smallest, name, contender))
    shapes.push(`<text class="name" x="16" y="${y + BAR - 4}">${name}</text>`)
    for (const bar of bars) {
      if (bar === undefined) continue
      const kind = bar.contender === ANIMAL_STORE.name ? 'ours' : 'other'
      shapes.push(
        `<text class="who" x="${LEFT - 8}" y="${y + BAR - 4}">${bar.contender}</text>`,
        `<rect class="${kind}" x="${LEFT}" y="${y}" width="${Math.max(scale(bar.ratio), 1).toFixed(1)}" height="${BAR}" rx="2"/>`,
        `<text class="value" x="${(LEFT + scale(bar.ratio) + 6).toFixed(1)}" y="${y + BAR - 4}">${bar.ratio.toFixed(2)}</text>`,
      )
      y += BAR + GAP
    }
    y += BETWEEN
  }
  const end = LEFT + scale(1)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-labelledby="title">
<title id="title">CPU per request, as a ratio to a bare node:http server</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px }
  .name { font-weight: 600 }
  .who { text-anchor: end; fill: #59636e }
  .value { font-variant-numeric: tabular-nums }
  .ours { fill: #0b7a5b }
  .other { fill: #b6bfc9 }
  .bare { stroke: #59636e; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .who { fill: #9198a1 } .ours { fill: #3fb98f } .other { fill: #4a535e } .bare { stroke: #9198a1 }
  }
</style>
<text class="head" x="16" y="26">CPU per request: a bare node:http server / this contender (longer is better)</text>
<text class="who" style="text-anchor: start" x="16" y="46">SQLite, ${words(smallest.size)} animals, durable writes; Node.js ${process.versions.node}</text>
<line class="bare" x1="${end}" x2="${end}" y1="${TOP - 8}" y2="${y - BETWEEN}"/>
<text class="who" style="text-anchor: middle" x="${end}" y="${TOP - 14}">bare</text>
${shapes.join('\n')}
</svg>
`
}
