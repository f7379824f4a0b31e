// Import and export of whole catalogues, through files and pipes, without loss.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { suite, type TestContext, test } from 'node:test'
import { renderAnimals } from '../src/animal.ts'
import { CommandFailed } from '../src/cli/command.ts'
import { type Import, importAll } from '../src/cli/import.ts'
import { readEntries } from '../src/cli/import-file.ts'
import { systemClock } from '../src/clock.ts'
import { type DatabaseAddress, openStore, parseDatabaseUrl } from '../src/database/open.ts'
import type { Store } from '../src/store.ts'
import { type CommandOptions, MAIN, run, start } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { borrowDatabase } from './support/postgres.ts'
import { type Scope, shared, temporaryFolder } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

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
  '\ufeffbyte order mark',
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
  suite(`import and export, on ${database}`, () => {
    async function commands(t: TestContext) {
      const folder = temporaryFolder(t)
      const url = await open(t, folder, 'one')
      const command = (args: readonly string[], options: Partial<CommandOptions> = {}, at = url) =>
        run(t, args, { cwd: folder, env: { DATABASE_URL: at }, ...options })

      /** Imports these lines in this process. */
      async function importLines(text: string, ...flags: readonly string[]) {
        const file = join(folder, 'input.jsonl')
        writeFileSync(file, text)
        return runInProcess(['import', file, ...flags], { DATABASE_URL: url })
      }

      return {
        folder,
        url,
        command,
        importLines,
        another: () => open(t, folder, 'another'),
        /** Everything that is stored, exported in this process. */
        exported: async () => {
          const file = join(folder, 'output.jsonl')
          rmSync(file, { force: true })
          await runInProcess(['export', file], { DATABASE_URL: url })
          return readFileSync(file, 'utf8')
        },
      }
    }

    for (const format of ['jsonl', 'csv']) {
      test(`an export to ${format} and an import of it change no animal`, async t => {
        const { command, importLines, another, folder } = await commands(t)
        await importLines(ANIMALS)
        const file = join(folder, `animals.${format}`)
        const written = await command(['export', file])
        assert.match(written.err, /^15 animals exported from .* in /m)
        assert.equal(written.out, '')
        const empty = await another()
        const imported = await command(['import', file], {}, empty)
        assert.equal(imported.code, 0, imported.err)
        assert.match(imported.err, /^15 animals imported into .* in /m)
        assert.equal((await command(['export'], {}, empty)).out, ANIMALS)
        assert.equal(existsSync(`${file}.unfinished`), false)
      })
    }

    test('an invalid line is reported, and no animal of its batch is stored', async t => {
      const { command, exported } = await commands(t)
      const input = lines(2_500).with(1_699, '{"name":" ","categoryId":1}').join('\n')
      const { code, err } = await command(['import', '-'], { input })
      assert.equal(code, 1)
      assert.match(
        err,
        /^Line 1700: name must not be blank \(found " "\)\.\n1,000 animals stored in .*\. Resume with --from-line 1001\.$/m,
      )
      assert.equal((await exported()).trimEnd().split('\n').length, 1_000)
    })

    test('an import that resumes with --from-line stores every animal once', async t => {
      const { importLines, exported } = await commands(t)
      const all = lines(2_500)
      assert.equal((await importLines(all.with(1_699, 'nonsense').join('\n'))).code, 1)
      const { err } = await importLines(all.join('\n'), '--from-line', '1001')
      assert.match(err, /^1,500 animals imported/m)
      const names = (await exported())
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).name)
      assert.deepEqual(
        names,
        all.map(line => JSON.parse(line).name),
      )
    })

    test('--skip-invalid reports the invalid lines and stores the others', async t => {
      const { command, exported } = await commands(t)
      const input = [
        '{"name":"a","categoryId":1}',
        'nonsense',
        '{"name":"b"}',
        '',
        '{"name":"c","categoryId":3}',
      ]
      const { code, err } = await command(['import', '--skip-invalid', '-'], { input: input.join('\n') })
      assert.equal(code, 0)
      assert.match(err, /^Line 2: the line must be a JSON object\.\nLine 3: categoryId is required/m)
      assert.match(err, /^2 animals imported into .* s, 2 lines skipped\.$/m)
      assert.deepEqual((await exported()).match(/"name":"\w"/g), ['"name":"a"', '"name":"c"'])
    })

    test('an interrupted import says what was stored and how to resume', async t => {
      const { folder, url } = await commands(t)
      const store = await openTestStore(t, parseDatabaseUrl(url))
      const count = async () => (await store.listAnimals({ limit: 10_000 })).length
      const { child, ended, printed } = start(t, ['import', '-'], {
        cwd: folder,
        env: { DATABASE_URL: url },
        input: lines(3_200).join('\n'),
        isInputOpen: true,
      })
      const isStored = async () => {
        assert.equal(child.exitCode, null, printed.err)
        return (await count()) >= 3_000
      }
      await waitUntil(isStored, { what: '3000 animals are stored' })
      child.kill('SIGINT')
      const { err } = await ended
      assert.match(err, /^Stopped\. 3,000 animals stored in .*\. Resume with --from-line 3001\.$/m)
      assert.equal(await count(), 3_000)
    })
  })
}

