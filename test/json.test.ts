// JSON with exact integers: parsing, rendering, and the canonical form of an int64.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { parseJson } from '../client/src/json.ts'
import {
  canonicalInteger,
  exactInteger,
  INT64_MAX,
  INT64_MIN,
  isObject,
  parseMembers,
  renderJson,
} from '../src/json.ts'

/** Computes the value of a decimal literal with bigint arithmetic. Slow, but obviously correct. */
function referenceInteger(
  sign: string,
  whole: string,
  fraction: string,
  exponent: number,
): bigint | undefined {
  const digits = BigInt(whole + fraction)
  const scale = exponent - fraction.length
  const divisor = 10n ** BigInt(Math.max(0, -scale))
  if (digits % divisor !== 0n) return undefined
  const value = (sign === '-' ? -1n : 1n) * (digits / divisor) * 10n ** BigInt(Math.max(0, scale))
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined
}

/** Converts every bigint to a number, minus zero to zero, and every object to a plain one. */
function asDoubles(value: unknown): unknown {
  if (typeof value === 'bigint' || value === 0) return Number(value) + 0
  if (Array.isArray(value)) return value.map(asDoubles)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asDoubles(member)]))
}

/** Empties an array or object. Minus zero becomes zero, because a bigint has no minus zero. */
function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return []
  if (isObject(value)) return {}
  return value === 0 ? 0 : value
}

suite('exact JSON', () => {
  test('parses an integer literal to its exact value', () => {
    const digits = fc.stringMatching(/^\d{0,25}$/)
    const whole = fc.stringMatching(/^(0|[1-9]\d{0,25})$/)
    const exponent = fc.integer({ min: -40, max: 40 })
    fc.assert(
      fc.property(fc.constantFrom('', '-'), whole, digits, exponent, (sign, integer, fraction, power) => {
        const literal = `${sign}${integer}${fraction && `.${fraction}`}e${power}`
        assert.equal(exactInteger(literal), referenceInteger(sign, integer, fraction, power))
      }),
      { numRuns: 5_000 },
    )
  })

  test('renders and parses every int64 without loss', () => {
    fc.assert(
      fc.property(fc.bigInt(INT64_MIN, INT64_MAX), value => {
        assert.equal(parseJson(renderJson(value)), value)
        assert.equal(canonicalInteger(String(value)), value)
      }),
    )
  })

  test('accepts and rejects the same texts as JSON.parse, with the same values except for integers', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.string(),
          fc.json().map(text => text.slice(1)),
        ),
        text => {
          let expected: unknown
          try {
            expected = JSON.parse(text)
          } catch {
            assert.throws(() => parseJson(text), SyntaxError)
            return
          }
          assert.deepEqual(JSON.stringify(asDoubles(parseJson(text))), JSON.stringify(expected))
        },
      ),
      { numRuns: 3_000 },
    )
  })

  test('parses a number that is not an int64 as a double', () => {
    assert.deepEqual(parseJson('[1.5, 1e400, 9223372036854775808, -1e-3]'), [1.5, Infinity, 2 ** 63, -0.001])
  })

  test('parses deep nesting and long numbers', () => {
    let inner: unknown = parseJson(`${'['.repeat(100_000)}1${']'.repeat(100_000)}`)
    while (Array.isArray(inner)) inner = inner[0]
    assert.equal(inner, 1n)
    assert.equal(exactInteger('9'.repeat(1_000_000)), undefined)
    assert.equal(exactInteger(`${'0'.repeat(999_999)}7`), 7n)
    assert.equal(exactInteger(`1e${'9'.repeat(1_000_000)}`), undefined)
  })

  test('treats __proto__ as an ordinary member', () => {
    const value = parseJson('{"__proto__":{"a":1}}') as Record<string, unknown>
    assert.deepEqual(Object.keys(value), ['__proto__'])
    assert.equal(value.a, undefined)
  })

  for (const text of [
    '',
    '+1',
    '01',
    '-0',
    '00',
    '-',
    '1.0',
    '1e3',
    ' 1',
    '1 ',
    '0x1',
    '9223372036854775808',
    '-9223372036854775809',
    '٣',
    '1_000',
  ]) {
    test(`rejects "${text}" as the canonical form of an int64`, () => {
      assert.equal(canonicalInteger(text), undefined)
    })
  }
})

