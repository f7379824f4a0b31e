import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { generateKey, hasKeyFormat } from '../src/api-key.ts'
import { createAuthenticator } from '../src/http/api/authentication.ts'
import type { Store } from '../src/store.ts'
import { onEveryDatabase } from './support/databases.ts'
import { API_KEY, parseRaw, sendRaw, type TestService } from './support/service.ts'

const CHALLENGE = 'Bearer realm="animal-store"'
const INVALID_TOKEN = `${CHALLENGE}, error="invalid_token"`
const REFUSAL =
  '{"code":"unauthorized","message":"A valid API key is required: send it as \\"Authorization: Bearer <API_KEY>\\".","status":401}'

const DAY = 24 * 60 * 60 * 1000

async function addKey(service: TestService, options: Partial<Parameters<typeof generateKey>[0]> = {}) {
  const made = generateKey({ name: 'test', environment: 'production', createdAt: new Date(), ...options })
  await service.store.createKey(made.apiKey)
  return made
}

function listWith(service: TestService, secret: string) {
  return service.send('GET', '/v1/pets', { headers: { authorization: `Bearer ${secret}` } })
}

onEveryDatabase('credentials', startTestService => {
  test('a stored key and the extra key are accepted', async t => {
    const service = await startTestService(t)
    const { secret } = await addKey(service)
    assert.equal((await listWith(service, secret)).status, 200)
    assert.equal((await listWith(service, API_KEY)).status, 200)
  })

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    test(`the scheme ${scheme} is accepted`, async t => {
      const service = await startTestService(t)
      const { secret } = await addKey(service)
      const reply = await service.send('GET', '/v1/pets', {
        headers: { authorization: `${scheme} ${secret}` },
      })
      assert.equal(reply.status, 200)
    })
  }

  test('the key is matched exactly', async t => {
    const service = await startTestService(t)
    const { secret } = await addKey(service)
    const wrong = [
      secret.toLowerCase(),
      secret.toUpperCase(),
      secret.slice(0, -1),
      `${secret}x`,
      `${secret} ${secret}`,
      `"${secret}"`,
      secret.replace(/.$/, last => (last === 'x' ? 'y' : 'x')),
      API_KEY.toUpperCase(),
      `${API_KEY}x`,
      API_KEY.slice(0, -1),
    ]
    for (const key of wrong) assert.equal((await listWith(service, key)).status, 401, key)
  })

  const headers: [string, string, string][] = [
    ['missing', '', CHALLENGE],
    ['the scheme alone', 'Bearer', CHALLENGE],
    ['the scheme and a space', 'Bearer ', CHALLENGE],
    ['another scheme', `Basic ${Buffer.from(`x:${API_KEY}`).toString('base64')}`, CHALLENGE],
    ['the key alone', API_KEY, CHALLENGE],
    ['a scheme that only begins like it', `Bearers ${API_KEY}`, CHALLENGE],
    ['unknown', 'Bearer as_live_000000000000000000000000000000000000000000', INVALID_TOKEN],
    ['malformed', 'Bearer x', INVALID_TOKEN],
    ['several words', 'Bearer a b c', INVALID_TOKEN],
    ['bytes outside ASCII', 'Bearer caf\u00e9', INVALID_TOKEN],
    ['very long', `Bearer ${'x'.repeat(10_000)}`, INVALID_TOKEN],
  ]
  for (const [what, authorization, challenge] of headers) {
    test(`${what}: 401, the same body, the right challenge`, async t => {
      const service = await startTestService(t)
      const reply = await service.send('GET', '/v1/pets', { headers: { authorization } })
      assert.equal(reply.status, 401)
      assert.equal(reply.text, REFUSAL)
      assert.equal(reply.headers['www-authenticate'], challenge)
    })
  }

  test('two Authorization headers are no credential, even if both are valid', async t => {
    const service = await startTestService(t)
    const header = `authorization: Bearer ${API_KEY}`
    const request = ['GET /v1/pets HTTP/1.1', 'host: x', header, header, 'connection: close', '', '']
    const reply = parseRaw(await sendRaw(service.address, request.join('\r\n')), 'GET', '/v1/pets')
    assert.equal(reply.status, 401)
    assert.equal(reply.text, REFUSAL)
  })

  test('a key anywhere but in the Authorization header does not count', async t => {
    const service = await startTestService(t)
    const elsewhere: [string, Record<string, string>][] = [
      [`/v1/pets?api_key=${API_KEY}`, {}],
      [`/v1/pets?access_token=${API_KEY}`, {}],
      ['/v1/pets', { 'x-api-key': API_KEY }],
      ['/v1/pets', { cookie: `authorization=Bearer ${API_KEY}` }],
      ['/v1/pets', { 'proxy-authorization': `Bearer ${API_KEY}` }],
    ]
    for (const [path, others] of elsewhere) {
      const reply = await service.send('GET', path, { headers: { authorization: '', ...others } })
      assert.equal(reply.status, 401)
    }
  })

  test('the credential comes before everything else that could be wrong', async t => {
    const service = await startTestService(t)
    const requests: [string, string, Record<string, string>, string?][] = [
      ['GET', '/v1', {}],
      ['GET', '/v1/', {}],
      ['GET', '/v1/nothing', {}],
      ['GET', '/v1/store/orders', {}],
      ['GET', '/v1/pets/', {}],
      ['GET', '/v1/pets?limit=0', {}],
      ['GET', '/v1/pets/%zz', {}],
      ['GET', '/%761/pets', {}],
      ['DELETE', '/v1/pets', {}],
      ['PROPFIND', '/v1/pets', {}],
      ['OPTIONS', '/v1/pets', {}],
      ['GET', '/v1/pets', { expect: 'something' }],
      ['POST', '/v1/pets', { 'content-type': 'text/plain' }, 'x'],
      ['POST', '/v1/pets', { 'content-type': 'application/json' }, ' '.repeat(70_000)],
      ['POST', '/v1/pets', { 'content-type': 'application/json', 'idempotency-key': 'a b' }, '{'],
    ]
    for (const [method, path, others, body] of requests) {
      const sent = { headers: { authorization: 'Bearer nobody', ...others }, ...(body && { body }) }
      const reply = await service.send(method, path, sent)
      assert.equal(reply.status, 401, `${method} ${path}`)
      assert.equal(reply.text, REFUSAL)
    }
    assert.equal((await service.send('HEAD', '/v1/pets', { headers: { authorization: '' } })).status, 401)
  })

  test('expired, revoked and of the other environment: all the same 401', async t => {
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
      assert.equal(reply.text, REFUSAL)
      assert.equal(reply.headers['www-authenticate'], INVALID_TOKEN)
    }
  })

  test('a key that is in use stops working within 5 seconds of being revoked', async t => {
    const service = await startTestService(t)
    const { secret, apiKey } = await addKey(service)
    assert.equal((await listWith(service, secret)).status, 200)
    await service.store.revokeKey(apiKey.id, 'production', new Date())
    const revokedAt = performance.now()
    let status = 200
    while (status === 200 && performance.now() - revokedAt < 5_000) {
      status = (await listWith(service, secret)).status
    }
    assert.equal(status, 401)
  })

  test('while a key is in use it is looked up at most once every few seconds', async t => {
    const service = await startTestService(t)
    const { secret } = await addKey(service)
    const lookUps = t.mock.method(service.store, 'findKey')
    for (let count = 0; count < 50; count++) assert.equal((await listWith(service, secret)).status, 200)
    assert.ok(lookUps.mock.callCount() <= 2, `${lookUps.mock.callCount()} look-ups`)
  })

  test('more keys than are remembered all work', async t => {
    const service = await startTestService(t)
    const made: Awaited<ReturnType<typeof addKey>>[] = []
    while (made.length < 1_100) made.push(await addKey(service))
    for (const { secret } of made) assert.equal((await listWith(service, secret)).status, 200)
    for (const { secret } of made.slice(0, 10)) assert.equal((await listWith(service, secret)).status, 200)
  })

  test('the same Idempotency-Key under two API keys stands for two animals', async t => {
    const service = await startTestService(t)
    const animal = { name: 'Bella', categoryId: 7 }
    const locations = new Set<unknown>()
    for (const secret of [(await addKey(service)).secret, (await addKey(service)).secret, API_KEY]) {
      const reply = await service.create(animal, {
        'idempotency-key': 'k',
        authorization: `Bearer ${secret}`,
      })
      assert.equal(reply.status, 201)
      locations.add(reply.headers.location)
    }
    assert.equal(locations.size, 3)
  })

  test('a key and the key it was rotated into share one scope of idempotency', async t => {
    const service = await startTestService(t)
    const old = await addKey(service)
    const next = generateKey({
      name: 'test',
      environment: 'production',
      createdAt: new Date(),
      scope: old.apiKey.scope,
    })
    await service.store.rotateKey(old.apiKey.id, next.apiKey, new Date(Date.now() + DAY))
    const animal = { name: 'Bella', categoryId: 7 }
    await service.create(animal, { 'idempotency-key': 'k', authorization: `Bearer ${old.secret}` })
    const reply = await service.create(animal, {
      'idempotency-key': 'k',
      authorization: `Bearer ${next.secret}`,
    })
    assert.equal(reply.headers['idempotent-replayed'], 'true')
  })
})

