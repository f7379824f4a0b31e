// What commands say and leave behind: files they create, files they refuse, keys that cannot be shown, and Ctrl+C.

import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { MAIN, run, start } from '../support/command.ts'
import { runInProcess } from '../support/in-process.ts'
import { freePort } from '../support/postgres.ts'
import { temporaryFolder } from '../support/service.ts'
import { lockForWriting } from '../support/sqlite.ts'
import { waitUntil } from '../support/wait.ts'

/** Runs commands in this process, on `animals.db` in a new folder. */
function useFolder() {
  const folder = temporaryFolder()
  const database = join(folder, 'animals.db')
  const env = { DATABASE_URL: `sqlite:${database}` }
  return {
    folder,
    database,
    env,
    at: (name: string) => join(folder, name),
    command: (...args: string[]) => runInProcess(args, env),
    /** Writes a file and returns its path. */
    write(name: string, text: string): string {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    },
  }
}

const INTERRUPT = new URL('../support/interrupt-at.js', import.meta.url).href

const TWO_ANIMALS = '{"name":"Bella","categoryId":7}\n{"name":"Rex","categoryId":8,"status":"sold"}\n'

suite('a command that creates a database says so, and one that writes names it', () => {
  test('import, keys and migrate', async t => {
    const { command, folder, database, write } = useFolder()
    const file = write('two.jsonl', TWO_ANIMALS)
    const imported = await command('import', file)
    assert.match(
      imported.err,
      /^Created the database .*animals\.db\.\n2 animals imported into .*animals\.db in /,
    )
    assert.doesNotMatch((await command('import', file)).err, /Created the database/)
    assert.match((await command('keys', 'create', '--name', 'x')).err, / for production in .*animals\.db\. /)
    const { err } = await run(t, ['migrate'], { cwd: folder, env: { DATABASE_URL: 'sqlite:other.db' } })
    assert.match(err, new RegExp(`^Created the database ${join(realpathSync(folder), 'other.db')}\\.$`, 'm'))
    assert.equal((await command('migrate')).err, `The schema of ${database} is up to date.\n`)
  })

  test('a command that only reads creates none', async () => {
    const { command, database } = useFolder()
    for (const args of [['export'], ['keys', 'list'], ['keys', 'revoke', 'key_x']]) {
      assert.equal((await command(...args)).code, 1)
      assert.equal(existsSync(database), false)
    }
  })
})

test('import --from-line beyond the file creates no database', async () => {
  const { command, database, write } = useFolder()
  const { code, err } = await command('import', write('two.jsonl', TWO_ANIMALS), '--from-line', '3')
  assert.deepEqual(
    [code, err],
    [1, '--from-line 3 is beyond the file, which has 2 lines.\nNothing was stored.\n'],
  )
  assert.equal(existsSync(database), false)
})

