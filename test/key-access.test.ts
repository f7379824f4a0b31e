// What each kind of key may do, on every operation.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Access, generateKey, hasKeyFormat, KEY_PREFIX, READ_ONLY_PREFIX } from '../src/api-key.ts'
import { OPERATIONS } from '../src/http/api/operations.ts'
import { onEveryDatabase } from './support/databases.ts'
import { requestHead } from './support/raw-http.ts'
import { errorCode, parseRaw, sendRaw, shared, type TestService } from './support/service.ts'

const ANIMAL = '{"name":"Bella","categoryId":7}'

async function createKey({ store }: TestService, access: Access, expiresAt?: Date): Promise<string> {
  const createdAt = new Date(0)
  const { secret, apiKey } = generateKey({
    name: 'k',
    environment: 'production',
    access,
    createdAt,
    expiresAt,
  })
  await store.createKey(apiKey)
  return secret
}

onEveryDatabase('a key', start => {
  const service = shared(start)

  for (const [kind, keyOf, statusOf] of [
    ['that is missing', async () => '', () => 401],
    [
      'that is unknown',
      async () => generateKey({ name: 'k', environment: 'production', createdAt: new Date() }).secret,
      () => 401,
    ],
    [
      'that is unknown, with the prefix of a read-only one',
      async () =>
        generateKey({ name: 'k', environment: 'production', access: 'read', createdAt: new Date() }).secret,
      () => 401,
    ],
    ['that has expired', () => createKey(service(), 'write', new Date(1)), () => 401],
    ['that is read-only and has expired', () => createKey(service(), 'read', new Date(1)), () => 401],
    [
      'that is read-only',
      () => createKey(service(), 'read'),
      (isWrite, success) => (isWrite ? 403 : success),
    ],
    ['that may write', () => createKey(service(), 'write'), (_isWrite, success) => success],
  ] as [string, () => Promise<string>, (isWrite: boolean, success: number) => number][])
    test(`${kind} gets the right status on every operation`, async () => {
      const key = await keyOf()
      const authorization = key === '' ? '' : `Bearer ${key}`
      const before = await service().send('GET', '/v1/pets?limit=100')
      for (const { id, method, path, isWrite, success } of OPERATIONS) {
        const { json } = await service().create(ANIMAL)
        const target = path.replace('{petId}', String((json as { id: bigint }).id))
        const count = (await service().send('GET', '/v1/store/inventory')).text
        const reply = await service().send(method, target, {
          headers: { authorization, ...(isWrite && { 'content-type': 'application/json' }) },
          ...(isWrite && { body: ANIMAL }),
        })
        const expected = statusOf(isWrite, success)
        assert.equal(reply.status, expected, id)
        if (expected === 403) {
          assert.equal(errorCode(reply), 'forbidden')
          assert.equal(
            reply.headers['www-authenticate'],
            'Bearer realm="animal-store", error="insufficient_scope"',
          )
          assert.equal((await service().send('GET', '/v1/store/inventory')).text, count)
          assert.equal((await service().send('GET', target)).status, 200)
        }
      }
      assert.equal(before.status, 200)
    })
})

onEveryDatabase('a read-only key', start => {
  const service = shared(start)

  test('gets 403 before the media type, the size, the headers, the body and the animal are looked at', async () => {
    const authorization = `Bearer ${await createKey(service(), 'read')}`
    for (const [method, path, headers, body] of [
      ['POST', '/v1/pets', { 'content-type': 'text/plain', 'idempotency-key': 'a b' }, 'x'.repeat(70_000)],
      ['PATCH', '/v1/pets/abc?x=1', { 'content-type': 'text/plain', 'if-match': '' }, '{'],
      ['DELETE', '/v1/pets/abc?ifStatus=x', { 'if-match': 'x' }, undefined],
    ] as const) {
      const reply = await service().send(method, path, {
        headers: { ...headers, authorization },
        ...(body !== undefined && { body }),
      })
      assert.equal(reply.status, 403, method)
    }
    assert.equal((await service().send('PUT', '/v1/pets/1', { headers: { authorization } })).status, 405)
    assert.equal((await service().send('POST', '/v1/x', { headers: { authorization } })).status, 404)
  })

  test('does not make the service read a body', async () => {
    const key = await createKey(service(), 'read')
    const head = requestHead(
      'POST /v1/pets HTTP/1.1',
      'host: x',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      'content-length: 100',
      'expect: 100-continue',
    )
    const reply = parseRaw(await sendRaw(service().address, head), 'POST', '/v1/pets')
    assert.equal(reply.status, 403)
  })
})

suite('the prefix of a read-only key', () => {
  for (const environment of ['production', 'staging'] as const)
    test(`tells it apart in ${environment}, also for a version that does not know it`, () => {
      const { secret, apiKey } = generateKey({
        name: 'k',
        environment,
        access: 'read',
        createdAt: new Date(),
      })
      assert.match(secret, new RegExp(`^${READ_ONLY_PREFIX[environment]}[0-9A-Za-z]{38}$`))
      assert.ok(hasKeyFormat(secret, environment))
      assert.ok(!hasKeyFormat(secret, environment === 'staging' ? 'production' : 'staging'))
      // Version 1.1 looks up no key that does not begin so.
      assert.ok(!secret.startsWith(KEY_PREFIX[environment]))
      assert.equal(apiKey.access, 'read')
    })
})
