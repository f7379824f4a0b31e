// Getting one animal by its id: the reply, the ids that exist, and the deprecation of the operation.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'
import { shared } from './support/service.ts'

const DEPRECATION = {
  deprecation: '@1794700800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</docs#getPet>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
}

function deprecationHeaders({ deprecation, sunset, link }: Record<string, unknown>) {
  return { deprecation, sunset, link }
}

onEveryDatabase('GET /v1/pets/{petId}', startTestService => {
  /** A service with one animal, whose id is 1. */
  const withBella = shared(async scope => {
    const service = await startTestService(scope)
    const { text } = await service.create({ name: 'Bella', categoryId: 7, status: 'sold' })
    return { service, text }
  })

  test('returns the animal, with deprecation headers', async () => {
    const { service, text } = withBella()
    for (const path of ['/v1/pets/1', '/v1/pets/1?limit=0&x=y', '/v1/pets/%31']) {
      const reply = await service.send('GET', path)
      assert.equal(reply.status, 200)
      assert.equal(reply.text, text)
      assert.deepEqual(deprecationHeaders(reply.headers), DEPRECATION)
    }
  })

  test('answers HEAD like GET, without the body', async () => {
    const { service, text } = withBella()
    const reply = await service.send('HEAD', '/v1/pets/1')
    assert.equal(reply.status, 200)
    assert.equal(reply.text, '')
    assert.equal(reply.headers['content-length'], String(text.length))
    assert.deepEqual(deprecationHeaders(reply.headers), DEPRECATION)
    const missing = await service.send('HEAD', '/v1/pets/2')
    assert.equal(missing.status, 404)
    assert.deepEqual(deprecationHeaders(missing.headers), DEPRECATION)
  })

  const unknownIds = [
    ...['2', '0', '-1', 'abc', '1.0', '1e0', '+1', '%2B1', '007', '-0', '1%20', '1%00', '1%2F2', '%D9%A1'],
    ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809'],
    ...['9'.repeat(200), 'x'.repeat(12_000)],
  ]
  for (const id of unknownIds) {
    test(`answers 404 to the id "${id.slice(0, 40)}"`, async () => {
      const reply = await withBella().service.send('GET', `/v1/pets/${id}`)
      assert.equal(reply.status, 404)
      assert.deepEqual(deprecationHeaders(reply.headers), DEPRECATION)
    })
  }

  test('sends no deprecation headers without a valid API key', async () => {
    const reply = await withBella().service.send('GET', '/v1/pets/1', { headers: { authorization: '' } })
    assert.equal(reply.status, 401)
    for (const name of ['deprecation', 'sunset', 'link']) assert.equal(reply.headers[name], undefined)
  })

  test('works until the end of 4 December 2030, and answers 410 from 5 December', async t => {
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
        assert.deepEqual(deprecationHeaders(reply.headers), DEPRECATION)
        assert.equal((await service.send('HEAD', path)).status, 410)
      }
      assert.equal((await service.send('GET', '/v1/pets')).status, 200)
      assert.equal((await service.send('PUT', '/v1/pets/1')).status, 405)
    }
  })
})
