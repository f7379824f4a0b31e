// The keys commands: create, list, rotate and revoke, also while a service runs on the same database.

import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { hasKeyFormat } from '../src/api-key.ts'
import { run, serve } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { client, shared, temporaryFolder } from './support/service.ts'
import { lockForWriting } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

/** Runs a command in this process, on the database that the command line uses in this folder. */
function runIn(cwd: string, ...args: readonly string[]) {
  return runInProcess(['keys', ...args], { DATABASE_URL: `sqlite:${join(cwd, 'data/production.db')}` })
}

async function createIn(cwd: string, ...args: readonly string[]) {
  return JSON.parse((await runIn(cwd, 'create', '--json', ...args)).out)
}

suite('keys', { concurrency: 2 }, () => {
  /** A running service, and the folder with its database. */
  const running = shared(async scope => {
    const cwd = temporaryFolder()
    const { address } = await serve(scope, [], { cwd })
    return { cwd, address }
  })

  test('create prints only the key on stdout, and a running service accepts it immediately', async t => {
    const { cwd, address } = running()
    const { code, out, err } = await run(t, ['keys', 'create', '--name', 'my laptop'], { cwd })
    assert.equal(code, 0)
    assert.match(out, /^as_live_\w{38}\n$/)
    assert.match(
      err,
      /Created key_\w+ \(my laptop\) for production in data\/production\.db\. The key goes to standard output, only once\./,
    )
    const { send, close } = client(address, out.trim())
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
  })

  test('create, list, rotate and revoke print JSON with --json', async () => {
    const cwd = temporaryFolder()
    const json = async (...args: string[]) => {
      const { code, out, err } = await runIn(cwd, ...args, '--json')
      assert.equal(code, 0, err)
      assert.match(err, args[0] === 'create' ? /^Created the database \/.*data\/production\.db\.\n$/ : /^$/)
      return JSON.parse(out)
    }
    const created = await json('create', '--name', 'one', '--expires', '90d')
    assert.ok(hasKeyFormat(created.key, 'production'))
    assert.equal(Date.parse(created.expiresAt) - Date.parse(created.createdAt), 90 * 24 * 3600 * 1000)
    const { key, ...described } = created
    assert.deepEqual(await json('list'), [{ ...described, state: 'active', revokedAt: null }])

    const next = await json('rotate', created.id, '--overlap', '1h')
    assert.notEqual(next.key, key)
    assert.equal(next.name, 'one')
    assert.equal(Date.parse(next.expiresAt) - Date.parse(next.createdAt), 90 * 24 * 3600 * 1000)
    const list = async () => JSON.parse((await runIn(cwd, 'list', '--json')).out)
    const [old] = await list()
    assert.equal(Date.parse(old.expiresAt) - Date.parse(next.createdAt), 3600 * 1000)

    const revoked = await json('revoke', next.id)
    assert.equal(revoked.state, 'revoked')
    assert.notEqual(revoked.revokedAt, null)
    const states = (await list()).map(({ state }: { state: string }) => state)
    assert.deepEqual(states, ['active', 'revoked'])
  })

  test('create --read-only makes a key that may only read, which list shows and a rotation keeps', async t => {
    const { cwd, address } = running()
    const { out, err } = await runIn(cwd, 'create', '--name', 'window', '--read-only')
    assert.match(out, /^as_read_live_\w{38}\n$/)
    assert.match(err, /^Created (key_\w+) \(window\), which may only read, for production/)
    const [, id = ''] = /^Created (key_\w+)/.exec(err) ?? []
    const rotated = JSON.parse((await runIn(cwd, 'rotate', id, '--json')).out)
    assert.match(rotated.key, /^as_read_live_/)
    const listed = JSON.parse((await runIn(cwd, 'list', '--json')).out) as { name: string; access: string }[]
    assert.deepEqual(
      listed.filter(({ name }) => name === 'window').map(({ access }) => access),
      ['read', 'read'],
    )
    assert.match((await runIn(cwd, 'list')).out, new RegExp(`^${id} +active +read +`, 'm'))
    for (const key of [out.trim(), rotated.key]) {
      const { send, create, close } = client(address, key)
      t.after(close)
      assert.equal((await send('GET', '/v1/pets')).status, 200)
      assert.equal((await create({ name: 'a', categoryId: 1 })).status, 403)
    }
  })

  test('rotate gives each successor the original lifetime', async () => {
    const cwd = temporaryFolder()
    const rotate = async (id: string) => JSON.parse((await runIn(cwd, 'rotate', id, '--json')).out)
    const lifetimeOf = ({ createdAt, expiresAt }: { createdAt: string; expiresAt: string | null }) =>
      expiresAt === null ? 'unlimited' : Date.parse(expiresAt) - Date.parse(createdAt)
    const unlimited = await createIn(cwd, '--name', 'x')
    const limited = await createIn(cwd, '--name', 'x', '--expires', '90d')
    for (const [{ id }, lifetime] of [
      [unlimited, 'unlimited'],
      [limited, 90 * 24 * 3600 * 1000],
    ] as const) {
      const first = await rotate(id)
      const second = await rotate(first.id)
      await runIn(cwd, 'revoke', second.id)
      const third = await rotate(first.id)
      assert.deepEqual([first, second, third].map(lifetimeOf), [lifetime, lifetime, lifetime])
    }
  })

  test('rotate says when the old key ends, and refuses a key that was rotated already', async () => {
    const cwd = temporaryFolder()
    const { id } = await createIn(cwd, '--name', 'x')
    const before = Date.now()
    const first = await runIn(cwd, 'rotate', id, '--overlap', '1h')
    const after = Date.now()
    assert.equal(first.code, 0)
    const [, end = ''] =
      new RegExp(`^Rotated ${id} \\(x\\) .* The old key expires at (\\S+Z)\\.$`, 'm').exec(first.err) ?? []
    const rotatedAt = Date.parse(end) - 3_600_000
    assert.ok(rotatedAt >= before && rotatedAt <= after, first.err)
    const again = await runIn(cwd, 'rotate', id)
    assert.equal(again.code, 1)
    assert.match(
      again.err,
      new RegExp(`^Key ${id} was rotated already: its successor is key_\\w+\\. If that one is lost`),
    )
    assert.equal(again.out, '')
  })

  test('rotate has one successor, however many processes rotate a key at the same moment', async t => {
    const cwd = temporaryFolder()
    const { id } = await createIn(cwd, '--name', 'x')
    const attempts = await Promise.all(
      Array.from({ length: 4 }, () => run(t, ['keys', 'rotate', id], { cwd })),
    )
    const [rotated, ...others] = attempts.toSorted((one, other) => Number(one.code) - Number(other.code))
    assert.equal(rotated?.code, 0, rotated?.err)
    for (const { code, out, err } of others) {
      assert.equal(code, 1)
      // It prints a key only if it has found no successor before.
      if (out === '') assert.match(err, /was rotated already: its successor is key_/)
      else assert.match(err, /was rotated or revoked at the same moment\. The key above is not valid\.\n$/)
    }
    const keys = JSON.parse((await runIn(cwd, 'list', '--json')).out)
    assert.equal(keys.length, 2)
  })

  test('rotate changes nothing if the successor cannot be stored, and says that its key is not valid', async t => {
    const cwd = temporaryFolder()
    const { id } = await createIn(cwd, '--name', 'x')
    const before = (await runIn(cwd, 'list', '--json')).out
    const unlock = lockForWriting(t, join(cwd, 'data/production.db'))
    const { code, out, err } = await runIn(cwd, 'rotate', id)
    unlock()
    assert.equal(code, 1)
    assert.match(out, /^as_live_\w{38}\n$/)
    assert.match(err, new RegExp(`^Key ${id} was not rotated: .* The key above is not valid\\.$`, 'm'))
    assert.equal((await runIn(cwd, 'list', '--json')).out, before)
    assert.equal((await runIn(cwd, 'rotate', id)).code, 0)
  })

  test('list prints a table of the keys of one environment', async () => {
    const cwd = temporaryFolder()
    await createIn(cwd, '--name', 'one')
    await createIn(cwd, '--name', 'two', '--expires', '1s')
    const { out } = await runIn(cwd, 'list')
    const [head, first, second] = out.split('\n')
    assert.match(head ?? '', /^ID +STATE +ACCESS +CREATED +EXPIRES +LAST USED +NAME$/)
    assert.match(first ?? '', /^key_\w+ +active +write +\d{4}-\d\d-\d\d \d\d:\d\dZ +never +never +one$/)
    assert.match(second ?? '', /^key_\w+ +(active|expired) +.* two$/)
    await createIn(cwd, '--name', 'x', '--environment', 'staging')
    const { out: staging } = await runIn(cwd, 'list', '--environment', 'staging')
    assert.match(staging, / x$/m)
    assert.doesNotMatch(staging, / one$/m)
  })

  test('after rotate the old key works during the overlap, and is rejected at once with --overlap 0s', async t => {
    const { cwd, address } = running()
    const create = () => createIn(cwd, '--name', 'x')
    const [overlapping, replaced] = [await create(), await create()]
    const next = (await runIn(cwd, 'rotate', overlapping.id)).out.trim()
    await runIn(cwd, 'rotate', replaced.id, '--overlap', '0s')
    for (const [key, status] of [
      [overlapping.key, 200],
      [next, 200],
      [replaced.key, 401],
    ] as const) {
      const { send, close } = client(address, key)
      t.after(close)
      assert.equal((await send('GET', '/v1/pets')).status, status)
    }
  })

  // How soon is tested with a clock that is moved (postgres.test.ts).
  test('a running service soon rejects a key that was revoked', async t => {
    const { cwd, address } = running()
    const { id, key } = await createIn(cwd, '--name', 'x')
    const { send, close } = client(address, key)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
    const { code, err } = await runIn(cwd, 'revoke', id)
    assert.equal(code, 0)
    assert.match(err, /^Revoked key_\w+ \(x\) in .*data\/production\.db\.\n$/)
    await waitUntil(async () => (await send('GET', '/v1/pets')).status !== 200, {
      what: 'the service rejects the key',
    })
    assert.equal((await send('GET', '/v1/pets')).status, 401)
  })

  test('list shows the day of the last use', async t => {
    const { cwd, address } = running()
    const { id, key, lastUsed } = await createIn(cwd, '--name', 'used')
    assert.equal(lastUsed, null)
    const { send, close } = client(address, key)
    t.after(close)
    const before = Date.now()
    assert.equal((await send('GET', '/v1/pets')).status, 200)
    const days = [before, Date.now()].map(time => new Date(time).toISOString().slice(0, 10))
    const lastUse = async () => {
      const keys = JSON.parse((await runIn(cwd, 'list', '--json')).out)
      return keys.find((each: { id: string }) => each.id === id).lastUsed
    }
    await waitUntil(async () => (await lastUse()) !== null, { what: 'the use is stored' })
    assert.ok(days.includes(await lastUse()))
    assert.match(
      (await runIn(cwd, 'list')).out,
      new RegExp(`^${id} .* never +\\d{4}-\\d\\d-\\d\\d +used$`, 'm'),
    )
  })

  test('revoke and rotate take a name that exactly one valid key has', async () => {
    const cwd = temporaryFolder()
    const first = await createIn(cwd, '--name', 'till')
    await createIn(cwd, '--name', 'other')
    const rotated = await runIn(cwd, 'rotate', '--name', 'till', '--json')
    assert.equal(rotated.code, 0, rotated.err)
    // The old key runs out, so the name means its successor.
    const successor = JSON.parse(rotated.out)
    const { err } = await runIn(cwd, 'revoke', '--name', 'till')
    assert.match(
      err,
      new RegExp(`^Revoked ${successor.id} .*\n${first.id}, from which it was rotated, works until 20`),
    )
    // Its successor is revoked, so the old key is the valid one again.
    assert.equal(JSON.parse((await runIn(cwd, 'revoke', '--name', 'till', '--json')).out).id, first.id)
    for (const command of ['revoke', 'rotate']) {
      const none = await runIn(cwd, command, '--name', 'till')
      assert.equal(none.code, 1)
      assert.match(none.err, /^No valid key has the name till in production/)
    }
  })

  test('create says that a valid key has the name, and revoke and rotate list those that have it', async () => {
    const cwd = temporaryFolder()
    const [one, revoked] = [await createIn(cwd, '--name', 'till'), await createIn(cwd, '--name', 'x')]
    await runIn(cwd, 'revoke', revoked.id)
    assert.doesNotMatch((await runIn(cwd, 'create', '--name', 'x')).err, /has the name/)
    const second = await runIn(cwd, 'create', '--name', 'till')
    assert.equal(second.code, 0)
    assert.match(second.out, /^as_live_\w{38}\n$/)
    assert.match(second.err, new RegExp(`^1 valid key has the name till: ${one.id} \\(created .*Z\\)\\.`))
    const keys = JSON.parse((await runIn(cwd, 'list', '--json')).out)
    const ids = keys
      .filter(({ name }: { name: string }) => name === 'till')
      .map(({ id }: { id: string }) => id)
    assert.equal(ids.length, 2)
    for (const command of ['revoke', 'rotate']) {
      const { code, out, err } = await runIn(cwd, command, '--name', 'till')
      assert.equal(code, 1)
      assert.equal(out, '')
      assert.match(err, /^2 valid keys have the name till: /)
      for (const id of ids) assert.ok(err.includes(id), err)
    }
    assert.equal((await runIn(cwd, 'list', '--json')).out, JSON.stringify(keys, null, 2).concat('\n'))
  })

  const failures: [string[], number, RegExp][] = [
    [['create'], 2, /^--name is required/],
    [['create', '--name', ''], 2, /^--name must be 1 to 100 characters/],
    [['create', '--name', '  '], 2, /^--name must be/],
    [['create', '--name', 'a\nb'], 2, /^--name must be/],
    [['create', '--name', 'x', '--expires', 'soon'], 2, /^--expires must be a time from 1s to 3650d/],
    [['create', '--name', 'x', '--expires', '0d'], 2, /^--expires must be/],
    [['create', '--name', 'x', '--expires', '99999d'], 2, /^--expires must be/],
    [['revoke'], 2, /^ID is missing/],
    [['rotate'], 2, /^ID is missing/],
    [['rotate', 'a', '--name', 'b'], 2, /^ID and --name name a key each/],
    [['revoke', '--name', ' '], 2, /^--name must be/],
    [['rotate', 'a', 'b'], 2, /^"b" is an unexpected argument/],
    [['list', '--json=yes'], 2, /^--json takes no value/],
    [['list'], 1, /^There is no database at \/.*\/data\/production\.db\. /m],
    [['revoke', 'x'], 1, /^There is no database at/],
    [['create', '--name', 'x', '--database-url', 'sqlite::memory:'], 1, /use a file/],
  ]
  test('failures exit with 2 if the command line is wrong, otherwise with 1, and create no files', async () => {
    const cwd = temporaryFolder()
    for (const [args, expected, message] of failures) {
      const { code, err, out } = await runIn(cwd, ...args)
      assert.equal(code, expected, args.join(' '))
      assert.match(err, message)
      assert.equal(out, '')
    }
    assert.deepEqual(readdirSync(cwd), [])
  })

  test('rotate and revoke fail with 1 for an unknown key, and rotate for a revoked one', async () => {
    const cwd = temporaryFolder()
    const { id } = await createIn(cwd, '--name', 'x')
    await runIn(cwd, 'revoke', id)
    for (const [args, message] of [
      [['rotate', 'key_unknown'], /There is no key key_unknown in production/],
      [['revoke', 'key_unknown'], /There is no key key_unknown in production/],
      [['rotate', id], /is revoked; create a new one/],
    ] as const) {
      const { code, err } = await runIn(cwd, ...args)
      assert.equal(code, 1)
      assert.match(err, message)
    }
  })

  test('revoke, rotate and list do not print a key that is given instead of its id', async () => {
    const cwd = temporaryFolder()
    const { key } = await createIn(cwd, '--name', 'x')
    const [prefix, secret] = [key.slice(0, 8), key.slice(8)]
    for (const args of [
      ['revoke', key],
      ['rotate', key],
      ['list', key],
    ]) {
      const { code, err } = await runIn(cwd, ...args)
      assert.notEqual(code, 0)
      assert.ok(err.includes(`${prefix}…`) && !err.includes(secret), err)
    }
  })

  test('create exits with 1 if the folder of the database cannot be created', async () => {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'data'), '')
    const { code, err } = await runIn(cwd, 'create', '--name', 'x')
    assert.equal(code, 1)
    assert.match(err, /The folder of the database .*data\/production\.db cannot be created/)
  })
})
