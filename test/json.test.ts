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
  parseJson as parseWithExactMember,
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

/** Converts every bigint to a number and every object to a plain one, like the result of `JSON.parse`. */
function asDoubles(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(asDoubles)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asDoubles(member)]))
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

suite('JSON with one exact member', () => {
  for (const [what, text, expected] of [
    ['a short integer as a bigint', '{"a":7}', 7n],
    ['an integer above 2^53 as a bigint', '{"a":9007199254740993}', 9007199254740993n],
    ['an integer with a fraction of zeros as a bigint', '{"a":1.0}', 1n],
    ['a number that a double rounds to an integer as a double', '{"a":1.0000000000000000001}', 1],
    ['an integer above int64 as a double', '{"a":9223372036854775808}', 2 ** 63],
    ['the last of two members with that name', '{"a":9007199254740993,"a":1e2}', 100n],
    ['a member with an escaped name', '{"\\u0061":9007199254740993}', 9007199254740993n],
    [
      'the outermost member, not nested ones with that name',
      '{"b":{"a":1.5},"a":9007199254740993,"c":[{"a":2.5}]}',
      9007199254740993n,
    ],
    ['a member that is an array unchanged', '{"a":9007199254740993,"a":[1.5]}', [1.5]],
    ['a string unchanged', '{"a":"9007199254740993"}', '9007199254740993'],
    ['a missing member as undefined', '{"b":9007199254740993}', undefined],
  ] as const) {
    test(`parses ${what}`, () => {
      assert.deepEqual((parseWithExactMember(text, 'a') as { a?: unknown }).a, expected)
    })
  }

  test('parses 100,000 nested arrays', () => {
    assert.ok(Array.isArray(parseWithExactMember(`${'['.repeat(100_000)}1.5${']'.repeat(100_000)}`, 'a')))
    const nested = `{"b":${'['.repeat(100_000)}${']'.repeat(100_000)},"a":1e1}`
    assert.equal((parseWithExactMember(nested, 'a') as { a: unknown }).a, 10n)
  })
})