onEveryDatabase('environments', startTestService => {
  test('a staging key does not work in production, nor the other way round, on one database', async t => {
    const production = await startTestService(t)
    const live = await addKey(production)
    const rehearsal = await addKey(production, { environment: 'staging' })
    const staging = await startTestService(t, { environment: 'staging' })
    await staging.store.createKey(live.apiKey)
    await staging.store.createKey(rehearsal.apiKey)
    assert.equal((await listWith(production, live.secret)).status, 200)
    assert.equal((await listWith(production, rehearsal.secret)).status, 401)
    assert.equal((await listWith(staging, rehearsal.secret)).status, 200)
    assert.equal((await listWith(staging, live.secret)).status, 401)
  })
})

suite('the form of a key', () => {
  test('is prefix, 32 base62 characters and 6 of the CRC-32 of what precedes', () => {
    for (const [environment, prefix] of [
      ['production', 'as_live_'],
      ['staging', 'as_test_'],
    ] as const) {
      for (let count = 0; count < 200; count++) {
        const { secret, apiKey } = generateKey({ name: 'x', environment, createdAt: new Date() })
        assert.match(secret, new RegExp(`^${prefix}[0-9A-Za-z]{38}$`))
        assert.ok(hasKeyFormat(secret, environment))
        assert.match(apiKey.digest, /^[0-9a-f]{64}$/)
        assert.ok(!JSON.stringify(apiKey).includes(secret))
      }
    }
  })

  // Computed with another program (Python's zlib and a base62 of its own).
  const known = [
    ['as_live_', '0'.repeat(32)],
    ['as_test_', 'abcdefghijABCDEFGHIJ0123456789xy'],
    ['as_live_', 'Z'.repeat(32)],
  ] as const
  const checksums = ['3rw9My', '2jZrqb', '49HffD']
  for (const [index, [prefix, random]] of known.entries()) {
    test(`${prefix}${random} has the checksum ${checksums[index]}`, () => {
      const environment = prefix === 'as_live_' ? 'production' : 'staging'
      const other = prefix === 'as_live_' ? 'staging' : 'production'
      const secret = `${prefix}${random}${checksums[index]}`
      assert.ok(hasKeyFormat(secret, environment))
      assert.ok(!hasKeyFormat(secret, other))
      assert.ok(!hasKeyFormat(`${prefix}${random}${checksums[index]?.slice(0, 5)}!`, environment))
    })
  }
})

suite('what is remembered of credentials', () => {
  test('a flood of keys that do not exist does not drive out those that do, and each is looked up once', async () => {
    const make = () => generateKey({ name: 'x', environment: 'production', createdAt: new Date() })
    const { secret, apiKey } = make()
    let asked = 0
    const findKey = async (digest: string) => {
      asked++
      return digest === apiKey.digest ? apiKey : undefined
    }
    const authenticate = createAuthenticator({
      store: { findKey } as unknown as Store,
      clock: Date.now,
      environment: 'production',
      extraKey: undefined,
    })
    const isAccepted = async (key: string) => (await authenticate([`Bearer ${key}`])).rejected === undefined
    assert.ok(await isAccepted(secret))
    const wrong = Array.from({ length: 1_200 }, () => make().secret)
    // At once, and one after the other.
    assert.ok((await Promise.all(wrong.map(isAccepted))).every(accepted => !accepted))
    for (const key of wrong.slice(-900)) assert.equal(await isAccepted(key), false)
    assert.ok(await isAccepted(secret))
    assert.equal(asked, 1_201)
  })
})
