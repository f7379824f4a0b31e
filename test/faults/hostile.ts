// Hostile requests, generated at random: every response must be one that the OpenAPI document describes, and none may
// be 5xx.
//
//   node test/faults/hostile.ts [--quick]

import { API_KEY, client, startTestService } from '../support/service.ts'
import { type Figure, type Options, report } from './figure.ts'
import { inScope } from './processes.ts'

const CONCURRENT = 20

type Random = <Value>(values: readonly Value[]) => Value

const METHODS = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'POST',
  'POST',
  'POST',
  'POST',
  'POST',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'QUERY',
] as const
const PATHS = [
  // Most requests go to the path with the most checks.
  ...Array.from({ length: 30 }, () => '/v1/pets'),
  ...['/v1/pets', '/v1/pets', '/v1/pets', '/v1/pets/', '/v1/pets/1', '/v1/pets/-9223372036854775808'],
  ...['/v1/pets/9223372036854775808', '/v1/pets/%31', '/v1/pets/%', '/v1/pets/%ff', '/v1//pets', '/V1/pets'],
  ...[
    '/v1',
    '/v1/',
    '/v1/store/orders',
    '/',
    '/docs',
    '/openapi.json',
    '/livez',
    '/readyz',
    '/%2e%2e/etc/passwd',
  ],
  ...[
    '/v1/pets/../pets',
    '/v1/pets;x=1',
    '/favicon.ico',
    '//v1/pets',
    '/v1/pets/1/2',
    `/v1/pets/${'9'.repeat(3_000)}`,
  ],
]
const VALUES = [
  ...[
    '',
    '0',
    '1',
    '-1',
    '100',
    '101',
    '007',
    '+5',
    '1.5',
    '1e1',
    '%00',
    '%ff',
    'available',
    'AVAILABLE',
    'null',
  ],
  ...[
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775808',
    '%F0%9F%90%88',
    "'%20or%201=1--",
    '[]',
  ],
]
const PARAMETERS = [
  'limit',
  'after',
  'before',
  'status',
  'LIMIT',
  'limit[]',
  'offset',
  '',
  '__proto__',
  'constructor',
]
const AUTHORIZATIONS = [
  ...Array.from({ length: 40 }, () => `Bearer ${API_KEY}`),
  ...['', 'Bearer', 'Bearer  ', `bearer ${API_KEY}`, `Basic ${API_KEY}`, `Bearer ${API_KEY}x`, 'Bearer é'],
  `Bearer as_live_${'a'.repeat(38)}`,
]
const TYPES = [
  ...[
    'application/json',
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'text/plain',
  ],
  ...['application/json; charset=latin1', 'application/json;;;', '', 'application/json, text/plain'],
]
const NAMES = [
  ...[
    '"Bella"',
    '""',
    '" "',
    '"\\u0000"',
    '"\\ud800"',
    '"🐈"',
    'null',
    '1',
    '{}',
    '[]',
    `"${'x'.repeat(1_001)}"`,
  ],
  ...['"\\u2028"', '"\'; drop table animals; --"', '"<script>"', '"\\"', 'NaN'],
]
const NUMBERS = [
  ...[
    '7',
    '-0',
    '1.0',
    '1e2',
    '1.5',
    '1e400',
    '9223372036854775807',
    '9223372036854775808',
    '"7"',
    'null',
    '[7]',
  ],
  ...['1.0000000000000000001', '0x10', '1_000', `1${'0'.repeat(400)}`, `1e${'9'.repeat(50)}`],
]
const STATUSES = ['"available"', '"pending"', '"sold"', '"SOLD"', 'null', '1', '""', '[]']
const WHOLE_BODIES = [
  ...[
    '',
    '[]',
    'null',
    '"x"',
    '{',
    '{}',
    '{"name":',
    '\ufeff{}',
    '\u0000',
    '[[[[[[[[',
    `${'['.repeat(5_000)}`,
  ],
  ...[
    `{"x":[${'[1.5],'.repeat(2_000)}[1]]}`,
    '{"__proto__":{"name":"x","categoryId":1}}',
    'x'.repeat(70_000),
  ],
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
]
const KEYS = ['a', '"a"', '', ' ', 'a b', '"a', 'x'.repeat(256), 'é', '\t']

export function hostile({ quick }: Options): Promise<Figure[]> {
  return inScope(async scope => {
    const count = quick ? 5_000 : 200_000
    const service = await startTestService(scope)
    const { send, close } = client(service.address)
    scope.after(close)
    const random = randomFrom(20_301_205)
    const problems: string[] = []
    const statuses = new Map<number, number>()
    let sent = 0
    async function sendNext(): Promise<void> {
      while (sent < count) {
        sent++
        const { method, path, headers, body } = draw(random)
        try {
          // The client compares each response with the OpenAPI document.
          const { status } = await send(method, path, { headers, ...(body !== undefined && { body }) })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          if (status >= 500) problems.push(`${method} ${path.slice(0, 60)}: ${status}`)
        } catch (error) {
          problems.push(`${method} ${path.slice(0, 60)}: ${(error as Error).message.slice(0, 200)}`)
        }
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT }, sendNext))
    for (const problem of problems.slice(0, 10)) console.log(problem)
    const seen = [...statuses].toSorted(([one], [other]) => one - other)
    return [
      {
        promise: `${count.toLocaleString('en')} generated hostile requests: every response is in the OpenAPI document, none is 5xx`,
        measured: `${problems.length} problems (${seen.map(([status, times]) => `${status}: ${times}`).join(', ')})`,
        holds: problems.length === 0,
      },
    ]
  })
}

function draw(random: Random) {
  const method = random(METHODS)
  const path = random(PATHS) + query(random)
  const headers: Record<string, string> = { authorization: latin1(random(AUTHORIZATIONS)) }
  if (random([true, false, false, false])) headers['idempotency-key'] = latin1(random(KEYS))
  if (method === 'GET' || method === 'HEAD') return { method, path, headers, body: undefined }
  const type = random(TYPES)
  if (type !== '') headers['content-type'] = type
  const body = random([true, false])
    ? random(WHOLE_BODIES)
    : `{"name":${random(NAMES)},"categoryId":${random(NUMBERS)},"status":${random(STATUSES)}}`
  headers['content-length'] = String(Buffer.byteLength(body))
  return { method, path, headers, body }
}

function query(random: Random): string {
  if (random([true, false])) return ''
  const pair = () => `${random(PARAMETERS)}=${random(VALUES)}`
  return `?${random([pair(), `${pair()}&${pair()}`, `${pair()}&${pair()}&${pair()}`, '&', '=', '?'])}`
}

/** Header values are sent in this encoding. */
function latin1(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}

/** The same requests in every run. */
function randomFrom(seed: number): Random {
  let state = seed
  return values => {
    state = (state * 48_271) % 0x7fffffff
    return values[Math.floor((state / 0x7fffffff) * values.length)] as (typeof values)[number]
  }
}

if (import.meta.main) await report(hostile)
