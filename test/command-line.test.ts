import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { hasKeyFormat } from '../src/api-key.ts'
import { run, serve, start } from './support/command.ts'
import { client, temporaryFolder } from './support/service.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

suite('animal-store', () => {
  const helps: [string[], RegExp][] = [
    [['--help'], /serve[\s\S]*keys create[\s\S]*keys rotate ID[\s\S]*openapi/],
    [['-h'], /Usage: animal-store COMMAND/],
    [['help'], /Usage: animal-store COMMAND/],
    [['keys', '--help'], /keys create/],
    [['serve', '--help'], /--port PORT[\s\S]*PORT, default 8080[\s\S]*ANIMAL_STORE_API_KEY/],
    [['keys', 'create', '--help'], /--name NAME[\s\S]*--expires TIME/],
    [['keys', 'list', '--help'], /--json/],
    [['keys', 'revoke', '--help'], /keys revoke ID/],
    [['keys', 'rotate', 'x', '--help'], /--overlap TIME/],
    [['openapi', '--help'], /--staging-url/],
  ]
  for (const [args, expected] of helps) {
    test(`${args.join(' ')} prints help on stdout and ends with 0`, async t => {
      const { code, out, err } = await run(t, args, { cwd: temporaryFolder(t) })
      assert.equal(code, 0)
      assert.match(out, expected)
      assert.equal(err, '')
    })
  }

  for (const args of [
    ['--version'],
    ['serve', '--version'],
    ['keys', 'list', '--version'],
    ['openapi', '--version'],
  ]) {
    test(`${args.join(' ')} prints the version`, async t => {
      const { code, out } = await run(t, args, { cwd: temporaryFolder(t) })
      assert.equal(code, 0)
      assert.equal(out, `${version}\n`)
    })
  }

  const slips: [string[], RegExp][] = [
    [['sevre'], /There is no command "sevre". Did you mean "serve"\?/],
    [['keys', 'lsit'], /Did you mean "keys list"\?/],
    [['key', 'create'], /Did you mean "keys create"\?/],
    [['openap'], /Did you mean "openapi"\?/],
    [['feed', 'elephants'], /There is no command "feed elephants". See animal-store --help/],
    [['keys'], /"keys" must be followed by one of create, list, revoke, rotate/],
    [['key'], /Did you mean "keys"\?/],
    [[], /Usage: animal-store COMMAND/],
    [['--port', '1'], /Usage: animal-store COMMAND|There is no command/],
  ]
  for (const [args, expected] of slips) {
    test(`"${args.join(' ')}" is misuse: words on stderr, exit code 2`, async t => {
      const { code, out, err } = await run(t, args, { cwd: temporaryFolder(t) })
      assert.equal(code, 2)
      assert.match(err, expected)
      assert.equal(out, '')
    })
  }
})

