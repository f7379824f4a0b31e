import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'

const DEPRECATION = {
  deprecation: '@1794700800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</docs#getPet>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
}

function deprecationOf(headers: Record<string, unknown>) {
  return { deprecation: headers.deprecation, sunset: headers.sunset, link: headers.link }
}

const NONE = { deprecation: undefined, sunset: undefined, link: undefined }

onEveryDatabase('GET /v1/pets/{petId}', startTestService => {
  test('an animal is answered, with the marks of its deprecation', async t => {
    const service = await startTestService(t)
    const { text } = await service.create({ name: 'Bella', categoryId: 7, status: 'sold' })
    for (const path of ['/v1/pets/1', '/v1/pets/1?limit=0&x=y', '/v1/pets/%31']) {
      const reply = await service.send('GET', path)
      assert.equal(reply.status, 200)
      assert.equal(reply.text, text)
      assert.deepEqual(deprecationOf(reply.headers), DEPRECATION)
    }
  })

  test('HEAD answers as GET does, without the body', async t => {
    const service = await startTestService(t)
    const { text } = await service.create({ name: 'Bella', categoryId: 7 })
    const reply = await service.send('HEAD', '/v1/pets/1')
    assert.equal(reply.status, 200)
    assert.equal(reply.text, '')
    assert.equal(reply.headers['content-length'], String(text.length))
    assert.deepEqual(deprecationOf(reply.headers), DEPRECATION)
    const missing = await service.send('HEAD', '/v1/pets/2')
    assert.equal(missing.status, 404)
    assert.deepEqual(deprecationOf(missing.headers), DEPRECATION)
  })

  const names = [
    '2',
    '0',
    '-1',
    'abc',
    '1.0',
    '1e0',
    '+1',
    '%2B1',
    '007',
    '01',
    '-0',
    '1%20',
    '%201',
    '1%00',
    '1%2F2',
    'null',
    '%D9%A1',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '-9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(200),
    'x'.repeat(12_000),
  ]
  for (const name of names) {
    test(`"${name.slice(0, 40)}" names no animal: 404`, async t => {
      const service = await startTestService(t)
      await service.create({ name: 'Bella', categoryId: 7 })
      const reply = await service.send('GET', `/v1/pets/${name}`)
      assert.equal(reply.status, 404)
      assert.equal((reply.json as { code: string }).code, 'not_found')
      assert.deepEqual(deprecationOf(reply.headers), DEPRECATION)
    })
  }

  test('an expectation that cannot be met is refused with the marks of the deprecation too', async t => {
    const service = await startTestService(t)
    const reply = await service.send('GET', '/v1/pets/1', { headers: { expect: 'tea' } })
    assert.equal(reply.status, 417)
    assert.deepEqual(deprecationOf(reply.headers), DEPRECATION)
  })

  test('without a valid key nothing tells of the deprecation', async t => {
    const service = await startTestService(t)
    const reply = await service.send('GET', '/v1/pets/1', { headers: { authorization: '' } })
    assert.equal(reply.status, 401)
    assert.deepEqual(deprecationOf(reply.headers), NONE)
  })

  test('one millisecond before 5 December 2030 it answers, and from then on it is gone', async t => {
    let now = new Date('2030-12-04T23:59:59.999Z')
    const service = await startTestService(t, { clock: () => now.getTime() })
    await service.create({ name: 'Bella', categoryId: 7 })
    assert.equal((await service.send('GET', '/v1/pets/1')).status, 200)
    assert.equal((await service.send('GET', '/v1/pets/2')).status, 404)
    for (const moment of ['2030-12-05T00:00:00.000Z', '2031-01-01T00:00:00.000Z']) {
      now = new Date(moment)
      for (const path of ['/v1/pets/1', '/v1/pets/2', '/v1/pets/abc']) {
        const reply = await service.send('GET', path)
        assert.equal(reply.status, 410)
        assert.equal((reply.json as { code: string }).code, 'gone')
        assert.deepEqual(deprecationOf(reply.headers), DEPRECATION)
        assert.equal((await service.send('HEAD', path)).status, 410)
      }
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      assert.equal((await service.send('DELETE', '/v1/pets/1')).status, 405)
    }
  })
})
