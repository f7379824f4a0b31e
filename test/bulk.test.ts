// Import and export: whole catalogues through files and pipes, with nothing lost on the way.

import assert from 'node:assert/strict'
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { type CommandOptions, MAIN, run, start } from './support/command.ts'
import { borrowDatabase } from './support/postgres.ts'
import { temporaryFolder } from './support/service.ts'

const AWKWARD_NAMES = [
  'Bella',
  'comma, comma',
  'quote " and "" more',
  '"quoted"',
  'line\nbreak',
  'line\r\nbreak',
  'ends in a return\r',
  ' leading and trailing ',
  '\ttab',
  "<img src=x onerror='x'>",
  'Ünïcode 🐈‍⬛ \u2028 separator',
  '\ufeffmark',
  '=1+1',
  'back\\slash \\n \\"',
  'x'.repeat(1_000),
]

const CATEGORIES = ['0', '9223372036854775807', '-9223372036854775808', '9007199254740993']

const ANIMALS = AWKWARD_NAMES.map((name, index) => {
  const status = ['available', 'pending', 'sold', undefined][index % 4]
  const ending = status === undefined ? '' : `,"status":"${status}"`
  return `{"id":${index + 1},"name":${JSON.stringify(name)},"categoryId":${CATEGORIES[index % 4]}${ending}}\n`
}).join('')

const DATABASES: Record<string, (t: TestContext, folder: string, name: string) => Promise<string>> = {
  SQLite: async (_t, folder, name) => `sqlite:${join(folder, `${name}.db`)}`,
  PostgreSQL: t => borrowDatabase(t),
}

for (const [database, open] of Object.entries(DATABASES)) {
  suite(`bulk in and out, on ${database}`, () => {
    async function workshop(t: TestContext) {
      const folder = temporaryFolder(t)
      const url = await open(t, folder, 'one')
      const command = (args: readonly string[], options: Partial<CommandOptions> = {}, at = url) =>
        run(t, args, { cwd: folder, env: { DATABASE_URL: at }, ...options })
      return {
        folder,
        url,
        command,
        another: () => open(t, folder, 'another'),
        exported: async () => (await command(['export'])).out,
      }
    }

    for (const format of ['jsonl', 'csv']) {
      test(`what is exported as ${format} and imported again is the same, digit for digit`, async t => {
        const { command, another, folder } = await workshop(t)
        const imported = await command(['import', '-'], { input: ANIMALS })
        assert.equal(imported.code, 0, imported.err)
        assert.match(imported.err, /^15 animals imported in /m)
        const file = join(folder, `animals.${format}`)
        const written = await command(['export', file])
        assert.match(written.err, /^15 animals exported in /m)
        assert.equal(written.out, '')
        const empty = await another()
        assert.equal((await command(['import', file], {}, empty)).code, 0)
        assert.equal((await command(['export'], {}, empty)).out, ANIMALS)
        assert.equal(existsSync(`${file}.unfinished`), false)
      })
    }

    test('a bad line is named, and nothing of its batch is stored', async t => {
      const { command, exported } = await workshop(t)
      const input = lines(2_500).with(1_699, '{"name":" ","categoryId":1}').join('\n')
      const { code, err } = await command(['import', '-'], { input })
      assert.equal(code, 1)
      assert.match(
        err,
        /^Line 1700: name must not be blank\.\n1000 animals stored\. Resume with --from-line 1001\.$/m,
      )
      assert.equal((await exported()).trimEnd().split('\n').length, 1_000)
    })

    test('an import goes on from the line it is told, and then everything is there once', async t => {
      const { command, exported } = await workshop(t)
      const all = lines(2_500)
      await command(['import', '-'], { input: all.with(1_699, 'nonsense').join('\n') })
      const { err } = await command(['import', '-', '--from-line', '1001'], { input: all.join('\n') })
      assert.match(err, /^1500 animals imported/m)
      const names = (await exported())
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).name)
      assert.deepEqual(
        names,
        all.map(line => JSON.parse(line).name),
      )
    })

    test('with --skip-invalid bad lines are named and the others are stored', async t => {
      const { command, exported } = await workshop(t)
      const input = [
        '{"name":"a","categoryId":1}',
        'nonsense',
        '{"name":"b"}',
        '',
        '{"name":"c","categoryId":3}',
      ]
      const { code, err } = await command(['import', '--skip-invalid', '-'], { input: input.join('\n') })
      assert.equal(code, 0)
      assert.match(err, /^Line 2: the line must be a JSON object\.\nLine 3: categoryId must be an integer/m)
      assert.match(err, /^2 animals imported in .* s, 2 lines skipped\.$/m)
      assert.deepEqual((await exported()).match(/"name":"\w"/g), ['"name":"a"', '"name":"c"'])
    })

    test('an import that is interrupted says what was stored and how to go on', async t => {
      const { folder, url, exported } = await workshop(t)
      const { child, ended, printed } = start(t, ['import', '-'], {
        cwd: folder,
        env: { DATABASE_URL: url },
        input: lines(3_200).join('\n'),
        isInputOpen: true,
      })
      while ((await count(exported)) < 3_000) assert.equal(child.exitCode, null, printed.err)
      child.kill('SIGINT')
      const { err } = await ended
      assert.match(err, /^Stopped\.\n3000 animals stored\. Resume with --from-line 3001\.$/m)
      assert.equal(await count(exported), 3_000)
    })
  })
}