suite('settings', () => {
  test('everything that is wrong is reported at once, a line each, before anything is made', async t => {
    const cwd = temporaryFolder(t)
    const { code, out, err } = await run(
      t,
      ['serve', '--port', 'abc', '--environment', 'test', '--nonsense', '--host'],
      {
        cwd,
        env: {
          DATABASE_URL: 'mysql://root:hunter2@db/x',
          PRODUCTION_URL: 'https://example.test/v2',
          STAGING_URL: 'ftp://example.test/v1',
          LOG_LEVEL: 'loud',
          SHUTDOWN_DELAY: '1h',
          ANIMAL_STORE_API_KEY: 'too-short-secret',
        },
      },
    )
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.deepEqual(err.trim().split('\n').sort(), [
      '--database-url (DATABASE_URL) must be sqlite:<path>, sqlite::memory: or postgres://user:password@host:port/database, percent-encoded',
      '--environment (ANIMAL_STORE_ENV) must be one of production, staging, not "test"',
      '--host needs a value',
      '--log-level (LOG_LEVEL) must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
      '--nonsense is not a flag of this command; see --help',
      '--port (PORT) must be a whole number from 0 to 65535, not "abc"',
      '--production-url (PRODUCTION_URL) must be an http or https URL that ends in /v1, without user name, query or fragment',
      '--shutdown-delay (SHUTDOWN_DELAY) must be a time from 0s to 5s, not "1h"',
      '--staging-url (STAGING_URL) must be an http or https URL that ends in /v1, without user name, query or fragment',
      'ANIMAL_STORE_API_KEY must be 20 to 255 visible ASCII characters',
    ])
    assert.deepEqual(readdirSync(cwd), [])
  })

  const wrong: [string[], Record<string, string>][] = [
    ...['-1', '65536', '1.5', '08', '+1', ' 1', '0x10', '1e3'].map(
      (port): [string[], Record<string, string>] => [['--port', port], {}],
    ),
    [['--port=1', '--port=2'], {}],
    ...[
      'app.example',
      'https://app.example/',
      'https://app.example/x',
      'HTTPS://app.example',
      'null',
      ',',
    ].map((origin): [string[], Record<string, string>] => [['--cors-origin', origin], {}]),
    [['--cors-origin', 'https://app.example', '--cors-origin', 'x'], {}],
    [['extra'], {}],
    [['--json'], {}],
    [[], { PORT: '99999' }],
    [[], { HOST: 'a b' }],
    [[], { DATABASE_URL: 'sqlite:' }],
    [[], { DATABASE_URL: 'sqlite://x.db' }],
    [[], { DATABASE_URL: 'x.db' }],
    [[], { DATABASE_URL: 'sqlite::mem' }],
    [[], { DATABASE_URL: 'postgres:localhost' }],
    [[], { DATABASE_URL: 'postgres://[' }],
    [[], { ANIMAL_STORE_API_KEY: 'x'.repeat(19) }],
    [[], { ANIMAL_STORE_API_KEY: 'x'.repeat(256) }],
    [[], { ANIMAL_STORE_API_KEY: 'has a space in the middle' }],
    [[], { PRODUCTION_URL: 'https://user@example.test/v1' }],
    [[], { PRODUCTION_URL: 'https://example.test/v1?x=1' }],
  ]
  for (const [args, env] of wrong) {
    test(`serve ${args.join(' ')} ${JSON.stringify(env)} ends with 2 and one line`, async t => {
      const { code, err } = await run(t, ['serve', ...args], { cwd: temporaryFolder(t), env })
      assert.equal(code, 2)
      assert.equal(err.trim().split('\n').length, 1, err)
      for (const secret of Object.entries(env).filter(([name]) => name === 'ANIMAL_STORE_API_KEY')) {
        assert.ok(!err.includes(secret[1]))
      }
    })
  }

  test('a flag wins over its variable, and an empty variable counts as not given', async t => {
    const cwd = temporaryFolder(t)
    const env = { PORT: '1', DATABASE_URL: 'sqlite:from-variable.db', ANIMAL_STORE_ENV: '', HOST: '' }
    const { address, child, ended } = await serve(t, ['--database-url', 'sqlite:from-flag.db'], { cwd, env })
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d{2,5}$/)
    assert.ok(existsSync(join(cwd, 'from-flag.db')))
    assert.ok(!existsSync(join(cwd, 'from-variable.db')))
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
  })

  test('several origins are given by as many flags, or with commas between them', async t => {
    const ORIGINS = ['https://one.example', 'http://localhost:3000']
    const ways = [
      { args: ORIGINS.flatMap(origin => ['--cors-origin', origin]), env: {} },
      { args: [], env: { CORS_ORIGIN: ORIGINS.join(', ') } },
    ]
    for (const { args, env } of ways) {
      const { address } = await serve(t, args, { cwd: temporaryFolder(t), env })
      for (const origin of ORIGINS) {
        const { headers } = await fetch(`${address}/v1/pets`, { headers: { origin } })
        assert.equal(headers.get('access-control-allow-origin'), origin)
      }
    }
  })

  test('the extra key is accepted, and then no first key is made', async t => {
    const cwd = temporaryFolder(t)
    const key = 'a-secret-of-my-own-choosing'
    const { address, printed } = await serve(t, [], { cwd, env: { ANIMAL_STORE_API_KEY: key } })
    const { send, close } = client(address, key)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    assert.ok(!`${printed.err}${printed.out}`.includes('as_live_'))
    assert.ok(!`${printed.err}${printed.out}`.includes(key))
  })
})

