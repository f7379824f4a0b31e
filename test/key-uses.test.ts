// When keys were last used, and the warning before one expires.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey } from '../src/api-key.ts'
import type { ServiceOptions } from '../src/cli/service/service.ts'
import { createKeyUses } from '../src/http/api/key-uses.ts'
import { onEveryDatabase } from './support/databases.ts'
import type { Scope, TestService } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

const NOON = Date.parse('2026-11-19T12:00:00Z')
const DAY = 24 * 60 * 60 * 1_000

onEveryDatabase('the uses of keys', startTestService => {
  /** A service whose clock is moved. */
  async function startMoved(t: Scope, options: Partial<ServiceOptions> = {}) {
    const clock = { now: NOON }
    const service = await startTestService(t, { clock: () => clock.now, ...options })
    return { clock, service }
  }

  async function addKey(service: TestService, name: string, expiresAt?: Date) {
    const key = generateKey({ name, environment: 'production', createdAt: new Date(NOON), expiresAt })
    await service.store.createKey(key.apiKey)
    return key
  }

  async function list(service: TestService, secret: string): Promise<number> {
    const headers = { authorization: `Bearer ${secret}` }
    return (await service.send('GET', '/v1/pets', { headers })).status
  }

  const warningsOf = (service: TestService) =>
    service.logs.filter(({ level, keyId }) => level === 40n && keyId !== undefined)

  test('are stored by their days, once for each day', async t => {
    const { clock, service } = await startMoved(t)
    const [used, unused] = [await addKey(service, 'used'), await addKey(service, 'unused')]
    const stored: string[] = []
    const { storeKeyUses } = service.store
    t.mock.method(service.store, 'storeKeyUses', (ids: readonly string[], day: string) => {
      stored.push(...ids.map(() => day))
      return storeKeyUses(ids, day)
    })
    const lastUse = async (name: string) =>
      (await service.store.listKeys('production')).find(key => key.name === name)?.lastUsed
    for (const day of ['2026-11-19', '2026-11-20']) {
      for (let count = 0; count < 3; count++) assert.equal(await list(service, used.secret), 200)
      await waitUntil(async () => (await lastUse('used')) === day, { what: `the day ${day} is stored` })
      clock.now += DAY
    }
    assert.equal(await lastUse(unused.apiKey.name), undefined)
    assert.deepEqual(stored, ['2026-11-19', '2026-11-20'])
  })

  test('are stored when the service stops', async t => {
    const stops: (() => unknown)[] = []
    const { service } = await startMoved({ after: stop => void stops.push(stop) })
    const { secret, apiKey } = await addKey(service, 'used')
    await list(service, secret)
    const stored: [readonly string[], string][] = []
    t.mock.method(service.store, 'storeKeyUses', async (...use: [string[], string]) => void stored.push(use))
    for (const stop of stops) await stop()
    assert.deepEqual(stored, [[[apiKey.id], '2026-11-19']])
  })

  test('a key that expires within 14 days is reported once a day, unless it has a successor', async t => {
    const { clock, service } = await startMoved(t)
    const at = (days: number) => new Date(NOON + days * DAY)
    const [soon, later, rotated] = [
      await addKey(service, 'soon', at(14)),
      await addKey(service, 'later', at(15.5)),
      await addKey(service, 'rotated', at(10)),
    ]
    const { idempotencyScope } = rotated.apiKey
    const successor = generateKey({
      name: 'rotated',
      environment: 'production',
      createdAt: at(0.1),
      idempotencyScope,
    })
    assert.equal(await service.store.rotateKey(rotated.apiKey.id, successor.apiKey, at(1.5)), true)
    const keys = [soon, later, rotated, successor]
    const warned = () => warningsOf(service).map(({ keyId }) => keyId)
    for (const expected of [
      [soon.apiKey.id],
      [soon.apiKey.id, soon.apiKey.id],
      // The day on which the second key has 14 days left begins with more than that.
      [soon.apiKey.id, soon.apiKey.id, soon.apiKey.id, later.apiKey.id],
    ]) {
      for (const { secret } of [...keys, ...keys]) await list(service, secret)
      await waitUntil(() => warned().length >= expected.length, { what: 'the keys are reported' })
      assert.deepEqual(warned().toSorted(), expected.toSorted())
      clock.now += DAY
    }
    const [first] = warningsOf(service)
    assert.equal(first?.expiresAt, at(14).toISOString())
    assert.match(String(first?.msg), /expires soon; animal-store keys rotate key_\w+ creates its successor/)
  })

  test('refuse nothing if they cannot be stored, are reported once, and are stored later', async t => {
    const { service } = await startMoved(t)
    const { apiKey } = await addKey(service, 'used')
    const warnings: string[] = []
    let isFailing = true
    const uses = createKeyUses({
      store: {
        ...service.store,
        async storeKeyUses(ids, day) {
          if (isFailing) throw new Error('no disk')
          await service.store.storeKeyUses(ids, day)
        },
      },
      environment: 'production',
      warn: message => void warnings.push(message),
      onExpiring: () => {},
    })
    uses.note(apiKey, NOON)
    await uses.flush()
    await uses.flush()
    assert.deepEqual(warnings, ['could not store on which day API keys were used: Error: no disk'])
    isFailing = false
    await uses.flush()
    assert.equal((await service.store.findKey(apiKey.digest))?.lastUsed, '2026-11-19')
  })
})
