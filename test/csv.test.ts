// Animals as CSV, in exports and in the download of the catalogue page.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { renderCsvLine, spreadsheetSafe } from '../src/csv.ts'

suite('a name in a spreadsheet-safe CSV file', () => {
  const formulas = [
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
    ' =1',
    '\t=1',
    '\r=1',
    '\n=1',
    '\r\n \t@x',
    '\u00a0=1',
    '\ufeff=1',
    '＝1+1',
    '＋1',
    '－1',
    '＠x',
    'x;=HYPERLINK("https://evil.example")',
    'x,=1',
    'x\t=1',
    'x; +1',
    'a;b;－1',
  ]
  for (const name of formulas) {
    test(`${JSON.stringify(name)}: gets an apostrophe`, () => assert.equal(spreadsheetSafe(name), `'${name}`))
  }

  for (const name of ['plain', 'a, b', '"', "'=1", 'a=b', 'x - y', '1-2', '100%', 'mail@example', 'a;b']) {
    test(`${JSON.stringify(name)}: unchanged`, () => assert.equal(spreadsheetSafe(name), name))
  }
})

suite('a line of CSV', () => {
  const animal = { id: 1n, categoryId: 9223372036854775807n, status: 'sold' } as const
  for (const [name, comma, tab] of [
    ['Bella', 'Bella', 'Bella'],
    ['a, b', '"a, b"', 'a, b'],
    ['a\tb', 'a\tb', '"a\tb"'],
    ['say "hi"', '"say ""hi"""', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"', '"two\nlines"'],
    [' x ', '" x "', '" x "'],
  ] as const) {
    test(`quotes ${JSON.stringify(name)} where its separator makes that necessary`, () => {
      assert.equal(renderCsvLine({ ...animal, name }), `1,${comma},9223372036854775807,sold`)
      assert.equal(renderCsvLine({ ...animal, name }, '\t'), `1\t${tab}\t9223372036854775807\tsold`)
    })
  }
})
