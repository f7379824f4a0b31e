// Listing animals: order, pages, the status filter, and which queries are accepted.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createAnimals } from './support/animals.ts'
import { onEveryDatabase, type StartService } from './support/databases.ts'
import { type Scope, shared, startTestService, type TestService } from './support/service.ts'

const STATUSES = ['available', 'pending', 'sold', undefined]

async function fill(service: TestService, count: number): Promise<void> {
  await createAnimals(
    service.store,
    Array.from({ length: count }, (_, index) => {
      const status = STATUSES[index % 4] as 'available' | undefined
      return { animal: { name: `animal ${index + 1}`, categoryId: BigInt(index), ...(status && { status }) } }
    }),
  )
}

/** Starts a service with animals whose ids are 1 to `count`, and whose statuses take turns. */
function filled(startTestService: StartService, count: number) {
  return async (scope: Scope) => {
    const service = await startTestService(scope)
    await fill(service, count)
    return service
  }
}

function ids(json: unknown): bigint[] {
  return (json as { id: bigint }[]).map(({ id }) => id)
}

function range(from: number, to: number): bigint[] {
  return Array.from({ length: to - from + 1 }, (_, index) => BigInt(from + index))
}

onEveryDatabase('GET /v1/pets', startTestService => {
  const with30 = shared(filled(startTestService, 30))
  const with41 = shared(filled(startTestService, 41))

  test('returns an empty array without a Link header if the catalogue is empty', async t => {
    const service = await startTestService(t)
    const reply = await service.send('GET', '/v1/pets')
    assert.deepEqual([reply.status, reply.text, reply.headers.link], [200, '[]', undefined])
  })

  const links: [string, string | undefined][] = [
    ['', '<after=20>; rel="next"'],
    ['?limit=10', '<after=10>; rel="next"'],
    ['?limit=10&after=10', '<before=11>; rel="prev", <after=20>; rel="next"'],
    ['?limit=10&after=20', '<before=21>; rel="prev"'],
    ['?limit=30', undefined],
    ['?limit=10&before=9223372036854775807', '<before=21>; rel="prev"'],
    ['?limit=10&before=21', '<before=11>; rel="prev", <after=20>; rel="next"'],
    ['?limit=10&before=11', '<after=10>; rel="next"'],
    ['?limit=10&before=5', '<after=4>; rel="next"'],
    ['?limit=10&before=1', undefined],
    ['?limit=10&before=-9223372036854775808', undefined],
    ['?limit=10&after=-5', '<after=10>; rel="next"'],
    ['?limit=10&after=30', undefined],
    ['?limit=10&after=9223372036854775807', undefined],
    ['?limit=3&status=sold&after=2', '<status=sold&after=11>; rel="next"'],
    [
      '?limit=3&status=sold&after=3',
      '<status=sold&before=7>; rel="prev", <status=sold&after=15>; rel="next"',
    ],
    [
      '?limit=3&status=sold&before=27',
      '<status=sold&before=15>; rel="prev", <status=sold&after=23>; rel="next"',
    ],
    ['?limit=3&status=sold&before=28', '<status=sold&before=19>; rel="prev"'],
  ]
  for (const [query, expected] of links) {
    test(`links to the other pages of "${query}"`, async () => {
      const [limit] = /limit=\d+/.exec(query) ?? ['limit=20']
      const { status, headers } = await with30().send('GET', `/v1/pets${query}`)
      assert.equal(status, 200)
      assert.equal(headers.link, expected?.replaceAll('<', `</v1/pets?${limit}&`))
    })
  }

  test('leads from the newest page back to the first by rel="prev"', async () => {
    const found: bigint[][] = []
    let path: string | undefined = '/v1/pets?limit=7&before=9223372036854775807'
    while (path !== undefined) {
      assert.ok(found.length <= 6, 'the pages do not end')
      const reply = await with41().send('GET', path)
      found.unshift(ids(reply.json))
      path = /<([^>]+)>; rel="prev"/.exec(String(reply.headers.link))?.[1]
    }
    assert.deepEqual(found.flat(), range(1, 41))
    assert.deepEqual(found[0], range(1, 6))
  })

  for (const [index, status] of ['available', 'pending', 'sold'].entries()) {
    test(`returns only animals with status=${status} on every page, and Link repeats limit and status`, async () => {
      const found: bigint[] = []
      let path: string | undefined = `/v1/pets?limit=4&status=${status}&after=0`
      while (path !== undefined) {
        assert.match(path, new RegExp(`^/v1/pets\\?limit=4&status=${status}&after=\\d+$`))
        assert.ok(found.length <= 11, 'the pages do not end')
        const reply = await with41().send('GET', path)
        assert.ok((reply.json as { status: string }[]).every(animal => animal.status === status))
        found.push(...ids(reply.json))
        path = /<([^>]+)>; rel="next"/.exec(String(reply.headers.link))?.[1]
      }
      const expected = range(1, 41).filter(id => id % 4n === BigInt(index + 1))
      assert.deepEqual(found, expected)
    })
  }

  test('returns an animal without a status if there is no filter, and omits the field', async () => {
    const reply = await with30().send('GET', '/v1/pets')
    assert.deepEqual((reply.json as object[])[3], { id: 4n, name: 'animal 4', categoryId: 3n })
  })

  const accepted: [string, bigint[]][] = [
    ['', range(1, 20)],
    ['?', range(1, 20)],
    ['?limit=1', range(1, 1)],
    ['?limit=100', range(1, 30)],
    ['?limit=%31%30', range(1, 10)],
    ['?after=0', range(1, 20)],
    ['?after=-9223372036854775808', range(1, 20)],
    ['?after=29', [30n]],
    ['?after=30', []],
    ['?after=9223372036854775807', []],
    ['?limit=2&after=3&status=sold', [7n, 11n]],
    ['?before=31', range(11, 30)],
    ['?before=5', range(1, 4)],
    ['?before=1', []],
    ['?before=-9223372036854775808', []],
    ['?before=9007199254740993', range(11, 30)],
    ['?before=9223372036854775807&limit=3', range(28, 30)],
    ['?limit=2&before=11&status=sold', [3n, 7n]],
  ]
  for (const [query, expected] of accepted) {
    test(`accepts the query "${query}"`, async () => {
      const reply = await with30().send('GET', `/v1/pets${query}`)
      assert.equal(reply.status, 200)
      assert.deepEqual(ids(reply.json), expected)
    })
  }

  test('answers HEAD like GET, without the body', async () => {
    const service = with30()
    const get = await service.send('GET', '/v1/pets?limit=3')
    const head = await service.send('HEAD', '/v1/pets?limit=3')
    assert.equal(head.status, 200)
    assert.equal(head.text, '')
    assert.equal(head.headers.link, get.headers.link)
    assert.equal(head.headers['content-length'], get.headers['content-length'])
    assert.equal((await service.send('HEAD', '/v1/pets?limit=0')).status, 400)
  })
})

