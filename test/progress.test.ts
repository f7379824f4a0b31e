// The progress of a long task: a bar on a terminal, otherwise plain lines.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createProgress, type Progress } from '../src/cli/progress.ts'

function drawnOn(
  isTTY: boolean,
  use: (progress: Progress, pass: (ms: number) => void) => void,
  { columns = 100, unit }: { columns?: number; unit?: string } = {},
): string {
  let drawn = ''
  let now = 0
  const write = (text: string) => {
    drawn += text
  }
  const stream = { isTTY, columns, write } as unknown as NodeJS.WriteStream
  use(
    createProgress(stream, 'imported', unit, () => now),
    ms => {
      now += ms
    },
  )
  return drawn
}

suite('progress', () => {
  test('is a bar with count, rate and time left on a terminal, redrawn in place and removed at the end', () => {
    const drawn = drawnOn(true, (progress, pass) => {
      progress.update(10, 0.001)
      pass(2_000)
      progress.update(100_000, 0.25)
      progress.update(100_001, 0.26)
      progress.end()
    })
    assert.equal(
      drawn,
      '\r[####............] 25 % imported 100,000 animals, 50,000 a second, 6 s left\u001b[K\r\u001b[K',
    )
  })

  test('leaves out what does not fit into the width of the terminal', () => {
    const drawnIn = (columns: number) =>
      drawnOn(
        true,
        (progress, pass) => {
          pass(2_000)
          progress.update(1_234_567, 0.5)
        },
        { columns },
      )
    const words = 'imported 1,234,567 animals, 617,284 a second, 2 s left'
    assert.equal(drawnIn(79), `\r[########........] 50 % ${words}\u001b[K`)
    assert.equal(drawnIn(78), `\r${words}\u001b[K`)
    assert.equal(drawnIn(40), '\rimported 1,234,567 animals\u001b[K')
    assert.equal(drawnIn(10), '\r\u001b[K')
  })

  test('has no bar and no time left if the size is unknown', () => {
    const drawn = drawnOn(true, (progress, pass) => {
      pass(1_000)
      progress.update(1_000)
    })
    assert.equal(drawn, '\rimported 1,000 animals, 1,000 a second\u001b[K')
  })

  test('is a plain line every five seconds elsewhere', () => {
    const drawn = drawnOn(false, (progress, pass) => {
      for (let second = 1; second <= 11; second++) {
        pass(1_000)
        progress.update(second * 100, second / 20)
      }
      progress.end()
    })
    assert.equal(
      drawn,
      'imported 500 animals, 100 a second, 15 s left\nimported 1,000 animals, 100 a second, 10 s left\n',
    )
  })

  test('counts megabytes too, and gives the time left in the largest fitting unit', () => {
    for (const [seconds, text] of [
      [119, '119 s'],
      [1_459, '24 min'],
      [7_199, '120 min'],
      [10_800, '3 h'],
    ] as const) {
      const use = (progress: Progress, pass: (ms: number) => void) => {
        pass(seconds * 1_000)
        progress.update(seconds * 50, 0.5)
      }
      const count = (seconds * 50).toLocaleString('en')
      assert.equal(
        drawnOn(false, use, { unit: 'MB' }),
        `imported ${count} MB, 50 MB a second, ${text} left\n`,
      )
    }
  })
})
