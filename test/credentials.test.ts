// API keys: their format, and which requests they authenticate.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { generateKey, hasKeyFormat } from '../src/api-key.ts'
import { onEveryDatabase } from './support/databases.ts'
import { requestHead } from './support/raw-http.ts'
import { API_KEY, parseRaw, sendRaw, shared, startTestService, type TestService } from './support/service.ts'

const CHALLENGE = 'Bearer realm="animal-store"'
const INVALID_TOKEN = `${CHALLENGE}, error="invalid_token"`
const UNAUTHORIZED =
  '{"code":"unauthorized","message":"A valid API key is required: send it as \\"Authorization: Bearer <API_KEY>\\".","status":401}'

const DAY = 24 * 60 * 60 * 1000

async function addKey(service: TestService, options: Partial<Parameters<typeof generateKey>[0]> = {}) {
  const key = generateKey({ name: 'test', environment: 'production', createdAt: new Date(), ...options })
  await service.store.createKey(key.apiKey)
  return key
}

function listWith(service: TestService, secret: string) {
  return service.send('GET', '/v1/pets', { headers: { authorization: `Bearer ${secret}` } })
}

onEveryDatabase('credentials', startTestService => {
  const service = shared(startTestService)

  test('accepts a stored key and the key from the environment variable, whatever the case of the scheme', async () => {
    const { secret } = await addKey(service())
    for (const authorization of [`Bearer ${secret}`, `bearer ${secret}`, `BEARER ${API_KEY}`])
      assert.equal((await service().send('GET', '/v1/pets', { headers: { authorization } })).status, 200)
  })

  test('rejects a key that differs in any way from a valid one', async () => {
    const { secret } = await addKey(service())
    const wrong = [
      ...[secret.toLowerCase(), secret.toUpperCase(), secret.slice(0, -1), `${secret}x`, `"${secret}"`],
      ...[`${secret} ${secret}`, secret.replace(/.$/, last => (last === 'x' ? 'y' : 'x'))],
      ...[API_KEY.toUpperCase(), `${API_KEY}x`, API_KEY.slice(0, -1)],
    ]
    for (const key of wrong) assert.equal((await listWith(service(), key)).status, 401, key)
  })

  const rejected: [string, string, string][] = [
    ['a missing header', '', CHALLENGE],
    ['only the scheme', 'Bearer', CHALLENGE],
    ['only the scheme and a space', 'Bearer ', CHALLENGE],
    ['another scheme', `Basic ${Buffer.from(`x:${API_KEY}`).toString('base64')}`, CHALLENGE],
    ['only the key', API_KEY, CHALLENGE],
    ['a scheme that only starts with Bearer', `Bearers ${API_KEY}`, CHALLENGE],
    ['an unknown key', 'Bearer as_live_000000000000000000000000000000000000000000', INVALID_TOKEN],
    ['a malformed key', 'Bearer x', INVALID_TOKEN],
    ['several words', 'Bearer a b c', INVALID_TOKEN],
    ['characters outside ASCII', 'Bearer caf\u00e9', INVALID_TOKEN],
    ['a very long key', `Bearer ${'x'.repeat(10_000)}`, INVALID_TOKEN],
  ]
  for (const [what, authorization, challenge] of rejected) {
    test(`rejects ${what} with 401 and the matching challenge`, async () => {
      const reply = await service().send('GET', '/v1/pets', { headers: { authorization } })
      assert.equal(reply.status, 401)
      assert.equal(reply.text, UNAUTHORIZED)
      assert.equal(reply.headers['www-authenticate'], challenge)
    })
  }

  test('rejects two Authorization headers with 401, even if both are valid', async () => {
    const header = `authorization: Bearer ${API_KEY}`
    const head = requestHead('GET /v1/pets HTTP/1.1', 'host: x', header, header, 'connection: close')
    const reply = parseRaw(await sendRaw(service().address, head), 'GET', '/v1/pets')
    assert.equal(reply.status, 401)
    assert.equal(reply.text, UNAUTHORIZED)
  })

  test('ignores a key outside the Authorization header', async () => {
    const elsewhere: [string, Record<string, string>][] = [
      [`/v1/pets?api_key=${API_KEY}`, {}],
      [`/v1/pets?access_token=${API_KEY}`, {}],
      ['/v1/pets', { 'x-api-key': API_KEY }],
      ['/v1/pets', { cookie: `authorization=Bearer ${API_KEY}` }],
      ['/v1/pets', { 'proxy-authorization': `Bearer ${API_KEY}` }],
    ]
    for (const [path, others] of elsewhere) {
      const reply = await service().send('GET', path, { headers: { authorization: '', ...others } })
      assert.equal(reply.status, 401)
    }
  })

  test('answers 401 before it checks path, method, query, Expect, Idempotency-Key or body', async () => {
    const requests: [string, string, Record<string, string>, string?][] = [
      ['GET', '/v1/nothing', {}],
      ['GET', '/v1/pets?limit=0', {}],
      ['GET', '/%761/pets', {}],
      ['HEAD', '/v1/pets', {}],
      ['DELETE', '/v1/pets', {}],
      ['OPTIONS', '/v1/pets', {}],
      ['GET', '/v1/pets', { expect: 'something' }],
      ['POST', '/v1/pets', { 'content-type': 'text/plain' }, 'x'],
      ['POST', '/v1/pets', { 'content-type': 'application/json' }, ' '.repeat(70_000)],
      ['POST', '/v1/pets', { 'content-type': 'application/json', 'idempotency-key': 'a b' }, '{'],
    ]
    for (const [method, path, others, body] of requests) {
      const sent = { headers: { authorization: 'Bearer unknown', ...others }, ...(body && { body }) }
      const reply = await service().send(method, path, sent)
      assert.equal(reply.status, 401, `${method} ${path}`)
      if (method !== 'HEAD') assert.equal(reply.text, UNAUTHORIZED)
    }
  })

  test('rejects expired and revoked keys, and keys of the other environment, with the same 401', async t => {
    let now = new Date()
    const service = await startTestService(t, { clock: () => now.getTime() })
    const expiring = await addKey(service, { createdAt: now, expiresAt: new Date(now.getTime() + DAY) })
    const revoked = await addKey(service)
    const staging = await addKey(service, { environment: 'staging' })
    await service.store.revokeKey(revoked.apiKey.id, 'production', now)
    assert.equal((await listWith(service, expiring.secret)).status, 200)
    now = new Date(now.getTime() + DAY - 1)
    assert.equal((await listWith(service, expiring.secret)).status, 200)
    now = new Date(now.getTime() + 1)
    for (const { secret } of [expiring, revoked, staging]) {
      const reply = await listWith(service, secret)
      assert.equal(reply.status, 401)
      assert.equal(reply.text, UNAUTHORIZED)
      assert.equal(reply.headers['www-authenticate'], INVALID_TOKEN)
    }
  })

  test('looks up a key once for many requests', async t => {
    const { secret } = await addKey(service())
    const lookUps = t.mock.method(service().store, 'findKey')
    const replies = await Promise.all(Array.from({ length: 50 }, () => listWith(service(), secret)))
    assert.ok(replies.every(({ status }) => status === 200))
    assert.ok(lookUps.mock.callCount() <= 2, `${lookUps.mock.callCount()} look-ups`)
  })

  test('the same Idempotency-Key under different API keys creates different animals', async () => {
    const animal = { name: 'Bella', categoryId: 7 }
    const locations = new Set<unknown>()
    for (const secret of [(await addKey(service())).secret, (await addKey(service())).secret, API_KEY]) {
      const reply = await service().create(animal, {
        'idempotency-key': 'k',
        authorization: `Bearer ${secret}`,
      })
      assert.equal(reply.status, 201)
      locations.add(reply.headers.location)
    }
    assert.equal(locations.size, 3)
  })

  test('a key and its successor after a rotation share their Idempotency-Keys', async () => {
    const old = await addKey(service())
    const next = await addKey(service(), { idempotencyScope: old.apiKey.idempotencyScope })
    const create = ({ secret }: typeof old) =>
      service().create(
        { name: 'Bella', categoryId: 7 },
        { 'idempotency-key': 'k', authorization: `Bearer ${secret}` },
      )
    assert.equal((await create(old)).headers['idempotent-replayed'], undefined)
    assert.equal((await create(next)).headers['idempotent-replayed'], 'true')
  })
})