suite('GET /v1/pets', () => {
  const service = shared(startTestService)

  const limits = [
    '0',
    '101',
    '-1',
    '1.5',
    '1e1',
    '+5',
    '%2B5',
    '007',
    '',
    '%205',
    'abc',
    '0x10',
    '%D9%A3',
    '1000',
  ]
  const statuses = ['', 'Sold', 'lost', 'sold,pending', '%20sold', 'null']
  const integers = ['007', '%2B1', '+1', '-0', '', '1.0', '1e2', 'abc', '0x1', '9223372036854775808']
  const unknown = ['?offset=5', '?Limit=5', '?limit=5&page=2', '?=5', '??limit=1', '??', '?limit%00=5']
  const rejected: [RegExp, string[]][] = [
    [/^limit must be/, ['?limit', ...limits.map(limit => `?limit=${limit}`)]],
    [/^limit must be given at most once/, ['?limit=5&limit=5', '?limit=5&status=sold&limit=6']],
    [/^status must be one of available, pending, sold/, statuses.map(status => `?status=${status}`)],
    [/^status must be given at most once/, ['?status=sold&status=sold']],
    [/^The query may contain after or before, not both/, ['?after=1&before=5', '?before=x&after=']],
    [/^after must be a 64-bit integer/, integers.map(id => `?after=${id}`)],
    [/^before must be a 64-bit integer/, [...integers, '-9223372036854775809'].map(id => `?before=${id}`)],
    [/^after must be given at most once/, ['?after=1&after=1']],
    [/^before must be given at most once/, ['?before=1&before=2']],
    [/^The query may contain only limit, status, name, categoryId, after, before, not "/, unknown],
    [/not "state"\.$/, ['?limit=5&state=sold']],
    [/not "x{40}"\.$/, [`?${'x'.repeat(5_000)}=1`]],
  ]
  for (const [message, queries] of rejected) {
    for (const query of queries) {
      test(`rejects the query "${query}" with 400`, async () => {
        const reply = await service().send('GET', `/v1/pets${query}`)
        assert.equal(reply.status, 400)
        assert.match((reply.json as { message: string }).message, message)
      })
    }
  }
})
