// The files in deploy/: the load balancer with real instances, the roles of the database, the script that creates the
// secrets, and the systemd unit. A suite is skipped if it needs a program that is not installed.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { run, start } from '../support/command.ts'
import { administer, freePort, startPostgres } from '../support/postgres.ts'
import { skipWithout } from '../support/programs.ts'
import { client, type Scope, sendRaw, shared, startTestService, temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const JSON_TYPE = { 'content-type': 'application/json' }

const TLS_BIND = 'bind :443 ssl crt /etc/haproxy/shop.example.pem'
/** Only root can change the user. */
const USER = / {2}user haproxy\n {2}group haproxy\n/

/** Starts HAProxy with deploy/haproxy-addresses.cfg without TLS, and these instances. It checks them on their main ports. */
async function startBalancer(t: Scope, ports: readonly number[]): Promise<string> {
  const port = await freePort()
  const text = readFileSync(join(DEPLOY, 'haproxy-addresses.cfg'), 'utf8')
    .replace(TLS_BIND, `bind 127.0.0.1:${port}`)
    .replace(USER, '')
    // The machine may allow few open files.
    .replace(/maxconn \d+/, 'maxconn 100')
    .replace(/^ {2}server .*\n/gm, '')
    .replace(
      /^ {2}default-server.*\n/m,
      line =>
        line + ports.map((each, index) => `  server s${index} 127.0.0.1:${each} port ${each}\n`).join(''),
    )
  const folder = temporaryFolder()
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  cpSync(join(DEPLOY, 'haproxy-errors'), join(folder, 'haproxy-errors'), { recursive: true })
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const address = `http://127.0.0.1:${port}`
  await waitUntil(
    () =>
      fetch(`${address}/livez`).then(
        () => true,
        () => false,
      ),
    { what: 'HAProxy listens' },
  )
  return address
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

/** Starts an instance that is ready, and calls `onData` for everything else that it receives. Returns its port. */
async function startFakeInstance(
  t: Scope,
  onData: (socket: Socket, received: string) => void,
): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      if (String(data).includes('/readyz')) socket.end(OK)
      else onData(socket, String(data))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

async function assertAnswers(address: string, status: number): Promise<void> {
  const answers = () => fetch(`${address}/livez`).then(reply => reply.status === status)
  await waitUntil(answers, { what: `the answer is ${status}` })
}

/** Checks that an answer of the load balancer itself is the error object. */
function assertError(received: string, status: number, code: string): void {
  const [head = '', body = ''] = received.split('\r\n\r\n')
  assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
  assert.match(head, /^content-type: application\/json\r$/im)
  assert.match(head, /^cache-control: no-store\r$/im)
  assert.match(head, new RegExp(`^content-length: ${body.length}\r$`, 'im'))
  const { message, ...others } = JSON.parse(body)
  assert.equal(typeof message, 'string')
  assert.deepEqual(others, { code, status })
}

suite('deploy/haproxy-addresses.cfg', { skip: skipWithout('haproxy') }, () => {
  test('differs from haproxy.cfg only in its servers, in TLS and in its user', () => {
    const settings = (file: string) =>
      readFileSync(join(DEPLOY, file), 'utf8')
        .replace(/^resolvers .*\n(?: .*\n)*/m, '')
        .replace(' resolvers docker init-addr libc,none', '')
        .replace(TLS_BIND, 'bind :8080')
        .replace(USER, '')
        .split('\n')
        .filter(line => line !== '' && !/^ *#|^ {2}server |Strict-Transport-Security/.test(line))
    assert.deepEqual(settings('haproxy-addresses.cfg'), settings('haproxy.cfg'))
  })

  test('sends a request that can be repeated to another instance if the connection breaks', async t => {
    const service = await startTestService(t)
    const port = await startFakeInstance(t, socket => socket.resetAndDestroy())
    const address = await startBalancer(t, [Number(new URL(service.address).port), port])
    await assertAnswers(address, 200)
    const { send, close } = client(address)
    t.after(close)
    for (const path of ['/readyz', '/%72eadyz']) {
      const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
      assertError(await sendRaw(address, head), 404, 'not_found')
    }
    for (let count = 0; count < 10; count++) {
      const headers = { ...JSON_TYPE, 'idempotency-key': `k${count}` }
      const body = JSON.stringify({ name: 'a', categoryId: count })
      assert.equal((await send('POST', '/v1/pets', { headers, body })).status, 201)
      assert.equal((await send('GET', '/v1/pets')).status, 200)
    }
  })

  test('sends a creation without Idempotency-Key only once, if it was delivered', async t => {
    let delivered = 0
    const port = await startFakeInstance(t, (socket, received) => {
      if (!received.startsWith('POST')) return void socket.end(OK)
      delivered++
      socket.destroy()
    })
    const address = await startBalancer(t, [port, port])
    await assertAnswers(address, 200)
    const body = '{"name":"a","categoryId":1}'
    const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
    assertError(await sendRaw(address, head + body), 502, 'unavailable')
    assert.equal(delivered, 1)
  })

  test('answers with the error object if no instance is ready', async t => {
    const address = await startBalancer(t, [await freePort()])
    await assertAnswers(address, 503)
    const received = await sendRaw(address, 'GET /v1/pets HTTP/1.1\r\nHost: a\r\n\r\n')
    assertError(received, 503, 'unavailable')
    assert.match(received, /^retry-after: 1\r$/im)
  })

  test('has an error object of the right length for every status', () => {
    for (const [, status, file = ''] of readFileSync(join(DEPLOY, 'haproxy.cfg'), 'utf8').matchAll(
      /errorfile (\d+) (\S+)/g,
    )) {
      const text = readFileSync(join(DEPLOY, file), 'utf8')
      assertError(text, Number(status), JSON.parse(text.split('\r\n\r\n')[1] ?? '').code)
    }
  })

  test('lets the service reject headers that are too large', async t => {
    const service = await startTestService(t)
    const address = await startBalancer(t, [Number(new URL(service.address).port)])
    await assertAnswers(address, 200)
    const { send, close } = client(address)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets', { headers: { 'x-large': 'x'.repeat(20_000) } })).status, 431)
  })
})

suite('deploy/postgres/roles.sql', { skip: skipWithout('psql') }, () => {
  const server = shared(async scope => {
    const postgres = await startPostgres()
    scope.after(() => postgres.stop())
    return postgres
  })

  /** Runs the file as docs/postgresql.md says. */
  async function createRoles(t: Scope, database: string, env: Record<string, string>) {
    const { hostname, port } = new URL(server().url)
    return run(t, [`--dbname=${database}`, `--file=${join(DEPLOY, 'postgres/roles.sql')}`], {
      cwd: temporaryFolder(),
      program: ['psql'],
      env: { PGHOST: hostname, PGPORT: port, PGUSER: 'postgres', PGPASSWORD: 'postgres', ...env },
    })
  }

  for (const database of ['animals', 'The "Shop" 1']) {
    test(`creates a role that can migrate ${database} and a role for the service that cannot, with any characters in their passwords`, async t => {
      const { hostname, port } = new URL(server().url)
      await administer(`create database "${database.replaceAll('"', '""')}"`, server().url)
      const password = () => `${randomBytes(6).toString('hex')} @:/?#%&'"\\$é`
      const [owner, service] = [password(), password()]
      const { code, err } = await createRoles(t, database, {
        OWNER_PASSWORD: owner,
        SERVICE_PASSWORD: service,
      })
      assert.equal(code, 0, err)
      const cwd = temporaryFolder()
      const runAs = (role: string, secret: string, ...args: readonly string[]) =>
        start(t, args, {
          cwd,
          env: {
            DATABASE_URL: `postgres://${encodeURIComponent(role)}@${hostname}:${port}/${encodeURIComponent(database)}`,
            PGPASSWORD: secret,
            ANIMAL_STORE_API_KEY: 'test-key-0123456789-abcdefghij',
          },
        })
      const refused = await runAs(database, service, 'migrate').ended
      assert.equal(refused.code, 1)
      assert.match(refused.err, /permission denied for schema public/)
      assert.equal((await runAs(`${database}_owner`, owner, 'migrate').ended).code, 0)
      const address = await runAs(database, service, 'serve', '--port', '0').said(/listening on (http:\S+)/)
      const { send, close } = client(address)
      t.after(close)
      for (const headers of [JSON_TYPE, { ...JSON_TYPE, 'idempotency-key': 'k' }]) {
        const body = '{"name":"a","categoryId":1}'
        assert.equal((await send('POST', '/v1/pets', { headers, body })).status, 201)
      }
      assert.equal((await send('GET', '/readyz')).status, 200)
      assert.equal((await runAs(database, service, 'keys', 'create', '--name', 'x').ended).code, 0)
    })
  }

  test('stops at the first error, says what is wrong, and changes nothing', async t => {
    await administer('create database first', server().url)
    await administer('create role second login', server().url)
    await administer('create database second', server().url)
    const passwords = { OWNER_PASSWORD: 'a', SERVICE_PASSWORD: 'b' }
    for (const [database, env, message] of [
      ['first', {}, /OWNER_PASSWORD is not set/],
      ['first', { OWNER_PASSWORD: 'a' }, /SERVICE_PASSWORD is not set/],
      ['second', passwords, /role "second" already exists/],
    ] as const) {
      const { code, err } = await createRoles(t, database, env)
      assert.equal(code, 3)
      assert.match(err, message)
      assert.equal(err.match(/ERROR/g)?.length, 1, err)
    }
    // Nothing of the attempts is left: these roles can be created.
    await administer('drop role second', server().url)
    for (const database of ['first', 'second'])
      assert.equal((await createRoles(t, database, passwords)).code, 0)
  })
})

suite('deploy/create-env.sh', () => {
  test('writes one file for each program, readable only by its owner, and never overwrites it', () => {
    const folder = temporaryFolder()
    const script = join(folder, 'create-env.sh')
    writeFileSync(script, readFileSync(join(DEPLOY, 'create-env.sh')), { mode: 0o755 })
    execFileSync(script)
    const pathOf = (name: string) => join(folder, 'env', `${name}.env`)
    for (const name of ['postgres', 'migrate', 'animals'])
      assert.equal(statSync(pathOf(name)).mode & 0o777, 0o600, name)
    const read = (name: string) => readFileSync(pathOf(name), 'utf8')
    const secretsOf = (text: string) => [...text.matchAll(/=(\w{48})$/gm)].map(([, secret]) => secret)
    const [superuser, owner, service] = secretsOf(read('postgres'))
    assert.deepEqual(secretsOf(read('migrate')), [owner])
    assert.deepEqual(secretsOf(read('animals'))[0], service)
    assert.equal(new Set([superuser, owner, ...secretsOf(read('animals'))]).size, 4)
    assert.throws(() => execFileSync(script, { stdio: 'ignore' }))
    assert.deepEqual(secretsOf(read('postgres')), [superuser, owner, service])
  })
})

suite('deploy/animal-store.service', {
  skip: skipWithout('systemd-analyze'),
}, () => {
  test('is a valid unit, and denies the service what it does not need', () => {
    const file = join(temporaryFolder(), 'animal-store.service')
    const unit = readFileSync(join(DEPLOY, 'animal-store.service'), 'utf8')
    // The check fails for a program that this machine does not have.
    writeFileSync(file, unit.replace('/usr/bin/node', '/bin/true'))
    execFileSync('systemd-analyze', ['verify', file])
    const report = execFileSync('systemd-analyze', ['security', '--offline=true', file], { encoding: 'utf8' })
    const [, exposure] = /Overall exposure level for .*: (\d+\.\d+)/.exec(report) ?? []
    assert.ok(Number(exposure) < 2, `exposure ${exposure}`)
  })
})