suite('JSON of which only some members matter', () => {
  for (const [what, text, expected] of [
    ['a short integer as a bigint', '{"a":7}', 7n],
    ['an integer above 2^53 as a bigint', '{"a":9007199254740993}', 9007199254740993n],
    ['an integer with a fraction of zeros as a bigint', '{"a":1.0}', 1n],
    ['minus zero as zero', '{"a":-0}', 0n],
    ['a number that a double rounds to an integer as a double', '{"a":1.0000000000000000001}', 1],
    ['an integer above int64 as a double', '{"a":9223372036854775808}', 2 ** 63],
    ['the last of two members with that name', '{"a":9007199254740993,"a":1e2}', 100n],
    [
      'the last of two members, one with an escaped name',
      '{"a":1,"\\u0061":9007199254740993}',
      9007199254740993n,
    ],
    ['the last of two members, the first with an escaped name', '{"\\u0061":9007199254740993,"a":1}', 1n],
    ['a member with an escaped name', '{"\\u0061":9007199254740993}', 9007199254740993n],
    [
      'the outermost member, not nested ones with that name',
      '{"b":{"a":1.5},"a":9007199254740993,"c":[{"a":2.5}]}',
      9007199254740993n,
    ],
    ['a member behind strings with braces and quotes', '{"b":"}{\\"a\\":1,","a":2,"c":"{"}', 2n],
    ['a member between spaces', ' {\t"b" : [ ] ,\r\n"a" : 3 } ', 3n],
    ['a member that is an array as an empty one', '{"a":9007199254740993,"a":[1.5]}', []],
    ['a member that is an object as an empty one', '{"a":{"a":1}}', {}],
    ['a string unchanged', '{"a":"9007199254740993"}', '9007199254740993'],
    ['a string with escapes', '{"a":"\\ud83d\\ude00\\n\\u0000\\ud800"}', '\u{1f600}\n\0\ud800'],
    ['true, false and null', '{"a":false,"a":true,"a":null}', null],
    ['a missing member as undefined', '{"b":9007199254740993}', undefined],
    ['a member with a longer name as undefined', '{"ab":1,"\\u0061b":2}', undefined],
  ] as const) {
    test(`parses ${what}`, () => {
      assert.deepEqual(parseMembers(text, ['a'])?.a, expected)
    })
  }

  for (const text of ['1', '"a"', '[{"a":1}]', 'null', ' true ', '-1.5e3']) {
    test(`returns undefined for ${text}`, () => {
      assert.equal(parseMembers(text, ['a']), undefined)
    })
  }

  test('returns only the named members', () => {
    const members = parseMembers('{"__proto__":{"a":1},"b":2,"constructor":3}', ['a', 'b'])
    assert.deepEqual(members, { b: 2n })
  })

  /** Texts that are JSON, or would be with one character more, fewer or different. */
  const almostJson = fc
    .tuple(
      fc.oneof(fc.json(), fc.constant('{"a":[1,{"b":"\\u00e9"}],"a":-1.5E+3}')),
      fc.nat(),
      fc.nat(),
      fc.string(),
    )
    .map(([text, at, length, inserted]) => {
      const from = at % (text.length + 1)
      return text.slice(0, from) + inserted.slice(0, 1) + text.slice(from + (length % 2))
    })

  test('accepts and rejects the same texts as JSON.parse, with the same members', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), almostJson), text => {
        let expected: unknown
        try {
          expected = JSON.parse(text)
        } catch {
          assert.throws(() => parseMembers(text, ['a']), SyntaxError, text)
          return
        }
        if (!isObject(expected)) {
          assert.equal(parseMembers(text, []), undefined)
          return
        }
        const names = Object.keys(expected).filter(name => name !== '__proto__')
        const members = parseMembers(text, names) as Record<string, unknown>
        for (const name of names) assert.deepEqual(asDoubles(members[name]), emptied(expected[name]), text)
      }),
      { numRuns: 5_000 },
    )
  })

  for (const text of [
    ...[
      '',
      ' ',
      '{',
      '}',
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      '{"a":1,}',
      '{,}',
      '{"a" 1}',
      "{'a':1}",
      '{a:1}',
    ],
    ...[
      '{"a":01}',
      '{"a":1.}',
      '{"a":.5}',
      '{"a":+1}',
      '{"a":1e}',
      '{"a":-}',
      '{"a":0x1}',
      '{"a":NaN}',
      '{"a":tru}',
    ],
    ...[
      '{"a":"\n"}',
      '{"a":"\\x"}',
      '{"a":"\\u12g4"}',
      '{"a":"',
      '{"a":"\\"}',
      '{"a":"\0"}',
      '\ufeff{"a":1}',
      '{"a":1}\u00a0',
    ],
    ...[
      '[1,]',
      '[,1]',
      '[1 2]',
      '[1}',
      '{"a":[1}',
      '{"a":{"b":1]}',
      '{"a":1}{',
      '{"a":1}1',
      '[]]',
      '{"a":1 "b":2}',
    ],
  ]) {
    test(`rejects ${JSON.stringify(text)}`, () => {
      assert.throws(() => JSON.parse(text), SyntaxError)
      assert.throws(() => parseMembers(text, ['a']), SyntaxError)
    })
  }

  test('parses 100,000 nested arrays', () => {
    const nested = '['.repeat(100_000) + ']'.repeat(100_000)
    assert.equal(parseMembers(nested, ['a']), undefined)
    assert.equal(parseMembers(`{"b":${nested},"a":1e1}`, ['a'])?.a, 10n)
    assert.throws(() => parseMembers(`{"b":${nested}],"a":1e1}`, ['a']), SyntaxError)
  })
})
