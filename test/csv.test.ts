// Animals as CSV, in exports and in the download of the catalogue page.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderCsvLine, spreadsheetSafe } from '../src/csv.ts'

test('a name that a spreadsheet would run as a formula gets an apostrophe', () => {
  for (const name of [
    ...['=1+1', '+1', '-1', '@SUM(A1)', '＝1+1', '＋1', '－1', '＠x'],
    ...[' =1', '\t=1', '\r=1', '\n=1', '\r\n \t@x', '\u00a0=1', '\ufeff=1'],
    ...['x;=HYPERLINK("https://evil.example")', 'x,=1', 'x\t=1', 'x; +1', 'a;b;－1', 'a\n=1'],
  ])
    assert.equal(spreadsheetSafe(name), `'${name}`)
  for (const name of ['plain', 'a, b', '"', "'=1", 'a=b', 'x - y', '1-2', '100%', 'mail@example', 'a;b'])
    assert.equal(spreadsheetSafe(name), name)
})

test('a name is quoted where its characters or the separator make that necessary', () => {
  const animal = { id: 1n, categoryId: 9223372036854775807n, status: 'sold' } as const
  for (const [name, comma, tab] of [
    ['Bella', 'Bella', 'Bella'],
    ['a, b', '"a, b"', 'a, b'],
    ['a\tb', 'a\tb', '"a\tb"'],
    ['say "hi"', '"say ""hi"""', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"', '"two\nlines"'],
    [' x ', '" x "', '" x "'],
  ] as const) {
    assert.equal(renderCsvLine({ ...animal, name }), `1,${comma},9223372036854775807,sold`)
    assert.equal(renderCsvLine({ ...animal, name }, '\t'), `1\t${tab}\t9223372036854775807\tsold`)
  }
})
