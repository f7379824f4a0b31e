// The serve command: the first run, databases that cannot be used, and the address it listens on.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { hasKeyFormat } from '../src/api-key.ts'
import { run, serve } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { skipWithout } from './support/programs.ts'
import { client, startTestService, temporaryFolder } from './support/service.ts'

suite('serve', { concurrency: 2 }, () => {
  for (const [environment, prefix] of [
    ['production', 'as_live_'],
    ['staging', 'as_test_'],
  ] as const) {
    test(`the first run in ${environment} creates the database and a key, and prints the key once`, async t => {
      const cwd = temporaryFolder()
      const args = environment === 'staging' ? ['--environment', 'staging'] : []
      const first = await serve(t, args, { cwd })
      const key = await first.said(new RegExp(`(${prefix}\\w{38})`))
      assert.ok(hasKeyFormat(key, environment))
      const command = await first.said(/(curl .*)/)
      assert.equal(command, `curl -H 'Authorization: Bearer ${key}' ${first.address}/v1/pets`)
      const { send, close } = client(first.address, key)
      t.after(close)
      assert.equal((await send('GET', '/v1/pets')).text, '[]')
      assert.deepEqual(readdirSync(cwd), ['data'])
      assert.ok(existsSync(join(cwd, `data/${environment}.db`)))
      first.child.kill('SIGTERM')
      const ended = await first.ended
      assert.equal(ended.code, 0)
      assert.ok(!ended.out.includes(key), 'the log contains the key')
      for (const file of readdirSync(join(cwd, 'data'))) {
        assert.ok(!readFileSync(join(cwd, 'data', file), 'latin1').includes(key), `${file} contains the key`)
      }

      const second = await serve(t, args, { cwd })
      const again = client(second.address, key)
      t.after(again.close)
      assert.equal((await again.send('GET', '/v1/pets')).text, '[]')
      assert.ok(!second.printed.err.includes(prefix))
    })
  }

  test('the printed curl command gets []', { skip: skipWithout('curl') }, async t => {
    const { said } = await serve(t, [], { cwd: temporaryFolder() })
    const command = await said(/(curl .*)/)
    const { out } = await run(t, ['-c', `${command} -s`], {
      cwd: temporaryFolder(),
      program: ['sh'],
    })
    assert.equal(out, '[]')
  })

  test('the printed curl command quotes the brackets of an IPv6 address', async t => {
    const { address, said } = await serve(t, ['--host', '::1'], { cwd: temporaryFolder() })
    assert.ok((await said(/(curl .*)/)).endsWith(` '${address}/v1/pets'`))
  })

  test('serves from memory without creating files', async t => {
    const cwd = temporaryFolder()
    const { address, said } = await serve(t, ['--database-url', 'sqlite::memory:'], { cwd })
    const { send, close } = client(address, await said(/(as_live_\w{38})/))
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    assert.deepEqual(readdirSync(cwd), [])
  })

  test('a file that is not a database makes every command exit with 1 and one line, and stays unchanged', async t => {
    const cwd = temporaryFolder()
    const path = join(cwd, 'a.db')
    writeFileSync(path, 'hello'.repeat(1000))
    const before = readFileSync(path)
    const flags = ['--database-url', `sqlite:${path}`]
    for (const { code, out, err } of [
      await run(t, ['serve', '--port', '0', ...flags], { cwd }),
      await run(t, ['keys', 'list', ...flags], { cwd }),
      await runInProcess(['keys', 'create', '--name', 'x', ...flags], {}),
    ]) {
      assert.equal(code, 1)
      assert.match(
        err,
        /^The database .* cannot be opened: file is not a database\. Check the path, or restore a backup\.\n$/,
      )
      assert.equal(out, '')
    }
    assert.ok(before.equals(readFileSync(path)))
    assert.deepEqual(readdirSync(cwd), ['a.db'])
  })

  test('exits with 1 and one line if the database stays locked, and creates no key', async t => {
    const cwd = temporaryFolder()
    const env = { DATABASE_URL: `sqlite:${join(cwd, 'a.db')}` }
    await runInProcess(['migrate'], env)
    const other = new DatabaseSync(join(cwd, 'a.db'))
    t.after(() => other.close())
    other.exec('begin immediate')
    const { code, err } = await run(t, ['serve', '--port', '0', '--database-url', 'sqlite:a.db'], { cwd })
    assert.equal(code, 1)
    assert.equal(err, 'The database cannot be used right now: database is locked.\n')
    other.exec('rollback')
    const { out } = await runInProcess(['keys', 'list', '--json'], env)
    assert.deepEqual(JSON.parse(out), [])
  })

  test('treats a database path that looks like a URI as a file name', async t => {
    const cwd = temporaryFolder()
    const { address, said } = await serve(t, ['--database-url', 'sqlite:file:x.db'], { cwd })
    const { send, close } = client(address, await said(/(as_live_\w{38})/))
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    assert.ok(existsSync(join(cwd, 'file:x.db')))
  })

  test('exits with 1 and one line if the port is taken, and creates nothing', async t => {
    const blocker = createServer().listen(0, '127.0.0.1')
    t.after(() => blocker.close())
    await new Promise(resolve => blocker.once('listening', resolve))
    const { port } = blocker.address() as { port: number }
    const cwd = temporaryFolder()
    const { code, err } = await run(t, ['serve', '--port', String(port)], { cwd })
    assert.equal(code, 1)
    assert.equal(
      err,
      `Cannot listen on 127.0.0.1, port ${port}: the port is taken. Choose another one with --port.\n`,
    )
    assert.deepEqual(readdirSync(cwd), [])
  })

  test('exits with 1 and one line if the host name is unknown', async t => {
    const args = [
      'serve',
      '--host',
      'no-such-host.invalid',
      '--port',
      '0',
      '--database-url',
      'sqlite::memory:',
    ]
    const { code, err } = await run(t, args, { cwd: temporaryFolder() })
    assert.equal(code, 1)
    assert.match(
      err,
      /^Cannot listen on no-such-host\.invalid, port 0: the host name no-such-host\.invalid (is unknown|cannot be looked up)\.\n$/,
    )
  })

  for (const [host, shown] of [
    ['0.0.0.0', '127.0.0.1'],
    ['::', '[::1]'],
    ['::1', '[::1]'],
    ['localhost', 'localhost'],
  ] as const) {
    test(`--host ${host} gives an address that clients can connect to`, async t => {
      const { address } = await startTestService(t, { host })
      assert.equal(new URL(address).hostname, shown)
      assert.equal((await fetch(`${address}/livez`)).status, 200)
    })
  }
})