suite('the formats', () => {
  async function importing(t: TestContext, args: readonly string[], input: string | Buffer) {
    const options = { cwd: temporaryFolder(t), env: { DATABASE_URL: 'sqlite:animals.db' } }
    const ended = await run(t, ['import', '-', ...args], { ...options, input })
    const { out } = await run(t, ['export'], options)
    return { ...ended, stored: out }
  }

  const wellFormed: [string, string[], string | Buffer, string][] = [
    [
      'columns in another order, and others between',
      ['--format', 'csv'],
      'status,x,categoryId,name\nsold,1,7,Bella\n',
      '{"id":1,"name":"Bella","categoryId":7,"status":"sold"}\n',
    ],
    [
      'no status column',
      ['--format', 'csv'],
      'name,categoryId\nBella,7',
      '{"id":1,"name":"Bella","categoryId":7}\n',
    ],
    [
      'a byte order mark and returns, as spreadsheets write',
      ['--format', 'csv'],
      '\ufeffname,categoryId\r\nBella,7\r\n',
      '{"id":1,"name":"Bella","categoryId":7}\n',
    ],
    [
      'JSON Lines with returns and empty lines',
      [],
      '\r\n{"name":"Bella","categoryId":1e2}\r\n\n',
      '{"id":1,"name":"Bella","categoryId":100}\n',
    ],
    ['nothing at all', [], '', ''],
    ['only a head', ['--format', 'csv'], 'name,categoryId\n', ''],
    [
      'an empty first field',
      ['--format', 'csv'],
      'status,name,categoryId\n,Bella,7\n',
      '{"id":1,"name":"Bella","categoryId":7}\n',
    ],
    [
      'a field that is all quotes',
      ['--format', 'csv'],
      'name,categoryId\n"""""",7\n',
      '{"id":1,"name":"\\"\\"","categoryId":7}\n',
    ],
  ]
  for (const [name, args, input, expected] of wellFormed) {
    test(`${name}: read`, async t => {
      const { code, stored, err } = await importing(t, args, input)
      assert.equal(code, 0, err)
      assert.equal(stored, expected)
    })
  }

  const malformed: [string, string[], string | Buffer, RegExp][] = [
    [
      'a head without a name',
      ['--format', 'csv'],
      'nom,categoryId\nBella,7\n',
      /first line must name the columns, name and categoryId once/,
    ],
    [
      'a field too many',
      ['--format', 'csv'],
      'name,categoryId\nBella,7,8\n',
      /^Line 2: the line must have 2 fields, not 3\./m,
    ],
    [
      'a quote that is never closed',
      ['--format', 'csv'],
      'name,categoryId\n"Bella,7\nMax,8\n',
      /^Lines? 2.*: the line must be well-formed CSV/m,
    ],
    [
      'a quote in the middle',
      ['--format', 'csv'],
      'name,categoryId\nBel"la",7\n',
      /^Lines? 2.*: the line must be well-formed CSV/m,
    ],
    [
      'a number that is none',
      ['--format', 'csv'],
      'name,categoryId\nBella,7.5\n',
      /^Line 2: categoryId must be an integer/m,
    ],
    [
      'a status that is none',
      ['--format', 'csv'],
      'name,categoryId,status\nBella,7,lost\n',
      /^Line 2: status must be one of/m,
    ],
    ['bytes that are not UTF-8', [], Buffer.from([0x7b, 0xff, 0x7d]), /^Line 1: the line must be UTF-8\./m],
    [
      'a line without end',
      [],
      `{"name":"${'x'.repeat(300_000)}","categoryId":1}`,
      /^Line 1: this has more than 256 KiB/m,
    ],
    ['an array', [], '[1]', /^Line 1: The body must be a JSON object/m],
    [
      'a leading zero',
      ['--format', 'csv'],
      'name,categoryId\nBella,007\n',
      /^Line 2: categoryId must be an integer/m,
    ],
    [
      'a column twice',
      ['--format', 'csv'],
      'name,categoryId,status,status\nBella,7,sold,sold\n',
      /status at most once/,
    ],
  ]
  for (const [name, args, input, expected] of malformed) {
    test(`${name}: refused, and nothing is stored`, async t => {
      const { code, err, stored } = await importing(t, args, input)
      assert.equal(code, 1)
      assert.match(err, expected)
      assert.equal(stored, '')
    })
  }

  test('a stray quote spoils its own line only', async t => {
    const input = 'name,categoryId\n12"" python,7\nBella,8\n"never closed,9\nKim,10\n'
    const { err, stored } = await importing(t, ['--format', 'csv', '--skip-invalid'], input)
    assert.match(
      err,
      /^Line 2: the line must be well-formed CSV.*\nLines 4 to 5: the line must be well-formed CSV/m,
    )
    assert.equal(stored, '{"id":1,"name":"Bella","categoryId":8}\n')
  })

  test('--from-line steps over a record that is never closed', async t => {
    const input = 'name,categoryId\n"never closed,9\nKim,10\n'
    const { code, stored } = await importing(t, ['--format', 'csv', '--from-line', '3'], input)
    assert.equal(code, 0)
    assert.equal(stored, '{"id":1,"name":"Kim","categoryId":10}\n')
  })

  test('an export to a link is written to where it leads', async t => {
    const cwd = temporaryFolder(t)
    const env = { DATABASE_URL: 'sqlite:animals.db' }
    await run(t, ['import', '-'], { cwd, env, input: lines(1).join('') })
    writeFileSync(join(cwd, 'real.csv'), 'old')
    symlinkSync('real.csv', join(cwd, 'link.csv'))
    await run(t, ['export', 'link.csv'], { cwd, env })
    assert.match(readFileSync(join(cwd, 'real.csv'), 'utf8'), /animal 0/)
    assert.equal(lstatSync(join(cwd, 'link.csv')).isSymbolicLink(), true)
  })

  test('a file that cannot be read or written is reported in one line, without an error code', async t => {
    const cwd = temporaryFolder(t)
    const env = { DATABASE_URL: 'sqlite:animals.db' }
    const missing = await run(t, ['import', 'nothing.jsonl'], { cwd, env })
    assert.deepEqual(
      [missing.code, missing.err],
      [1, 'Cannot read nothing.jsonl: the file does not exist.\n'],
    )
    const folder = await run(t, ['import', '.'], { cwd, env })
    assert.equal(folder.code, 1)
    assert.match(folder.err, /^Cannot read \.: it is a folder\.$/m)
    await run(t, ['migrate'], { cwd, env })
    const nowhere = await run(t, ['export', 'no/such/folder.csv'], { cwd, env })
    assert.deepEqual(
      [nowhere.code, nowhere.err],
      [1, 'Cannot write no/such/folder.csv: the folder does not exist.\n'],
    )
  })

  test('a reader that has seen enough ends the export without a complaint', async t => {
    const cwd = temporaryFolder(t)
    const env = { DATABASE_URL: 'sqlite:animals.db' }
    writeFileSync(join(cwd, 'animals.jsonl'), lines(20_000).join('\n'))
    await run(t, ['import', 'animals.jsonl'], { cwd, env })
    const { err, out } = await run(t, ['export'], {
      cwd,
      env,
      program: ['/bin/sh', '-c', `"$0" "$@" | head -n 1`, process.execPath, MAIN],
    })
    assert.equal(out, '{"id":1,"name":"animal 0","categoryId":0}\n')
    assert.doesNotMatch(err, /Error|EPIPE/)
  })

  test('an export over an older one replaces it', async t => {
    const cwd = temporaryFolder(t)
    const env = { DATABASE_URL: 'sqlite:animals.db' }
    writeFileSync(join(cwd, 'out.csv'), 'old')
    await run(t, ['import', '-'], { cwd, env, input: lines(1).join('') })
    await run(t, ['export', 'out.csv'], { cwd, env })
    assert.equal(readFileSync(join(cwd, 'out.csv'), 'utf8'), 'id,name,categoryId,status\n1,animal 0,0,\n')
  })
})

function lines(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `{"name":"animal ${index}","categoryId":${index}}`)
}

async function count(exported: () => Promise<string>): Promise<number> {
  return (await exported()).split('\n').length - 1
}
