// JSON with exact integers: parsing, rendering, and the canonical form of an int64.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { parseJson, toJson } from '../client/src/json.ts'
import { parseAnimalJson } from '../src/animal-json.ts'
import { canonicalInteger, INT64_MAX, INT64_MIN } from '../src/int64.ts'
import { exactInteger, renderJson } from '../src/json.ts'
import { anyCharacter } from './support/characters.ts'

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

  test('parses what the client renders to the same value', () => {
    const leaf = fc.oneof(
      fc.bigInt(INT64_MIN, INT64_MAX),
      fc.string({ unit: anyCharacter }),
      fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    )
    const { value } = fc.letrec<{ value: unknown }>(tie => ({
      value: fc.oneof(
        leaf,
        fc.array(tie('value')),
        fc.dictionary(fc.string(), tie('value'), { noNullPrototype: true }),
      ),
    }))
    fc.assert(fc.property(value, value => assert.deepEqual(parseJson(toJson(value)), value)))
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

  test('parses long numbers', () => {
    assert.equal(exactInteger('9'.repeat(1_000_000)), undefined)
    assert.equal(exactInteger(`${'0'.repeat(999_999)}7`), 7n)
    assert.equal(exactInteger(`1e${'9'.repeat(1_000_000)}`), undefined)
  })

  test('treats __proto__ as an ordinary member', () => {
    const value = parseJson('{"__proto__":{"a":1}}') as Record<string, unknown>
    assert.deepEqual(Object.keys(value), ['__proto__'])
    assert.equal(value.a, undefined)
  })

  test('accepts only the canonical form of an int64', () => {
    const others = ['', '+1', '01', '-0', '-', '1.0', '1e3', ' 1', '0x1', '9223372036854775808', '٣', '1_000']
    for (const text of others) assert.equal(canonicalInteger(text), undefined, text)
  })
})

suite('the JSON of an animal', () => {
  for (const [what, text, expected] of [
    ['the last of two members', '{"categoryId":1,"c\\u0061tegoryId":9007199254740993}', 9007199254740993n],
    ['the outermost member', '{"b":{"categoryId":1.5},"categoryId":1e2,"c":[{"categoryId":2.5}]}', 100n],
    ['a member between strings', '{"b":"}{\\"categoryId\\":1,\\\\","categoryId":2.0,"c":"3{"}', 2n],
    ['a member between spaces', ' {\t"b" : [ 1 ] ,\r\n"categoryId" : 3.0 } ', 3n],
    ['a missing member as undefined', '{"b":9007199254740993}', undefined],
  ] as const) {
    test(`has as its category ${what}`, () => {
      assert.equal((parseAnimalJson(text) as { categoryId?: unknown }).categoryId, expected)
    })
  }

  test('keeps name and status, with all their characters', () => {
    const text = '{"name":"7 \\ud83d\\ude00\\n\\u0000\\ud800 -1.5e3","status":"8","categoryId":1.0}'
    const { name, status } = parseAnimalJson(text) as Record<string, unknown>
    assert.deepEqual([name, status], ['7 \u{1f600}\n\0\ud800 -1.5e3', '8'])
  })

  test('is parsed exactly, whatever else it contains', () => {
    const category = fc.oneof(
      fc.bigInt(INT64_MIN, INT64_MAX),
      fc.double({ noNaN: true, noInteger: true, noDefaultInfinity: true }),
    )
    fc.assert(
      fc.property(fc.json(), fc.string(), category, (other, name, categoryId) => {
        const text = `{"a":${other},${renderJson({ name, categoryId }).slice(1)}`
        const parsed = parseAnimalJson(text) as Record<string, unknown>
        assert.deepEqual([parsed.name, parsed.categoryId], [name, categoryId])
      }),
      { numRuns: 3_000 },
    )
  })
})