/** The entries of a CSV file from this line on, with their animals or what is wrong with them. */
async function entriesOf(input: Buffer, fromLine: number) {
  const found: { firstLine: number; lastLine: number; outcome: string }[] = []
  const source = Readable.from(chunksOf(input)) as AsyncIterable<Buffer>
  for await (const entries of readEntries(source, 'csv', fromLine)) {
    for (const { firstLine, lastLine, animal } of entries) {
      let outcome: string
      try {
        outcome = animal().name
      } catch (error) {
        outcome = String(error)
      }
      found.push({ firstLine, lastLine, outcome })
    }
  }
  return found
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

async function openTestStore(t: Scope, database: DatabaseAddress): Promise<Store> {
  const store = await openStore(database, { clock: systemClock, create: true, say() {} })
  t.after(() => store.close())
  return store
}

/** Opens an empty store, in memory: the formats do not depend on the database. */
function openEmptyStore(t: Scope): Promise<Store> {
  return openTestStore(t, { kind: 'sqlite-memory' })
}

/** Imports in this process. Returns the messages, and all animals that are stored afterwards. */
async function importInto(store: Store, input: string | Buffer, options: Partial<Import> = {}) {
  const said: string[] = []
  let failure = ''
  try {
    const task: Import = {
      source: { name: 'input', stream: Readable.from(chunksOf(input)), share: () => undefined },
      databaseUrl: { kind: 'sqlite', path: 'animals.db' },
      format: 'csv',
      skipInvalid: false,
      fromLine: 1,
      signal: new AbortController().signal,
      progress: { update() {}, end() {} },
      say: text => void said.push(text),
      ...options,
    }
    await importAll(task, store)
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    failure = error.message
  }
  return { failure, said, stored: renderAnimals(await store.listAnimals({ limit: 100_000 })) }
}

/** Small chunks, so that they end within lines, fields and characters. */
function* chunksOf(input: string | Buffer): Generator<Buffer> {
  const bytes = Buffer.from(input)
  const size = bytes.length < 1_000 ? 5 : 64 * 1024
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

suite('the formats', () => {
  const valid: [string, Import['format'], string, string][] = [
    [
      'columns in another order, and unknown ones between',
      'csv',
      'status,x,categoryId,name\nsold,1,7,Bella\n',
      '[{"id":1,"name":"Bella","categoryId":7,"status":"sold"}]',
    ],
    ['no status column', 'csv', 'name,categoryId\nBella,7', '[{"id":1,"name":"Bella","categoryId":7}]'],
    [
      'a byte order mark and carriage returns, as spreadsheets write',
      'csv',
      '\ufeffname,categoryId\r\nBella,7\r\n',
      '[{"id":1,"name":"Bella","categoryId":7}]',
    ],
    [
      'a byte order mark before a quote',
      'csv',
      '\ufeff"name","categoryId"\r\n"Bella","7"\r\n',
      '[{"id":1,"name":"Bella","categoryId":7}]',
    ],
    [
      'JSON Lines with carriage returns and empty lines',
      'jsonl',
      '\r\n{"name":"Bella","categoryId":1e2}\r\n\n',
      '[{"id":1,"name":"Bella","categoryId":100}]',
    ],
    [
      'JSON Lines with a byte order mark',
      'jsonl',
      '\ufeff{"name":"Bella","categoryId":7}\n',
      '[{"id":1,"name":"Bella","categoryId":7}]',
    ],
    [
      'CSV with blank lines',
      'csv',
      '\n \nname,categoryId\n\nB,7\n \t\r\nC,8\n\n',
      '[{"id":1,"name":"B","categoryId":7},{"id":2,"name":"C","categoryId":8}]',
    ],
    ['an empty file of JSON Lines', 'jsonl', '', '[]'],
    ['only a byte order mark', 'jsonl', '\ufeff', '[]'],
    ['only a header', 'csv', 'name,categoryId\n', '[]'],
    [
      'an empty first field',
      'csv',
      'status,name,categoryId\n,Bella,7\n',
      '[{"id":1,"name":"Bella","categoryId":7}]',
    ],
    [
      'a field that is all quotes',
      'csv',
      'name,categoryId\n"""""",7\n',
      '[{"id":1,"name":"\\"\\"","categoryId":7}]',
    ],
  ]
  for (const [name, format, input, expected] of valid) {
    test(`${name}: imported`, async t => {
      const { failure, stored } = await importInto(await openEmptyStore(t), input, { format })
      assert.equal(failure, '')
      assert.equal(stored, expected)
    })
  }

  const invalid: [string, Import['format'], string | Buffer, RegExp][] = [
    ['an empty CSV file', 'csv', '', /^The file is empty: its first line must name the columns\./],
    [
      'a header without a "name" column',
      'csv',
      'nom,categoryId\nBella,7\n',
      /^The header is invalid: the first line must name the columns: name and categoryId once/,
    ],
    ['a column twice', 'csv', 'name,categoryId,status,status\nBella,7,sold,sold\n', /status at most once/],
    [
      'a malformed header',
      'csv',
      'na"me,categoryId\nBella,7\n',
      /^The header is invalid: the line must be well-formed CSV/,
    ],
    [
      'one field too many',
      'csv',
      'name,categoryId\nBella,7,8\n',
      /^Line 2: the line must have 2 fields, not 3\./,
    ],
    [
      'a quote that is never closed',
      'csv',
      'name,categoryId\n"Bella,7\nMax,8\n',
      /^Lines 2 to 3: the line must be well-formed CSV/,
    ],
    [
      'a quote in the middle of a field',
      'csv',
      'name,categoryId\nBel"la",7\n',
      /^Line 2: the line must be well-formed CSV/,
    ],
    [
      'an invalid line after fields with line breaks',
      'csv',
      'name,categoryId\n"a\r\nb\rc\nd",7\n\nBella,x\n',
      /^Line 6: categoryId must be an integer/,
    ],
    [
      'a number with a fraction',
      'csv',
      'name,categoryId\nBella,7.5\n',
      /^Line 2: categoryId must be an integer/,
    ],
    ['a leading zero', 'csv', 'name,categoryId\nBella,007\n', /^Line 2: categoryId must be an integer/],
    ['an unknown status', 'csv', 'name,categoryId,status\nBella,7,lost\n', /^Line 2: status must be one of/],
    [
      'CSV that is not UTF-8',
      'csv',
      Buffer.from('name,categoryId\nB\xe9b\xe9,7\n', 'latin1'),
      /^Line 2: the line must be UTF-8;/,
    ],
    ['JSON that is not UTF-8', 'jsonl', Buffer.from([0x7b, 0xff, 0x7d]), /^Line 1: the line must be UTF-8;/],
    [
      'a JSON line of more than 256 KiB',
      'jsonl',
      `{"name":"${'x'.repeat(500_000)}","categoryId":1}`,
      /^Line 1: the entry must be shorter than 256 KiB/,
    ],
    [
      'a CSV line of more than 256 KiB',
      'csv',
      `name,categoryId\n${'x'.repeat(500_000)},7\n`,
      /^Line 2: a quote is not closed, or the entry must be shorter than 256 KiB/,
    ],
    ['an array', 'jsonl', '[1]', /^Line 1: the file must not be a JSON array/],
    ['carriage returns alone as line ends', 'csv', 'name,categoryId\rA,1\rB,2\r', /^The header is invalid: /],
    [
      'UTF-16, which Excel calls Unicode Text',
      'csv',
      Buffer.from('\ufeffname\tcategoryId\nA\t1\n', 'utf16le'),
      /^Line 1: the line must be UTF-8;/,
    ],
  ]
  const store = shared(openEmptyStore)
  for (const [name, format, input, expected] of invalid) {
    test(`${name}: rejected, and no animal is stored`, async () => {
      const { failure, stored } = await importInto(store(), input, { format })
      assert.match(failure, expected)
      assert.equal(stored, '[]')
    })
  }

  test('a quote in a field makes its line invalid, a misplaced closing one also those up to the next pair', async t => {
    const input =
      'name,categoryId\n12"" python,7\nBella,8\n12" python,7\nTom,9\n"Max"x,1\n"Kim",10\nMia,11\n"never closed,9\nRex,12\n'
    const { said, stored } = await importInto(await openEmptyStore(t), input, { skipInvalid: true })
    const message = 'the line must be well-formed CSV, with quotes in pairs.'
    assert.deepEqual(
      said.slice(0, -1),
      ['Line 2', 'Line 4', 'Lines 6 to 7', 'Lines 9 to 10'].map(lines => `${lines}: ${message}`),
    )
    assert.match(said.at(-1) ?? '', /^3 animals imported into .*, 6 lines skipped\.$/)
    assert.deepEqual(
      JSON.parse(stored).map(({ name }: { name: string }) => name),
      ['Bella', 'Tom', 'Mia'],
    )
  })

  test('a quote that is never closed ends the import after 256 KiB, and names its line', async t => {
    for (const [quote, message] of [
      ['"never closed,0', 'a quote is not closed, or the entry must be shorter than 256 KiB.'],
      ['"closed" early,0', 'the line must be well-formed CSV, with quotes in pairs.'],
    ]) {
      const input = `name,categoryId\nKim,1\n${quote}\n${'Bella,7\n'.repeat(40_000)}`
      const { failure, stored } = await importInto(await openEmptyStore(t), input, { skipInvalid: true })
      assert.equal(failure, `Line 3: ${message}\n0 animals stored in animals.db.`)
      assert.equal(stored, '[]')
    }
  })

  test('lines are counted in the same way after malformed records, whatever ends them', async t => {
    const input = 'name,categoryId\r\n"Max"x,1\r\nKim,2\r\nTom,3\r\n"Mia",4\r\nRex,5\r\nIda,x\r\n'
    const { said } = await importInto(await openEmptyStore(t), input, { skipInvalid: true })
    assert.match(said[0] ?? '', /^Lines 2 to 5: the line must be well-formed CSV/)
    assert.match(said[1] ?? '', /^Line 7: categoryId must be an integer/)
    const atEnd = 'name,categoryId\n"Max"x,1\nKim,2\nPython 12",7\n'
    const { said: reported } = await importInto(await openEmptyStore(t), atEnd, { skipInvalid: true })
    assert.match(reported[0] ?? '', /^Lines 2 to 4: /)
    assert.match(reported.at(-1) ?? '', /^0 animals imported into .*, 3 lines skipped\.$/)
  })

  test('every line is either imported or reported, and an import can resume after any of them', async () => {
    const tokens = [
      'a,1\n',
      'b,2\r\n',
      '"c"d,3\n',
      'e"f,4\r\n',
      '"g\nh",5\n',
      '"i\r\nj",6\r\n',
      '"',
      '\n',
      'k,\r\n',
      'é,7\n',
    ]
    let seed = 1
    const next = (limit: number) => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % limit
    }
    for (let round = 0; round < 300; round++) {
      const records = Array.from({ length: next(12) }, () => tokens[next(tokens.length)])
      const input = Buffer.from(`name,categoryId\n${records.join('')}`)
      const all = await entriesOf(input, 1)
      const covered = new Set([1, ...all.flatMap(({ firstLine, lastLine }) => range(firstLine, lastLine))])
      const lines = input.toString().split('\n')
      const lost = lines.filter((line, index) => !covered.has(index + 1) && /\w/.test(line))
      assert.deepEqual(lost, [], JSON.stringify(input.toString()))
      for (const [index, { lastLine }] of all.entries()) {
        if (index + 1 < all.length)
          assert.deepEqual(
            await entriesOf(input, lastLine + 1),
            all.slice(index + 1),
            JSON.stringify(input.toString()),
          )
      }
    }
  })

  test('--from-line beyond the file is an error', async t => {
    for (const [input, lines] of [
      ['name,categoryId\nKim,1\n', '2 lines'],
      ['name,categoryId', '1 line'],
    ]) {
      const { failure } = await importInto(await openEmptyStore(t), input ?? '', { fromLine: 3 })
      assert.equal(
        failure,
        `--from-line 3 is beyond the file, which has ${lines}.\n0 animals stored in animals.db.`,
      )
    }
  })

  test('--from-line does not parse the lines before it, except the header', async t => {
    const input = 'name,categoryId\n"never closed,9\nKim,10\n'
    const { failure, stored } = await importInto(await openEmptyStore(t), input, { fromLine: 3 })
    assert.equal(failure, '')
    assert.equal(stored, '[{"id":1,"name":"Kim","categoryId":10}]')
  })
})

suite('import and export, on the command line', () => {
  /** Fills the database that `sqlite:animals.db` names on the command line in this folder. */
  async function importInProcess(cwd: string, input: readonly string[]): Promise<void> {
    const file = join(cwd, 'animals.jsonl')
    writeFileSync(file, input.join('\n'))
    const env = { DATABASE_URL: `sqlite:${join(cwd, 'animals.db')}` }
    assert.equal((await runInProcess(['import', file], env)).code, 0)
  }

  test('--format and --from-line choose how standard input is read', async t => {
    const options = { cwd: temporaryFolder(t), env: { DATABASE_URL: 'sqlite:animals.db' } }
    const input = '\ufeffstatus,x,categoryId,name\r\nsold,1,x,Max\r\nsold,1,7,Bella\r\n'
    const failed = await run(t, ['import', '-', '--format', 'csv'], { ...options, input })
    assert.equal(failed.code, 1)
    assert.match(
      failed.err,
      /^Line 2: categoryId must be an integer.* \(found "x"\)\.\n0 animals stored in animals\.db\.$/m,
    )
    const args = ['import', '-', '--format', 'csv', '--from-line', '3']
    const resumed = await run(t, args, { ...options, input })
    assert.equal(resumed.code, 0, resumed.err)
    const { out } = await run(t, ['export'], options)
    assert.equal(out, '{"id":1,"name":"Bella","categoryId":7,"status":"sold"}\n')
  })

  test('a file that cannot be read or written is reported in one line, without the errno code', async t => {
    const cwd = temporaryFolder(t)
    const env = { DATABASE_URL: 'sqlite:animals.db' }
    const missing = await run(t, ['import', 'nothing.jsonl'], { cwd, env })
    assert.deepEqual(
      [missing.code, missing.err],
      [1, 'Cannot read nothing.jsonl: the file does not exist.\n'],
    )
    const folder = await runInProcess(['import', '.'], env)
    assert.equal(folder.code, 1)
    assert.match(folder.err, /^Cannot read \.: it is a folder\.$/m)
    await importInProcess(cwd, [])
    const nowhere = await run(t, ['export', 'no/such/folder.csv'], { cwd, env })
    assert.deepEqual(
      [nowhere.code, nowhere.err],
      [1, 'Cannot write no/such/folder.csv: the folder does not exist.\n'],
    )
  })

  test('an export ends without an error if the reader closes the pipe', async t => {
    const cwd = temporaryFolder(t)
    const env = { DATABASE_URL: 'sqlite:animals.db' }
    await importInProcess(cwd, lines(20_000))
    const { err, out } = await run(t, ['export'], {
      cwd,
      env,
      program: ['/bin/sh', '-c', `"$0" "$@" | head -n 1`, process.execPath, MAIN],
    })
    assert.equal(out, '{"id":1,"name":"animal 0","categoryId":0}\n')
    assert.doesNotMatch(err, /Error|EPIPE/)
  })
})

function lines(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `{"name":"animal ${index}","categoryId":${index}}`)
}