suite('import --dry-run', () => {
  test('checks the whole file, stores nothing, and says what it would do', async () => {
    const { command, database, write } = useFolder()
    const file = write('two.jsonl', TWO_ANIMALS)
    const first = await command('import', file, '--dry-run')
    assert.deepEqual(
      [first.code, first.err],
      [0, `An import would add 2 animals to the new database ${database}. Nothing was stored.\n`],
    )
    assert.equal(existsSync(database), false)
    assert.equal((await command('import', file)).code, 0)
    assert.match((await command('import', file, '--dry-run')).err, /^An import would add 2 animals to \//)
    assert.equal((await command('export')).out.split('\n').length, 3)
  })

  test('reports every invalid line', async () => {
    const { command, write } = useFolder()
    const file = write('some.csv', 'name,categoryId\nBella,7\nMax,x\n,8\nRex,9\n')
    const strict = await command('import', file, '--dry-run')
    assert.equal(strict.code, 1)
    assert.match(
      strict.err,
      /^Line 3: categoryId must be .*\nLine 4: name must not be blank \(found ""\)\.\n2 lines invalid, 2 animals valid\. /,
    )
    const lenient = await command('import', file, '--dry-run', '--skip-invalid')
    assert.equal(lenient.code, 0)
    assert.match(
      lenient.err,
      /^An import would add 2 animals to .*, 2 lines skipped\. Nothing was stored\.$/m,
    )
  })

  test('fails if no line is valid, as the import does', async () => {
    const { command, write } = useFolder()
    const file = write('invalid.csv', 'name,categoryId\n,8\nMax,x\n')
    const dry = await command('import', file, '--dry-run', '--skip-invalid')
    assert.equal(dry.code, 1)
    assert.match(
      dry.err,
      /^An import would add no animal: 2 lines invalid, and no other\. Nothing was stored\.$/m,
    )
    const { code, err } = await command('import', file, '--skip-invalid')
    assert.equal(code, 1)
    assert.match(err, /^No animal was imported into .*: 2 lines invalid, and no other\.$/m)
  })
})

suite('the name of a file', () => {
  test('decides the format, in both directions', async () => {
    const { command, at, write } = useFolder()
    await command('import', write('two.ndjson', TWO_ANIMALS))
    await command('import', write('tabs.tsv', 'name\tcategoryId\na,b;c\t9\n'))
    const expected = {
      'out.csv': 'id,name,categoryId,status\n1,Bella,7,\n2,Rex,8,sold\n3,"a,b;c",9,\n',
      'out.tsv': 'id\tname\tcategoryId\tstatus\n1\tBella\t7\t\n2\tRex\t8\tsold\n3\ta,b;c\t9\t\n',
      'out.ndjson':
        '{"id":1,"name":"Bella","categoryId":7}\n{"id":2,"name":"Rex","categoryId":8,"status":"sold"}\n{"id":3,"name":"a,b;c","categoryId":9}\n',
    }
    for (const [name, text] of Object.entries(expected)) {
      const { code, err } = await command('export', at(name))
      assert.equal(code, 0, err)
      assert.equal(readFileSync(at(name), 'utf8'), text)
      const copy = { DATABASE_URL: `sqlite:${at(`${name}.db`)}` }
      assert.match((await runInProcess(['import', at(name)], copy)).err, /^3 animals imported/m)
    }
  })

  test('is refused if no format has it, with what is supported', async () => {
    const { command, at, database } = useFolder()
    for (const [name, wayOut] of [
      ['a.gz', '; unpack it first'],
      ['a.csv.gz', '; unpack it first'],
      ['a.xlsx', '; save the sheet as CSV'],
      ['a.json', '; write one object per line'],
      ['a.txt', ''],
      ['A.XLS', '; save the sheet as CSV'],
    ] as const) {
      for (const direction of ['import', 'export']) {
        const { code, err } = await command(direction, at(name), '--format', 'csv')
        const message = 'must end in .csv, .tsv, .jsonl or .ndjson: no other format is supported'
        assert.equal(code, 2)
        assert.ok(err.startsWith(`${at(name)} ${message}${wayOut}`), err)
      }
      assert.equal(existsSync(at(name)) || existsSync(database), false)
    }
  })

  test('columns and members that an animal does not have are named', async () => {
    const { command, write } = useFolder()
    const file = write('typo.csv', 'id,name,categoryId,stauts,\n1,Bob,4,sold,\n')
    assert.match(
      (await command('import', file, '--dry-run')).err,
      /^The column "id" is left out: .*\nIgnored columns: "stauts"\.\nAn import would add 1/,
    )
    const lines = '{"id":1,"name":"Bob","categoryId":4,"stauts":"sold"}\n'
    assert.match(
      (await command('import', write('typo.jsonl', lines.repeat(2)), '--dry-run')).err,
      /^The member "id" is left out, from line 1 on: .*\nIgnored member, from line 1 on: "stauts"\.\nAn import would add 2/,
    )
  })

  test('must fit --format', async () => {
    const { command } = useFolder()
    const { code, err } = await command('export', 'animals.csv', '--format', 'jsonl')
    assert.deepEqual([code, err], [2, '--format jsonl contradicts the ending of animals.csv\n'])
  })
})

suite('a key that cannot be shown is not valid', { concurrency: 2 }, () => {
  const REDIRECTED = ['sh', '-c', '"$@" > /dev/full', 'sh', process.execPath, MAIN]

  async function statesIn(folder: string): Promise<string[]> {
    const env = { DATABASE_URL: `sqlite:${join(folder, 'animals.db')}` }
    const { out } = await runInProcess(['keys', 'list', '--json'], env)
    return JSON.parse(out).map(({ state }: { state: string }) => state)
  }

  test('keys create revokes it, and keys rotate stores nothing', async t => {
    const { folder, command } = useFolder()
    const options = { cwd: folder, env: { DATABASE_URL: 'sqlite:animals.db' }, program: REDIRECTED }
    const created = await run(t, ['keys', 'create', '--name', 'x'], options)
    assert.equal(created.code, 1)
    assert.match(
      created.err,
      /^Cannot write the output: the disk is full\. key_\w+ is revoked now, because nobody has seen the key\.$/m,
    )
    assert.deepEqual(await statesIn(folder), ['revoked'])

    const { id } = JSON.parse((await command('keys', 'create', '--name', 'y', '--json')).out)
    assert.equal((await run(t, ['keys', 'rotate', id], options)).code, 1)
    assert.deepEqual(await statesIn(folder), ['revoked', 'active'])
    const [, old] = JSON.parse((await command('keys', 'list', '--json')).out)
    assert.equal(old.expiresAt, null)
    assert.equal((await command('keys', 'rotate', id)).code, 0)
  })

  for (const redirection of ['>&-', '> /dev/null'])
    test(`keys create revokes it with ${redirection}`, async t => {
      const folder = temporaryFolder()
      const { code, err } = await run(t, ['keys', 'create', '--name', 'x'], {
        cwd: folder,
        env: { DATABASE_URL: 'sqlite:animals.db' },
        program: ['sh', '-c', `"$@" ${redirection}`, 'sh', process.execPath, MAIN],
      })
      assert.equal(code, 1)
      assert.match(err, /^The output is closed or goes to \/dev\/null\. key_\w+ is revoked now/m)
      assert.deepEqual(await statesIn(folder), ['revoked'])
    })

  for (const workers of ['1', '2']) {
    test(`serve revokes it on the first run with --workers ${workers}, and exits with 1`, async t => {
      const folder = temporaryFolder()
      const { code } = await run(
        t,
        ['serve', '--port', '0', '--workers', workers, '--shutdown-delay', '0s'],
        {
          cwd: folder,
          env: { DATABASE_URL: 'sqlite:animals.db' },
          program: ['sh', '-c', '"$@" 2> /dev/full', 'sh', process.execPath, MAIN],
        },
      )
      assert.equal(code, 1)
      assert.deepEqual(await statesIn(folder), ['revoked'])
    })
  }
})

suite('the first key', { concurrency: 2 }, () => {
  /** A service that listens, and waits for the lock of the database to create its first key. */
  async function startLocked(t: TestContext, workers: string) {
    const { folder, command, database, env } = useFolder()
    await command('migrate')
    const unlock = lockForWriting(t, database)
    const address = `http://127.0.0.1:${await freePort()}`
    const args = ['serve', '--port', new URL(address).port, '--workers', workers, '--shutdown-delay', '0s']
    const running = start(t, args, { cwd: folder, env, isGroup: true })
    const readiness = async () => {
      const reply = await fetch(`${address}/readyz`)
      return (await reply.json()) as { status: unknown; message?: string }
    }
    const isWaiting = () => running.printed.out.split('"listening on').length === Number(workers) + 1
    await waitUntil(isWaiting, { what: 'all processes listen' })
    return { ...running, command, unlock, readiness }
  }

  for (const workers of ['1', '2']) {
    test(`is printed before /readyz answers 200, with --workers ${workers}`, async t => {
      const { readiness, printed, unlock, said } = await startLocked(t, workers)
      assert.equal((await readiness()).message, 'The service is starting.')
      assert.doesNotMatch(printed.err, /as_live_/)
      unlock()
      await said(/^ {2}as_live_\w{38}$/m)
      await waitUntil(async () => (await readiness()).status === 'ok', { what: 'the service is ready' })
    })

    test(`is printed if a signal arrives while it is created, with --workers ${workers}`, async t => {
      const { child, ended, unlock, command } = await startLocked(t, workers)
      child.kill('SIGTERM')
      unlock()
      const { code, err } = await ended
      assert.equal(code, 0, err)
      assert.match(err, /^ {2}as_live_\w{38}$/m)
      assert.equal(JSON.parse((await command('keys', 'list', '--json')).out)[0].state, 'active')
    })
  }
})

suite('Ctrl+C', { concurrency: 2 }, () => {
  /** A folder with a database, a backup of it, and what is in the folder then. */
  async function startInterrupted(
    t: TestContext,
    at: string,
    args: readonly string[],
    { redirection = '', mode = 0o600 } = {},
  ) {
    const { folder, database, env, command, write } = useFolder()
    assert.equal((await command('import', write('two.jsonl', TWO_ANIMALS))).code, 0)
    assert.equal((await command('backup', join(folder, 'copy.db'))).code, 0)
    chmodSync(database, mode)
    const before = readdirSync(folder)
    const program = [
      'sh',
      '-c',
      `exec "$@" ${redirection}`,
      'sh',
      process.execPath,
      '--import',
      INTERRUPT,
      MAIN,
    ]
    const { code, err } = await run(t, args, { cwd: folder, env: { ...env, INTERRUPT_AT: at }, program })
    return { code, err, left: readdirSync(folder).filter(name => !before.includes(name)) }
  }

  for (const [when, at, args, message] of [
    ['export creates its file', 'promises.open', ['export', 'all.jsonl'], 'No file was written.'],
    ['backup begins to copy', 'mkdtempSync', ['backup', 'other.db'], 'No backup was written.'],
    ['backup checks its copy, which blocks', 'fsyncSync', ['backup', 'other.db'], 'No backup was written.'],
    ['restore begins to copy', 'mkdtempSync', ['restore', 'copy.db'], 'Nothing was restored.'],
    ['restore checks its copy, which blocks', 'fsyncSync', ['restore', 'copy.db'], 'Nothing was restored.'],
  ] as const) {
    test(`when ${when}: says what was done, leaves no file, and exits with 130`, async t => {
      assert.deepEqual(await startInterrupted(t, at, args), {
        code: 130,
        err: `Stopped. ${message}\n`,
        left: [],
      })
    })
  }

  test('when export writes to a file on standard output: exits with 130', async t => {
    const { code, err } = await startInterrupted(t, 'writeSync', ['export'], { redirection: '> all.jsonl' })
    assert.deepEqual([code, err], [130, 'Stopped. The export is incomplete.\n'])
  })

  for (const [args, message] of [
    [['backup', 'other.db'], /^Backed up 2 animals/m],
    [['restore', 'copy.db'], /^Restored 2 animals/m],
  ] as const) {
    test(`when ${args[0]} has done its work: it says so`, async t => {
      // The mode of the database is corrected after the work, and before the last message.
      const { err } = await startInterrupted(t, 'chmodSync', args, { mode: 0o644 })
      assert.match(err, message)
    })
  }
})

suite('nothing that a user can cause prints a stack trace', { concurrency: 2 }, () => {
  const isRoot = process.getuid?.() === 0

  test('a folder that may not be entered', { skip: isRoot && 'root may enter every folder' }, async t => {
    const { folder, at } = useFolder()
    mkdirSync(at('closed'))
    writeFileSync(at('closed/animals.db'), '')
    chmodSync(at('closed'), 0o000)
    const env = { DATABASE_URL: `sqlite:${at('closed/animals.db')}` }
    try {
      for (const args of [['serve', '--port', '0'], ['keys', 'list'], ['export'], ['backup', at('b.db')]]) {
        const { code, err } = await run(t, args, { cwd: folder, env })
        assert.equal(code, 1)
        assert.doesNotMatch(err, /\n\s+at |EACCES/)
        assert.match(err, /closed\/animals\.db cannot be \w+: permission denied/)
      }
    } finally {
      // Otherwise the folder could not be deleted.
      chmodSync(at('closed'), 0o700)
    }
  })

  for (const [how, redirection] of [
    ['full', '"$@" > /dev/full'],
    ['a closed pipe', '{ "$@"; echo "exit $?" >&2; } | true'],
  ] as const) {
    test(`standard output that is ${how}`, async t => {
      const { folder, command, write } = useFolder()
      await command('import', write('two.jsonl', TWO_ANIMALS))
      await command('keys', 'create', '--name', 'x')
      for (const args of [
        ['--help'],
        ['--version'],
        ['keys', 'list'],
        ['keys', 'list', '--json'],
        ['export'],
        ['openapi'],
      ]) {
        const { err } = await run(t, args, {
          cwd: folder,
          env: { DATABASE_URL: 'sqlite:animals.db' },
          program: ['sh', '-c', redirection, 'sh', process.execPath, MAIN],
        })
        assert.doesNotMatch(err, /\n\s+at |EPIPE|ENOSPC|node:/, args.join(' '))
      }
    })
  }
})
