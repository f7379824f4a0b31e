// The start on PostgreSQL: the service waits for a server that is not up or not writable yet, and limits its connections.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import pg from 'pg'
import { run, start } from '../support/command.ts'
import {
  administer,
  borrowDatabase,
  countRows,
  freePort,
  newDatabase,
  startPostgres,
} from '../support/postgres.ts'
import { type Scope, shared, startTestService, temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

const LISTENING = /listening on (http:\S+)/
const WAITING = /^Waiting up to .* for PostgreSQL: .*\n/gm
/** On a busy machine the first connection may time out. The service does wait after a time-out, and says so. */
const WAITING_AFTER_TIMEOUT = /^Waiting up to 1h for PostgreSQL: .*time-?out.*\n/im

/** Starts the service. It may wait for an hour, so that the test decides when the wait ends. */
function startWaiting(t: Scope, url: string) {
  return start(t, ['serve', '--port', '0', '--database-wait', '1h'], {
    cwd: temporaryFolder(),
    env: { DATABASE_URL: url },
  })
}

/** Forwards connections to a server. As long as `refusal` returns a code and a message, it answers with that error. */
async function startingServer(t: Scope, url: string, refusal: () => string | undefined): Promise<string> {
  const { hostname, port } = new URL(url)
  const proxy = createServer(client => {
    client.on('error', () => {})
    const error = refusal()
    if (error === undefined) {
      const server = connect(Number(port), hostname)
      server.on('error', () => client.destroy())
      client.on('close', () => server.destroy())
      client.pipe(server).pipe(client)
      return
    }
    const fields = Buffer.from(`SFATAL\0VFATAL\0C${error.replace(' ', '\0M')}\0\0`)
    const header = Buffer.from('E\0\0\0\0')
    header.writeInt32BE(4 + fields.length, 1)
    client.once('data', () => client.end(Buffer.concat([header, fields])))
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.after(() => proxy.close())
  return Object.assign(new URL(url), { port: (proxy.address() as AddressInfo).port }).href
}

suite('at the start, the service waits for a PostgreSQL server', { concurrency: true }, () => {
  test('that is not up yet, and says so once', async t => {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    await postgres.halt()
    const { said, printed } = startWaiting(t, postgres.url)
    await said(/^Waiting up to 1h for PostgreSQL: nothing listens at \S+:\d+\.\n/m)
    await postgres.resume()
    await said(LISTENING)
    assert.equal(printed.err.match(/nothing listens/g)?.length, 1)
  })

  for (const [what, error] of [
    ['that is starting up', '57P03 the database system is starting up'],
    ['behind PgBouncer', '08P01 server login has been failing, try again later (server_login_retry)'],
  ] as const)
    test(what, async t => {
      let refusal: string | undefined = error
      const url = await startingServer(t, await newDatabase(t), () => refusal)
      const { said, printed } = startWaiting(t, url)
      const message = error.slice(6)
      await said(new RegExp(`^Waiting up to 1h for PostgreSQL: ${RegExp.escape(message)}\\.\\n`, 'm'))
      refusal = undefined
      await said(LISTENING)
      assert.equal(printed.err.split(message).length, 2, printed.err)
    })

  test('that is read-only', async t => {
    const url = await newDatabase(t)
    const name = new URL(url).pathname.slice(1)
    await administer(`alter database ${name} set default_transaction_read_only = on`)
    const { said } = startWaiting(t, url)
    await said(/^Waiting up to 1h for PostgreSQL: the database is read-only\.\n/m)
    await administer(`alter database ${name} reset default_transaction_read_only`)
    await said(LISTENING)
  })

  test('whose host name is unknown', async t => {
    const { said } = startWaiting(t, 'postgres://user:password@no-such-host.invalid/animals')
    await said(
      /^Waiting up to 1h for PostgreSQL: the host name no-such-host\.invalid (is unknown|cannot be looked up)\.\n/m,
    )
  })

  test('whose socket does not exist yet', async t => {
    const { said } = startWaiting(t, 'postgres:///animals?host=/no/folder')
    await said(/^Waiting up to 1h for PostgreSQL: there is no socket \/no\/folder\/\.s\.PGSQL\.5432\.\n/m)
  })

  test('for the given time, and then ends with exit code 1', async t => {
    const url = `postgres://user:password@127.0.0.1:${await freePort()}/animals`
    const { code, err } = await run(t, ['migrate', '--database-url', url, '--database-wait', '1s'], {
      cwd: temporaryFolder(),
    })
    assert.equal(code, 1)
    assert.match(
      err,
      /^Waiting up to 1s for PostgreSQL: .*\nThe PostgreSQL database cannot be used: nothing listens at 127\.0\.0\.1:\d+\.\n$/,
    )
  })

  for (const [what, part, replacement, message] of [
    ['a wrong password', /:[^:@/]+@/, ':wrong@', /password authentication failed/],
    ['an unknown database', /[^/]+$/, 'no_such_database', /"no_such_database" does not exist/],
    [
      'a certificate that is missing',
      /$/,
      '?sslmode=verify-full&sslrootcert=/no/ca.pem',
      /cannot be used: cannot read \/no\/ca\.pem: the file does not exist\.\n$/,
    ],
    [
      'a server without TLS, and pg prints no warning',
      /$/,
      '?sslmode=require',
      /^The PostgreSQL database cannot be used: The server does not support SSL connections\.\n$/,
    ],
  ] as const) {
    test(`but not with ${what}`, async t => {
      const url = (await borrowDatabase(t)).replace(part, replacement)
      const { code, err } = await startWaiting(t, url).ended
      assert.equal(code, 1)
      const other = err.replace(WAITING_AFTER_TIMEOUT, '')
      assert.match(other, message)
      assert.doesNotMatch(other, WAITING)
    })
  }
})

suite('a PostgreSQL server that asks for a password', { concurrency: true }, () => {
  /** A server with a role for each method. The name of a role is the name of its method. */
  const server = shared(async t => {
    // The server would wait longer for a password than a test may take.
    const postgres = await startPostgres(['-c', 'fsync=off', '-c', 'authentication_timeout=10min'])
    t.after(() => postgres.stop())
    await administer(
      `create role scram login password 'right';
       set password_encryption = md5;
       create role md5 login password 'right';
       create role cleartext login password 'right'`,
      postgres.url,
    )
    const rules = [
      ['postgres', 'scram-sha-256'],
      ['scram', 'scram-sha-256'],
      ['md5', 'md5'],
      ['cleartext', 'password'],
    ]
    const lines = rules.map(([role, method]) => `host all ${role} all ${method}\n`)
    writeFileSync(join(postgres.data, 'pg_hba.conf'), lines.join(''))
    await administer('select pg_reload_conf()', postgres.url)
    return new URL(postgres.url).host
  })

  /** Runs a command. If it waited until the server closes the connection, the test would time out. */
  async function assertFails(t: Scope, args: readonly string[], user: string, reason: string): Promise<void> {
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, 'animals.jsonl'), '{"name":"a","categoryId":1}\n')
    const env = { DATABASE_URL: `postgres://${user}@${server()}/postgres` }
    const { code, err } = await run(t, args, { cwd, env })
    assert.equal(
      err.replace(WAITING_AFTER_TIMEOUT, ''),
      `The PostgreSQL database cannot be used: ${reason}.\n`,
    )
    assert.equal(code, 1)
  }

  const MISSING = 'the server asks for a password, and the URL (or PGPASSWORD) has none'

  for (const command of [
    'serve --port 0 --database-wait 1h',
    'migrate --database-wait 1h',
    'keys list',
    'keys create --name k',
    'import animals.jsonl',
    'export out.jsonl',
  ])
    test(`ends ${command} at once if there is none`, t =>
      assertFails(t, command.split(' '), 'scram', MISSING))

  for (const method of ['scram', 'md5', 'cleartext']) {
    test(`is understood if it asks for ${method}, and there is none or an empty one`, async t => {
      for (const user of [method, `${method}:`]) await assertFails(t, ['keys', 'list'], user, MISSING)
    })
    test(`rejects a wrong one at once if it asks for ${method}`, async t => {
      const reason = `password authentication failed for user "${method}"`
      await assertFails(t, ['keys', 'list'], `${method}:wrong`, reason)
    })
  }
})

test('a malformed PostgreSQL URL ends every command with one line and exit code 2, without the password', async t => {
  for (const command of ['serve --port 0', 'migrate', 'keys list', 'import a.jsonl', 'export b.jsonl']) {
    const { code, err } = await run(t, command.split(' '), {
      cwd: temporaryFolder(),
      env: { DATABASE_URL: 'postgres://u:HUNTER2@127.0.0.1:1/db?sslmode=requir' },
    })
    assert.equal(code, 2)
    assert.match(err, /^--database-url \(DATABASE_URL\) must be a URL whose sslmode is one of disable, .*\n$/)
    assert.doesNotMatch(err, /HUNTER2/)
  }
})

suite('the number of connections', () => {
  test('is limited by --database-connections', async t => {
    const url = await newDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url }, databaseConnections: 2 })
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    await other.query('begin; lock table animals in access exclusive mode')
    const ownConnections =
      "pg_stat_activity where application_name = 'animal-store' and datname = current_database()"
    const listings = Promise.all(Array.from({ length: 20 }, () => service.send('GET', '/v1/pets')))
    await waitUntil(
      async () => (await countRows(`${ownConnections} and wait_event_type = 'Lock'`, url)) === 2,
      {
        what: 'both connections wait for the lock',
      },
    )
    assert.equal(await countRows(ownConnections, url), 2)
    await other.end()
    await listings
    assert.equal((await service.send('GET', '/v1/pets')).status, 200)
  })

  test('must be a whole number', async t => {
    const { code, err } = await run(t, ['serve', '--database-connections', '0', '--database-wait', '2h'], {
      cwd: temporaryFolder(),
    })
    assert.equal(code, 2)
    assert.equal(
      err,
      '--database-connections (DATABASE_CONNECTIONS) must be a whole number from 1 to 999, not "0"\n' +
        '--database-wait (DATABASE_WAIT) must be a time from 0s to 1h, not "2h"\n',
    )
  })
})
