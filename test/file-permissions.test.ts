// The permissions of the database files: other users have no access.

import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MAIN, run, serve } from './support/command.ts'
import { skipWithout } from './support/programs.ts'
import { API_KEY, client, temporaryFolder } from './support/service.ts'
import { addAnimal, openTestStore, runSql } from './support/sqlite.ts'

const env = { ANIMAL_STORE_API_KEY: API_KEY }

/** Starts a program with a umask that lets any user read and write its new files, unless it sets their mode itself. */
const OPEN_UMASK = ['sh', '-c', 'umask 000; exec "$@"', 'sh']

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

/** The modes of all files in a folder. */
function modesIn(folder: string): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map(name => [name, modeOf(join(folder, name))]))
}

/** Takes from root what lets it read and write every file. */
const LIKE_ANYBODY =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search', '--'] : []

suite('a file or a folder without permissions is named', {
  skip: LIKE_ANYBODY.length > 0 && skipWithout('setpriv'),
}, () => {
  /** Databases with one animal in folders of their own, and a backup. */
  async function folderWithDatabases(t: TestContext) {
    const cwd = temporaryFolder()
    const at = (...names: string[]) => join(cwd, ...names)
    const store = openTestStore(t, at('a.db'))
    await addAnimal(store, 'a')
    await store.close()
    for (const folder of ['closed', 'fixed']) {
      mkdirSync(at(folder))
      copyFileSync(at('a.db'), at(folder, 'b.db'))
    }
    return { cwd, at }
  }

  for (const [what, prepare, args, message] of [
    [
      'a database that cannot be read',
      at => chmodSync(at('a.db'), 0o200),
      ['keys', 'list'],
      /^The database .*a\.db cannot be opened: permission denied\.$/m,
    ],
    [
      'a database that cannot be written',
      at => chmodSync(at('a.db'), 0o400),
      ['keys', 'list'],
      /^The database .*a\.db is read-only\.$/m,
    ],
    [
      'the folder of a database',
      at => chmodSync(at('fixed'), 0o500),
      ['keys', 'list', '--database-url', 'sqlite:fixed/b.db'],
      /^The database .*b\.db cannot be opened: SQLite creates files beside it, and may not write/m,
    ],
    [
      'the folder of a backup',
      at => chmodSync(at('closed'), 0o600),
      ['restore', 'closed/b.db'],
      /^The backup closed\/b\.db cannot be opened: permission denied\.$/m,
    ],
    [
      'a backup',
      at => chmodSync(at('fixed', 'b.db'), 0o200),
      ['restore', 'fixed/b.db'],
      /^The backup fixed\/b\.db cannot be opened: permission denied\.$/m,
    ],
  ] as const satisfies [string, (at: (...names: string[]) => string) => void, string[], RegExp][])
    test(what, async t => {
      const { cwd, at } = await folderWithDatabases(t)
      prepare(at)
      const program = [...LIKE_ANYBODY, process.execPath, MAIN]
      const { code, err } = await run(t, [...args], { cwd, env: { DATABASE_URL: 'sqlite:a.db' }, program })
      for (const folder of ['closed', 'fixed']) chmodSync(at(folder), 0o700)
      assert.equal(code, 1)
      assert.match(err, message)
    })
})

suite('the files of a SQLite database', () => {
  const { execPath } = process
  const program = [...OPEN_UMASK, execPath, fileURLToPath(new URL('../bin/animal-store.js', import.meta.url))]

  test('are created for the user of the service only, and so are their folders', async t => {
    const cwd = temporaryFolder()
    const path = join('new', 'folder', 'animals.db')
    const { address } = await serve(t, ['--database-url', `sqlite:${path}`], { cwd, env, program })
    const { send, close } = client(address)
    t.after(close)
    assert.equal((await send('GET', '/readyz')).status, 200)
    assert.deepEqual(modesIn(join(cwd, 'new', 'folder')), {
      'animals.db': '600',
      'animals.db-shm': '600',
      'animals.db-wal': '600',
    })
    assert.deepEqual(modesIn(cwd), { new: '700' })
    assert.deepEqual(modesIn(join(cwd, 'new')), { folder: '700' })
  })

  test('that exist are closed to other users with a notice, and so is the default folder, but no other folder', async t => {
    const cwd = temporaryFolder()
    for (const folder of ['data', 'other']) {
      mkdirSync(join(cwd, folder))
      const path = join(cwd, folder, 'production.db')
      const store = openTestStore(t, path)
      await addAnimal(store, 'a')
      for (const file of readdirSync(join(cwd, folder))) chmodSync(join(cwd, folder, file), 0o644)
      chmodSync(join(cwd, folder), 0o755)
      const { code, err } = await run(t, ['keys', 'list', '--database-url', `sqlite:${path}`], { cwd, env })
      assert.equal(code, 0)
      assert.match(err, /Other users had access to .*production\.db\. Its mode is 0600 now\./)
      assert.equal(modeOf(join(cwd, folder)), folder === 'data' ? '700' : '755')
      assert.deepEqual(Object.values(modesIn(join(cwd, folder))), ['600', '600', '600'])
      const again = await run(t, ['keys', 'list', '--database-url', `sqlite:${path}`], { cwd, env })
      assert.doesNotMatch(again.err, /Other users/)
    }
  })

  test('are closed to other users with a notice by the commands that copy them too', async t => {
    const cwd = temporaryFolder()
    const path = join(cwd, 'a.db')
    await addAnimal(openTestStore(t, path), 'a')
    for (const args of [['export'], ['backup', 'backup.db']]) {
      chmodSync(path, 0o644)
      const { code, err } = await run(t, [...args, '--database-url', `sqlite:${path}`], { cwd, env })
      assert.equal(code, 0)
      assert.match(err, /Other users had access to .*a\.db\. Its mode is 0600 now\./)
      assert.equal(modeOf(path), '600')
    }
    chmodSync(join(cwd, 'backup.db'), 0o644)
    const other = join(cwd, 'b.db')
    copyFileSync(join(cwd, 'backup.db'), other)
    const restored = await run(t, ['restore', 'backup.db', '--database-url', `sqlite:${other}`], { cwd, env })
    assert.equal(restored.code, 0)
    assert.match(
      restored.err,
      /Other users had access to .*b\.db\.before-restore-\w+\. Its mode is 0600 now\./,
    )
    assert.equal(modeOf(other), '600')
  })

  test('that were rejected keep their mode', t => {
    const path = join(temporaryFolder(), 'a.db')
    runSql(path, 'create table songs (title text)')
    chmodSync(path, 0o644)
    assert.throws(() => openTestStore(t, path), /belongs to another program/)
    assert.equal(modeOf(path), '644')
  })
})