test('a staging service accepts staging keys only', async t => {
  const service = await startTestService(t, { environment: 'staging' })
  const staging = await addKey(service, { environment: 'staging' })
  const production = await addKey(service)
  assert.equal((await listWith(service, staging.secret)).status, 200)
  assert.equal((await listWith(service, production.secret)).status, 401)
})

suite('the format of a key', () => {
  test('is a prefix, 32 base62 characters, and the CRC-32 of both in 6 base62 characters', () => {
    for (const environment of ['production', 'staging'] as const) {
      const { secret, apiKey } = generateKey({ name: 'x', environment, createdAt: new Date() })
      assert.match(
        secret,
        environment === 'staging' ? /^as_test_[\dA-Za-z]{38}$/ : /^as_live_[\dA-Za-z]{38}$/,
      )
      assert.ok(hasKeyFormat(secret, environment))
      assert.match(apiKey.digest, /^[0-9a-f]{64}$/)
      assert.ok(!JSON.stringify(apiKey).includes(secret))
    }
  })

  // The checksums were computed in Python, with its zlib module and a separate base62 encoder.
  for (const [environment, body, checksum] of [
    ['production', `as_live_${'0'.repeat(32)}`, '3rw9My'],
    ['staging', 'as_test_abcdefghijABCDEFGHIJ0123456789xy', '2jZrqb'],
    ['production', `as_live_${'Z'.repeat(32)}`, '49HffD'],
  ] as const) {
    test(`the checksum of ${body} is ${checksum}`, () => {
      assert.ok(hasKeyFormat(body + checksum, environment))
      assert.ok(!hasKeyFormat(body + checksum, environment === 'staging' ? 'production' : 'staging'))
      assert.ok(!hasKeyFormat(`${body}${checksum.slice(0, 5)}!`, environment))
    })
  }
})
