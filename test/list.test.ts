import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'
import { shared, type TestService } from './support/service.ts'

const STATUSES = ['available', 'pending', 'sold', undefined]

async function fill(service: TestService, count: number): Promise<void> {
  await service.store.createAnimals(
    Array.from({ length: count }, (_, index) => {
      const status = STATUSES[index % 4] as 'available' | undefined
      return { animal: { name: `animal ${index + 1}`, categoryId: BigInt(index), ...(status && { status }) } }
    }),
  )
}

function ids(json: unknown): bigint[] {
  return (json as { id: bigint }[]).map(({ id }) => id)
}

function range(from: number, to: number): bigint[] {
  return Array.from({ length: to - from + 1 }, (_, index) => BigInt(from + index))
}

onEveryDatabase('GET /v1/pets', startTestService => {
  test('an empty catalogue is an empty array, without Link', async t => {
    const service = await startTestService(t)
    const reply = await service.send('GET', '/v1/pets')
    assert.equal(reply.status, 200)
    assert.equal(reply.text, '[]')
    assert.equal(reply.headers.link, undefined)
  })

  test('animals come by ascending id, 20 by default, and Link leads through all of them', async t => {
    const service = await startTestService(t)
    await fill(service, 45)
    const first = await service.send('GET', '/v1/pets')
    assert.deepEqual(ids(first.json), range(1, 20))
    assert.equal(first.headers.link, '</v1/pets?limit=20&after=20>; rel="next"')
    const second = await service.send('GET', '/v1/pets?limit=20&after=20')
    assert.deepEqual(ids(second.json), range(21, 40))
    const third = await service.send('GET', '/v1/pets?limit=20&after=40')
    assert.deepEqual(ids(third.json), range(41, 45))
    assert.equal(third.headers.link, undefined)
  })

  test('a page that ends with the last animal has no Link', async t => {
    const service = await startTestService(t)
    await fill(service, 40)
    const last = await service.send('GET', '/v1/pets?after=20')
    assert.deepEqual(ids(last.json), range(21, 40))
    assert.equal(last.headers.link, undefined)
  })

  for (const status of ['available', 'pending', 'sold']) {
    test(`status=${status} keeps only those, over pages, with limit and status in Link`, async t => {
      const service = await startTestService(t)
      await fill(service, 41)
      const offset = STATUSES.indexOf(status) + 1
      const expected = range(1, 41).filter(id => id % 4n === BigInt(offset % 4))
      const found: bigint[] = []
      let path: string | undefined = `/v1/pets?status=${status}&limit=4`
      while (path !== undefined) {
        const reply = await service.send('GET', path)
        assert.ok((reply.json as { status: string }[]).every(animal => animal.status === status))
        found.push(...ids(reply.json))
        const link: string | undefined = reply.headers.link?.toString()
        if (link !== undefined)
          assert.match(link, new RegExp(`^</v1/pets\\?limit=4&status=${status}&after=\\d+>; rel="next"$`))
        path = link?.slice(1, link.indexOf('>'))
      }
      assert.deepEqual(found, expected)
    })
  }

  test('an animal without a status is in the unfiltered list, and the field is absent', async t => {
    const service = await startTestService(t)
    await fill(service, 4)
    const reply = await service.send('GET', '/v1/pets')
    assert.deepEqual((reply.json as object[])[3], { id: 4n, name: 'animal 4', categoryId: 3n })
  })

  const accepted: [string, bigint[]][] = [
    ['', range(1, 20)],
    ['?', range(1, 20)],
    ['?limit=1', range(1, 1)],
    ['?limit=100', range(1, 30)],
    ['?limit=%31%30', range(1, 10)],
    ['?after=0', range(1, 20)],
    ['?after=-1', range(1, 20)],
    ['?after=-9223372036854775808', range(1, 20)],
    ['?after=29', [30n]],
    ['?after=30', []],
    ['?after=9007199254740993', []],
    ['?after=9223372036854775807', []],
    ['?limit=2&after=3&status=sold', [7n, 11n]],
  ]
  for (const [query, expected] of accepted) {
    test(`"${query}" is accepted`, async t => {
      const service = await startTestService(t)
      await fill(service, 30)
      const reply = await service.send('GET', `/v1/pets${query}`)
      assert.equal(reply.status, 200)
      assert.deepEqual(ids(reply.json), expected)
    })
  }

  const refused: [RegExp, string[]][] = [
    [
      /^limit must be/,
      [
        '0',
        '101',
        '-1',
        '1.5',
        '1e1',
        '+5',
        '%2B5',
        '007',
        '',
        ' 5',
        '5%20',
        'abc',
        '0x10',
        '٣',
        '1000',
        '99999999999999999999',
      ].map(limit => `?limit=${encodeURI(limit).replace('%25', '%')}`),
    ],
    [/^limit must be/, ['?limit']],
    [/^limit must be given at most once/, ['?limit=5&limit=5', '?limit=5&status=sold&limit=6']],
    [
      /^status must be one of available, pending, sold/,
      ['', 'Sold', 'SOLD', 'lost', 'sold,pending', ' sold', 'null'].map(
        status => `?status=${encodeURIComponent(status)}`,
      ),
    ],
    [/^status must be given at most once/, ['?status=sold&status=sold', '?status=sold&status=pending']],
    [
      /^after must be/,
      [
        '007',
        '%2B1',
        '+1',
        '-0',
        '',
        '1.0',
        '1e2',
        'abc',
        '9223372036854775808',
        '-9223372036854775809',
        '0x1',
      ].map(after => `?after=${after}`),
    ],
    [/^after must be given at most once/, ['?after=1&after=1']],
    [
      /^The query may only have limit, status, after/,
      ['?offset=5', '?Limit=5', '?limit=5&page=2', '?=5', '??limit=1', '??', '?api_key=x', '?limit%00=5'],
    ],
  ]
  const service = shared(startTestService)
  for (const [message, queries] of refused) {
    for (const query of queries) {
      test(`"${query}" is rejected with 400`, async () => {
        const reply = await service().send('GET', `/v1/pets${query}`)
        assert.equal(reply.status, 400)
        assert.match((reply.json as { message: string }).message, message)
        assert.equal((reply.json as { code: string }).code, 'invalid_request')
      })
    }
  }

  test('HEAD answers as GET does, without the body', async t => {
    const service = await startTestService(t)
    await fill(service, 30)
    const get = await service.send('GET', '/v1/pets?limit=3')
    const head = await service.send('HEAD', '/v1/pets?limit=3')
    assert.equal(head.status, 200)
    assert.equal(head.text, '')
    assert.equal(head.headers.link, get.headers.link)
    assert.equal(head.headers['content-length'], get.headers['content-length'])
    assert.equal((await service.send('HEAD', '/v1/pets?limit=0')).status, 400)
  })
})