suite('serve', () => {
  for (const [environment, prefix] of [
    ['production', 'as_live_'],
    ['staging', 'as_test_'],
  ] as const) {
    test(`the first run in ${environment} makes its database and a key, and prints the key once`, async t => {
      const cwd = temporaryFolder(t)
      const args = environment === 'staging' ? ['--environment', 'staging'] : []
      const first = await serve(t, args, { cwd })
      const key = await first.said(new RegExp(`(${prefix}\\w{38})`))
      assert.ok(hasKeyFormat(key, environment))
      const line = await first.said(/(curl .*)/)
      assert.equal(line, `curl -H 'Authorization: Bearer ${key}' ${first.address}/v1/pets`)
      const { send, close } = client(first.address, key)
      t.after(close)
      assert.equal((await send('GET', '/v1/pets')).text, '[]')
      assert.deepEqual(readdirSync(cwd), ['data'])
      assert.ok(existsSync(join(cwd, `data/${environment}.db`)))
      first.child.kill('SIGTERM')
      const ended = await first.ended
      assert.equal(ended.code, 0)
      assert.ok(!ended.out.includes(key), 'the key is in the log')
      for (const file of readdirSync(join(cwd, 'data'))) {
        assert.ok(!readFileSync(join(cwd, 'data', file), 'latin1').includes(key), `the key is in ${file}`)
      }

      const second = await serve(t, args, { cwd })
      const again = client(second.address, key)
      t.after(again.close)
      assert.equal((await again.send('GET', '/v1/pets')).text, '[]')
      assert.ok(!second.printed.err.includes(prefix))
    })
  }

  test('the pasted curl line answers []', async t => {
    const { said } = await serve(t, [], { cwd: temporaryFolder(t) })
    const line = await said(/(curl .*)/)
    const { out } = await run(t, ['-c', `${line} -s`], { cwd: temporaryFolder(t), program: ['sh'] })
    assert.equal(out, '[]')
  })

  test('in memory works too, and leaves nothing behind', async t => {
    const cwd = temporaryFolder(t)
    const { address, said } = await serve(t, ['--database-url', 'sqlite::memory:'], { cwd })
    const { send, close } = client(address, await said(/(as_live_\w{38})/))
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    assert.deepEqual(readdirSync(cwd), [])
  })

  const unusable: [string, (path: string) => void, RegExp][] = [
    [
      'a database that is none',
      path => writeFileSync(path, 'hello'.repeat(1000)),
      /^The database .* cannot be opened: file is not a database\.\n$/,
    ],
  ]
  for (const [what, prepare, expected] of unusable) {
    test(`${what} stops the start with one line and exit code 1`, async t => {
      const cwd = temporaryFolder(t)
      const path = join(cwd, 'a.db')
      prepare(path)
      const before = readFileSync(path)
      for (const args of [
        ['serve', '--port', '0'],
        ['keys', 'list'],
        ['keys', 'create', '--name', 'x'],
      ]) {
        const { code, out, err } = await run(t, [...args, '--database-url', `sqlite:${path}`], { cwd })
        assert.equal(code, 1)
        assert.match(err, expected)
        assert.equal(out, '')
      }
      assert.ok(before.equals(readFileSync(path)))
      assert.deepEqual(readdirSync(cwd), ['a.db'])
    })
  }

  test('a database that stays locked stops the start with one line and exit code 1, and nothing is left running', async t => {
    const cwd = temporaryFolder(t)
    await run(t, ['migrate', '--database-url', 'sqlite:a.db'], { cwd })
    const other = new DatabaseSync(join(cwd, 'a.db'))
    t.after(() => other.close())
    other.exec('begin immediate')
    const { code, err } = await run(t, ['serve', '--port', '0', '--database-url', 'sqlite:a.db'], { cwd })
    assert.equal(code, 1)
    assert.equal(err, 'The database cannot be used right now: database is locked.\n')
    other.exec('rollback')
    const { out } = await run(t, ['keys', 'list', '--json', '--database-url', 'sqlite:a.db'], { cwd })
    assert.deepEqual(JSON.parse(out), [])
  })

  test('a database whose name looks like an address is a file of that name', async t => {
    const cwd = temporaryFolder(t)
    const { address, said } = await serve(t, ['--database-url', 'sqlite:file:x.db?mode=memory'], { cwd })
    const { send, close } = client(address, await said(/(as_live_\w{38})/))
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    assert.ok(existsSync(join(cwd, 'file:x.db?mode=memory')))
  })

  test('a port that is taken stops the start with one line and exit code 1, and no key is made', async t => {
    const blocker = createServer().listen(0, '127.0.0.1')
    t.after(() => blocker.close())
    await new Promise(resolve => blocker.once('listening', resolve))
    const { port } = blocker.address() as { port: number }
    const cwd = temporaryFolder(t)
    const { code, err } = await run(t, ['serve', '--port', String(port)], { cwd })
    assert.equal(code, 1)
    assert.equal(err, `Cannot listen on 127.0.0.1, port ${port}: the port is taken.\n`)
    const { out } = await run(t, ['keys', 'list', '--json'], { cwd })
    assert.deepEqual(JSON.parse(out), [])
  })

  for (const [host, shown] of [
    ['0.0.0.0', '127.0.0.1'],
    ['::', '[::1]'],
    ['::1', '[::1]'],
    ['localhost', 'localhost'],
  ] as const) {
    test(`--host ${host} listens and says an address that can be used`, async t => {
      const running = await serve(t, ['--host', host], { cwd: temporaryFolder(t) })
      assert.equal(new URL(running.address).hostname, shown)
      const response = await fetch(`${running.address}/livez`)
      assert.equal(response.status, 200)
    })
  }
})

suite('keys', () => {
  test('create prints the key alone on stdout, and it works at once in a running service', async t => {
    const cwd = temporaryFolder(t)
    const { address } = await serve(t, [], { cwd })
    const { code, out, err } = await run(t, ['keys', 'create', '--name', 'my laptop'], { cwd })
    assert.equal(code, 0)
    assert.match(out, /^as_live_\w{38}\n$/)
    assert.match(err, /Created key_\w+ \(my laptop\) for production\. The key is shown only this once/)
    const { send, close } = client(address, out.trim())
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
  })

  test('create, list, rotate and revoke speak JSON', async t => {
    const cwd = temporaryFolder(t)
    const json = async (...args: string[]) => {
      const { code, out, err } = await run(t, ['keys', ...args, '--json'], { cwd })
      assert.equal(code, 0, err)
      assert.equal(err, '')
      return JSON.parse(out)
    }
    const made = await json('create', '--name', 'one', '--expires', '90d')
    assert.ok(hasKeyFormat(made.key, 'production'))
    assert.equal(Date.parse(made.expiresAt) - Date.parse(made.createdAt), 90 * 24 * 3600 * 1000)
    const { key, ...described } = made
    assert.deepEqual(await json('list'), [{ ...described, state: 'active', revokedAt: null }])

    const next = await json('rotate', made.id, '--overlap', '1h')
    assert.notEqual(next.key, key)
    assert.equal(next.name, 'one')
    assert.equal(Date.parse(next.expiresAt) - Date.parse(next.createdAt), 90 * 24 * 3600 * 1000)
    const [old] = await json('list')
    assert.equal(Date.parse(old.expiresAt) - Date.parse(next.createdAt), 3600 * 1000)

    const revoked = await json('revoke', next.id)
    assert.equal(revoked.state, 'revoked')
    assert.notEqual(revoked.revokedAt, null)
    const states = (await json('list')).map(({ state }: { state: string }) => state)
    assert.deepEqual(states, ['active', 'revoked'])
  })

  test('list shows a table, or says that there are none', async t => {
    const cwd = temporaryFolder(t)
    await run(t, ['keys', 'create', '--name', 'one'], { cwd })
    await run(t, ['keys', 'create', '--name', 'two', '--expires', '1s'], { cwd })
    const { out } = await run(t, ['keys', 'list'], { cwd })
    const [head, first, second] = out.split('\n')
    assert.match(head ?? '', /^ID +STATE +CREATED +EXPIRES +NAME$/)
    assert.match(first ?? '', /^key_\w+ +active +\d{4}-\d\d-\d\d \d\d:\d\dZ +never +one$/)
    assert.match(second ?? '', /^key_\w+ +(active|expired) +.* two$/)
    await run(t, ['keys', 'create', '--name', 'x', '--environment', 'staging'], { cwd })
    const { out: staging } = await run(t, ['keys', 'list', '--environment', 'staging'], { cwd })
    assert.match(staging, / x$/m)
    assert.doesNotMatch(staging, / one$/m)
  })

  test('rotate lets the old key work for the overlap, and not at all with 0s', async t => {
    const cwd = temporaryFolder(t)
    const { address } = await serve(t, [], { cwd })
    const create = async () =>
      JSON.parse((await run(t, ['keys', 'create', '--name', 'x', '--json'], { cwd })).out)
    const [kept, dropped] = [await create(), await create()]
    const next = (await run(t, ['keys', 'rotate', kept.id], { cwd })).out.trim()
    await run(t, ['keys', 'rotate', dropped.id, '--overlap', '0s'], { cwd })
    for (const [key, status] of [
      [kept.key, 200],
      [next, 200],
      [dropped.key, 401],
    ] as const) {
      const { send, close } = client(address, key)
      t.after(close)
      assert.equal((await send('GET', '/v1/pets')).status, status)
    }
  })

  test('a key that a running service has been using is dead within 5 seconds of its revocation', async t => {
    const cwd = temporaryFolder(t)
    const { address } = await serve(t, [], { cwd })
    const { id, key } = JSON.parse((await run(t, ['keys', 'create', '--name', 'x', '--json'], { cwd })).out)
    const { send, close } = client(address, key)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
    const { code, err } = await run(t, ['keys', 'revoke', id], { cwd })
    assert.equal(code, 0)
    assert.match(err, /^Revoked key_\w+ \(x\)\.\n$/)
    const since = performance.now()
    while ((await send('GET', '/v1/pets')).status === 200) assert.ok(performance.now() - since < 5_000)
    assert.equal((await send('GET', '/v1/pets')).status, 401)
  })

  const misuse: [string[], number, RegExp][] = [
    [['keys', 'create'], 2, /^--name is required/],
    [['keys', 'create', '--name', ''], 2, /^--name must be 1 to 100 characters/],
    [['keys', 'create', '--name', '  '], 2, /^--name must be/],
    [['keys', 'create', '--name', 'a\nb'], 2, /^--name must be/],
    [['keys', 'create', '--name', 'x', '--expires', 'soon'], 2, /^--expires must be a time from 1s to 3650d/],
    [['keys', 'create', '--name', 'x', '--expires', '0d'], 2, /^--expires must be/],
    [['keys', 'create', '--name', 'x', '--expires', '99999d'], 2, /^--expires must be/],
    [['keys', 'revoke'], 2, /^ID is missing/],
    [['keys', 'rotate', 'a', 'b'], 2, /^"b" is one argument too many/],
    [['keys', 'list', '--json=yes'], 2, /^--json takes no value/],
    [['keys', 'list'], 1, /^There is no database at \/.*\/data\/production\.db\.$/m],
    [['keys', 'revoke', 'x'], 1, /^There is no database at/],
    [['keys', 'create', '--name', 'x', '--database-url', 'sqlite::memory:'], 1, /name a file/],
  ]
  for (const [args, expected, words] of misuse) {
    test(`${args.join(' ')} ends with ${expected}`, async t => {
      const cwd = temporaryFolder(t)
      const { code, err, out } = await run(t, args, { cwd })
      assert.equal(code, expected)
      assert.match(err, words)
      assert.equal(out, '')
      assert.deepEqual(readdirSync(cwd), [])
    })
  }

  test('an unknown, revoked or foreign key cannot be rotated or revoked', async t => {
    const cwd = temporaryFolder(t)
    const { id } = JSON.parse((await run(t, ['keys', 'create', '--name', 'x', '--json'], { cwd })).out)
    await run(t, ['keys', 'revoke', id], { cwd })
    for (const [args, words] of [
      [['rotate', 'key_nobody'], /There is no key key_nobody in production/],
      [['revoke', 'key_nobody'], /There is no key key_nobody in production/],
      [['rotate', id], /is revoked; create a new one/],
    ] as const) {
      const { code, err } = await run(t, ['keys', ...args], { cwd })
      assert.equal(code, 1)
      assert.match(err, words)
    }
  })
})

suite('openapi', () => {
  test('prints the document', async t => {
    const { code, out } = await run(t, ['openapi', '--staging-url', 'https://s.test/v1'], {
      cwd: temporaryFolder(t),
    })
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out).servers, [
      { url: 'http://127.0.0.1:8080/v1', description: 'Production' },
      { url: 'https://s.test/v1', description: 'Staging' },
    ])
  })
})

test('a folder that cannot be made is told in one line, and ends with 1', async t => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'data'), '')
  const { code, err } = await start(t, ['keys', 'create', '--name', 'x'], { cwd }).ended
  assert.equal(code, 1)
  assert.match(err, /The folder of the database .*data\/production\.db cannot be created/)
})
