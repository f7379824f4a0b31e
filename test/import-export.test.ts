// Import and export of whole catalogues, through files and pipes, without loss.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { suite, type TestContext, test } from 'node:test'
import { renderAnimals } from '../src/animal-json.ts'
import { CommandFailed } from '../src/cli/command.ts'
import { importAll, parseEntry } from '../src/cli/commands/import.ts'
import type { ImportTask } from '../src/cli/commands/import-batches.ts'
import { NEW_ANIMALS, readEntries } from '../src/cli/commands/import-file.ts'
import { systemClock } from '../src/clock.ts'
import { type DatabaseAddress, openStore, parseDatabaseUrl } from '../src/database/open.ts'
import type { Store } from '../src/store.ts'
import { MAIN, run, start } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { administer, borrowDatabase, newDatabase } from './support/postgres.ts'
import { type Scope, shared, temporaryFolder } from './support/service.ts'
import { lockForWriting } from './support/sqlite.ts'
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
    for (const format of ['jsonl', 'csv']) {
      test(`an export to ${format} and an import of it change no animal`, async t => {
        const folder = temporaryFolder()
        const input = join(folder, 'input.jsonl')
        writeFileSync(input, ANIMALS)
        const file = join(folder, `animals.${format}`)
        const [one, another] = [await open(t, folder, 'one'), await open(t, folder, 'another')]
        const command = (url: string, ...args: string[]) => runInProcess(args, { DATABASE_URL: url })
        assert.match((await command(one, 'import', input)).err, /^15 animals imported into .* in /m)
        const exported = await command(one, 'export', file)
        assert.match(exported.err, /^15 animals exported from .* in /m)
        assert.equal(exported.out, '')
        const imported = await command(another, 'import', file)
        assert.equal(imported.code, 0, imported.err)
        assert.equal((await command(another, 'export')).out, ANIMALS)
      })
    }

    test('an invalid line ends an import, and one that resumes stores every animal once', async t => {
      const folder = temporaryFolder()
      const env = { DATABASE_URL: await open(t, folder, 'one') }
      const file = join(folder, 'input.jsonl')
      const all = lines(2_500)
      writeFileSync(file, all.with(1_699, '{"name":" ","categoryId":1}').join('\n'))
      const { code, err } = await runInProcess(['import', file], env)
      assert.equal(code, 1)
      assert.match(
        err,
        /^Line 1700: name must not be blank \(found " "\)\.\n1,000 animals stored in .*\. Resume with --from-line 1001\.$/m,
      )
      const again = await runInProcess(['import', file, '--from-line', '1001'], env)
      assert.match(again.err, /^0 animals stored in .*\. Resume with --from-line 1001\.$/m)
      writeFileSync(file, all.join('\n'))
      const resumed = await runInProcess(['import', file, '--from-line', '1001'], env)
      assert.match(resumed.err, /^1,500 animals imported/m)
      const { out } = await runInProcess(['export'], env)
      const nameIn = (line: string) => JSON.parse(line).name
      assert.deepEqual(out.trimEnd().split('\n').map(nameIn), all.map(nameIn))
    })
  })
}

test('an import whose connection is lost says that its lines may be stored, and how to resume in either case', async t => {
  const folder = temporaryFolder()
  const url = await newDatabase(t)
  const file = join(folder, 'input.jsonl')
  writeFileSync(file, lines(2_500).join('\n'))
  assert.equal((await runInProcess(['migrate'], { DATABASE_URL: url })).code, 0)
  await administer(
    `create function lose_connection() returns trigger language plpgsql as $$
      begin if new.name = 'animal 1700' then perform pg_terminate_backend(pg_backend_pid()); end if; return new; end $$;
    create trigger lose_connection before insert on animals for each row execute function lose_connection()`,
    url,
  )
  const { code, err } = await runInProcess(['import', file], { DATABASE_URL: url })
  assert.equal(code, 1)
  assert.match(
    err,
    /^Lines 1001 to 2000 may be stored: .*\.\n1,000 animals stored in .*\. Check whether the other animals are there\. If so, resume with --from-line 2001, otherwise with --from-line 1001\.$/m,
  )
})

test('an interrupted import says what was stored and how to resume', async t => {
  const cwd = temporaryFolder()
  const env = { DATABASE_URL: `sqlite:${join(cwd, 'animals.db')}` }
  const store = await openTestStore(t, parseDatabaseUrl(env.DATABASE_URL))
  const count = async () => (await store.listAnimals({ limit: 10_000 })).length
  const input = lines(3_200).join('\n')
  const { child, ended, printed } = start(t, ['import', '-'], { cwd, env, input, isInputOpen: true })
  const isStored = async () => {
    assert.equal(child.exitCode, null, printed.err)
    return (await count()) >= 3_000
  }
  await waitUntil(isStored, { what: '3000 animals are stored' })
  child.kill('SIGINT')
  const { code, err } = await ended
  assert.equal(code, 130)
  assert.match(err, /^Stopped\. 3,000 animals stored in .*\. Resume with --from-line 3001\.$/m)
  assert.equal(await count(), 3_000)
  const { available, pending, sold, none } = await store.countAnimals()
  assert.equal(available + pending + sold + none, 3_000n)
  assert.deepEqual(await store.repairDerivedData(), { searchNames: 0, corrected: undefined })
})

/** The entries of a CSV file from this line on, with their animals or what is wrong with them. */
async function entriesOf(input: Buffer, fromLine: number) {
  const found: { firstLine: number; lastLine: number; outcome: string }[] = []
  const source = Readable.from(chunksOf(input)) as AsyncIterable<Buffer>
  for await (const entry of readEntries(source, NEW_ANIMALS, 'csv', fromLine)) {
    const { firstLine, lastLine } = entry
    let outcome: string
    try {
      outcome = parseEntry(entry).name
    } catch (error) {
      outcome = String(error)
    }
    found.push({ firstLine, lastLine, outcome })
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
async function importInto(store: Store, input: string | Buffer, options: Partial<ImportTask> = {}) {
  const said: string[] = []
  let failure = ''
  try {
    const task: ImportTask = {
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

const LONE_RETURN = /^Line [12]: the line has a carriage return, outside quotes, that no line feed follows: /

/** What a file with only this animal gives. */
const BELLA = '[{"id":1,"name":"Bella","categoryId":7}]'

suite('the formats', () => {
  const valid: [what: string, format: ImportTask['format'], input: string, stored?: string][] = [
    [
      'columns in another order, and unknown ones between',
      'csv',
      'status,x,categoryId,name\nsold,1,7,Bella\n',
      '[{"id":1,"name":"Bella","categoryId":7,"status":"sold"}]',
    ],
    ['no status column, and no line feed at the end', 'csv', 'name,categoryId\nBella,7'],
    ['a byte order mark and carriage returns', 'csv', '\ufeffname,categoryId\r\nBella,7\r\n'],
    ['a byte order mark before a quote', 'csv', '\ufeff"name","categoryId"\r\n"Bella","7"\r\n'],
    ['semicolons', 'csv', 'name;categoryId;status\nBella;7;\n'],
    ['tabs', 'csv', 'name\tcategoryId\tstatus\nBella\t7\t\n'],
    ['a sep= line', 'csv', '\ufeffsep=;\r\nname;categoryId\r\nBella;7\r\n'],
    ['a quoted sep= line', 'csv', '"sep=\t"\nname\tcategoryId\nBella\t7\n'],
    ['names of columns in any letter case, with spaces', 'csv', 'STATUS, Category ID ,Name\n,7,Bella\n'],
    ['names of columns with underscores', 'csv', 'name,category_id\nBella,7\n'],
    ['empty lines, and empty rows at the end', 'csv', '\n \nname,categoryId\n\nBella,7\n \t\r\n,\n,\n\n'],
    [
      'separators and quotes in a quoted field',
      'csv',
      'name;categoryId\n"Rex; the ""gecko""";9007199254740993\n"""""";8',
      '[{"id":1,"name":"Rex; the \\"gecko\\"","categoryId":9007199254740993},{"id":2,"name":"\\"\\"","categoryId":8}]',
    ],
    ['only a header', 'csv', 'name,categoryId\n', '[]'],
    [
      'JSON Lines with carriage returns and empty lines',
      'jsonl',
      '\r\n{"name":"Bella","categoryId":0.7e1}\r\n\n',
    ],
    ['JSON Lines with a byte order mark', 'jsonl', '\ufeff{"name":"Bella","categoryId":7}\n'],
    ['an empty file of JSON Lines', 'jsonl', '', '[]'],
    ['CSV by its content', undefined, '\nname;categoryId\nBella;7\n'],
    ['JSON Lines by their content', undefined, ' {"name":"Bella","categoryId":7}\n'],
    ['an empty file without a format', undefined, '', '[]'],
  ]
  for (const [what, format, input, expected = BELLA] of valid) {
    test(`${what}: imported`, async t => {
      const { failure, stored } = await importInto(await openEmptyStore(t), input, { format })
      assert.equal(failure, '')
      assert.equal(stored, expected)
    })
  }

  const latin1 = (text: string) => Buffer.from(text, 'latin1')
  const invalid: [what: string, format: ImportTask['format'], input: string | Buffer, message: RegExp][] = [
    ['an empty CSV file', 'csv', '', /^The file is empty: its first line must name the columns\./],
    [
      'unknown names of columns',
      'csv',
      'Animal;Category\nBella;7\n',
      /^The header is invalid: the first line must name the columns: .* It has "Animal", "Category"\./,
    ],
    ['a column twice', 'csv', 'name,categoryId,status,Status\nBella,7,sold,sold\n', /status at most once/],
    [
      'a malformed header',
      'csv',
      'na"me,categoryId\nBella,7\n',
      /^The header is invalid: .* well-formed CSV/,
    ],
    [
      'one field too many',
      'csv',
      'name,categoryId\nA,7,8\n',
      /^Line 2: the line must have 2 fields, not 3\./,
    ],
    ['an unclosed quote', 'csv', 'name,categoryId\n"A,7\nB,8\n', /^Lines 2 to 3: .* well-formed CSV/],
    ['a quote within a field', 'csv', 'name,categoryId\nBel"la",7\n', /^Line 2: .* well-formed CSV/],
    [
      'an invalid line after fields with line breaks',
      'csv',
      'name,categoryId\n"a\r\nb\rc\nd",7\n\nBella,x\n',
      /^Line 6: categoryId must be an integer .* \(found "x"\)\./,
    ],
    ['an unknown status', 'csv', 'name,categoryId,status\nA,7,Sold\n', /status must be .* \(found "Sold"\)/],
    ['no number', 'csv', 'name;categoryId\nBella;\n', /^Line 2: categoryId is required\./],
    ['a long text', 'csv', `name,categoryId\nA,${'x'.repeat(60)}\n`, /\(found "x{40}…"\)\./],
    [
      'a number that is too large',
      'csv',
      'name,categoryId\nA,9223372036854775808\n',
      /found "9223372036854775808"\)/,
    ],
    ['CSV that is not UTF-8', 'csv', latin1('name,categoryId\nB\xe9b\xe9,7\n'), /^Line 2: .* must be UTF-8;/],
    ['JSON that is not UTF-8', 'jsonl', latin1('{\xff}'), /^Line 1: the line must be UTF-8;/],
    ['UTF-16', 'csv', Buffer.from('\ufeffname\tcategoryId\nA\t1\n', 'utf16le'), /^The file is UTF-16, but /],
    [
      'UTF-16 without a byte order mark',
      'jsonl',
      Buffer.from('{"name":', 'utf16le'),
      /^The file is UTF-16, /,
    ],
    ['a long JSON line', 'jsonl', `{"name":"${'x'.repeat(500_000)}"}`, /^Line 1: .* shorter than 256 KiB/],
    ['a long CSV line', 'csv', `name,categoryId\n${'x'.repeat(500_000)},7\n`, /^Line 2: .* than 256 KiB/],
    ['an array', 'jsonl', '[1]', /^Line 1: the file must not be a JSON array: write one animal per line/],
    ['carriage returns alone as line ends', 'csv', 'name,categoryId\rA,1\rB,2\r', LONE_RETURN],
    // With a status, the header has all its columns.
    ['the same with a status', 'csv', 'name,categoryId,status\rA,1,sold\rB,2,sold\r', LONE_RETURN],
    ['the same after a sep= line', 'csv', 'sep=;\rname;categoryId\rA;1\r', LONE_RETURN],
    [
      'the same in JSON Lines',
      'jsonl',
      '{"name":"A","categoryId":1}\r{"name":"B","categoryId":2}\r',
      LONE_RETURN,
    ],
    [
      'a large file with carriage returns alone',
      'csv',
      `name,categoryId\r${'A,1\r'.repeat(70_000)}`,
      LONE_RETURN,
    ],
    ['only carriage returns', 'csv', '\r\r\r', LONE_RETURN],
    ['two carriage returns at the end of the header', 'csv', 'categoryId,name\r\r\n1,A\r\n', LONE_RETURN],
    ['two carriage returns at the end of a line', 'csv', 'categoryId,name\r\n1,A\r\r\n', LONE_RETURN],
    ['a carriage return in a field', 'csv', 'name,categoryId\nA\rB,1\n', LONE_RETURN],
    ['a carriage return after a quoted field', 'csv', 'name,categoryId\n"A"\r,1\n', LONE_RETURN],
    ['a carriage return at the end of the file', 'csv', 'name,categoryId\nA,1\r', LONE_RETURN],
    ['commas in TSV', 'tsv', 'name,categoryId\nA,1\n', /the columns of TSV are separated by tabs/],
    ['a JSON string as a number', 'jsonl', '{"name":"A","categoryId":"1"}', /\(found the string "1"\)/],
    ['a JSON array as a number', 'jsonl', '{"name":"A","categoryId":[1]}', /\(found an array\)/],
    ['a JSON number with a fraction', 'jsonl', '{"name":"A","categoryId":1.50}', /\(found 1\.50\)/],
  ]
  const store = shared(openEmptyStore)
  for (const [what, format, input, expected] of invalid) {
    test(`${what}: rejected, and no animal is stored`, async () => {
      const { failure, stored } = await importInto(store(), input, { format })
      assert.match(failure, expected)
      assert.equal(stored, '[]')
    })
  }

  const numbers = [
    '9.0072E+15',
    '9,0072E+15',
    '1.000',
    '12 000',
    '1,5',
    '7.0',
    '1e3',
    ' 7 ',
    '+7',
    '007',
    '-0',
  ]
  for (const number of numbers) {
    test(`the category ${JSON.stringify(number)} in CSV: rejected, and shown as it was found`, async () => {
      const { failure, stored } = await importInto(store(), `name;categoryId\nBella;${number}\n`)
      assert.match(failure, /^Line 2: categoryId must be an integer from -?\d+ to \d+ \(found /)
      assert.ok(failure.includes(`(found "${number}", which is not in plain digits`), failure)
      assert.equal(stored, '[]')
    })
  }

  test('a misplaced quote makes its line invalid, one that is not closed also the lines up to the next quote', async t => {
    const input =
      'name,categoryId\n12"" python,7\nBella,8\n12" python,7\nTom,9\n"Max"x,1\r\n"Kim",10\nMia,11\n"not closed,9\nRex"x,12\nIda,x\n"never closed,1\n\n'
    const { said, stored } = await importInto(await openEmptyStore(t), input, { skipInvalid: true })
    const malformed = ['Line 2', 'Line 4', 'Line 6', 'Lines 9 to 10', 'Lines 12 to 13']
    assert.deepEqual(
      said
        .filter(line => line.endsWith(': the line must be well-formed CSV, with quotes in pairs.'))
        .map(line => line.split(':')[0]),
      malformed,
    )
    assert.match(said.at(-2) ?? '', /^Lines 12 to 13: /)
    assert.match(said.at(-1) ?? '', /^4 animals imported into .*, 8 lines skipped\.$/)
    assert.deepEqual(
      JSON.parse(stored).map(({ name }: { name: string }) => name),
      ['Bella', 'Tom', 'Kim', 'Mia'],
    )
  })

  test('a deeply nested JSON line is one invalid line like any other', async t => {
    const deep = (member: string) => `"${member}":${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const input = [
      `{"name":"A",${deep('categoryId')}}`,
      `{"categoryId":1,${deep('name')}}`,
      `{"name":"A","categoryId":1,${deep('status')}}`,
      '{"name":"Bella","categoryId":7}',
    ].join('\n')
    const options = { skipInvalid: true, format: 'jsonl' } as const
    const { failure, said, stored } = await importInto(await openEmptyStore(t), input, options)
    assert.equal(failure, '')
    assert.equal(said.length, 4)
    assert.match(said[3] ?? '', /^1 animal imported into .*, 3 lines skipped\.$/)
    assert.equal(stored, BELLA)
  })

  test('a quote that is never closed ends the import after 256 KiB, and names its line', async t => {
    const input = `name,categoryId\nKim,1\n"never closed,0\n${'Bella,7\n'.repeat(40_000)}`
    const { failure, stored } = await importInto(await openEmptyStore(t), input, { skipInvalid: true })
    assert.equal(
      failure,
      'Line 3: a quote is not closed, or the entry must be shorter than 256 KiB.\n0 animals stored in animals.db.',
    )
    assert.equal(stored, '[]')
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

  test('--from-line does not parse the lines before it, except a sep= line and the header', async t => {
    const input = 'sep=;\nname;categoryId\n"never closed;9\nKim;10\n'
    const { failure, stored } = await importInto(await openEmptyStore(t), input, { fromLine: 4 })
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

  test('--format and --from-line choose how standard input is read', async () => {
    const env = { DATABASE_URL: `sqlite:${join(temporaryFolder(), 'animals.db')}` }
    const input = '\ufeffstatus,x,categoryId,name\r\nsold,1,x,Max\r\nsold,1,7,Bella\r\n'
    const failed = await runInProcess(['import', '-', '--format', 'csv'], env, input)
    assert.equal(failed.code, 1)
    assert.match(
      failed.err,
      /^Line 2: categoryId must be an integer.* \(found "x"\)\.\n0 animals stored in .*animals\.db\.$/m,
    )
    const args = ['import', '-', '--format', 'csv', '--from-line', '3']
    const resumed = await runInProcess(args, env, input)
    assert.equal(resumed.code, 0, resumed.err)
    const { out } = await runInProcess(['export'], env)
    assert.equal(out, '{"id":1,"name":"Bella","categoryId":7,"status":"sold"}\n')
  })

  test('a file that cannot be read or written is reported in one line, without the errno code', async t => {
    const cwd = temporaryFolder()
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

  test('an import that the database rejects says which lines may be missing, and exits with 1', async t => {
    const cwd = temporaryFolder()
    await importInProcess(cwd, lines(1))
    lockForWriting(t, join(cwd, 'animals.db'))
    const env = { DATABASE_URL: `sqlite:${join(cwd, 'animals.db')}` }
    const { code, err } = await runInProcess(['import', join(cwd, 'animals.jsonl')], env)
    assert.equal(code, 1)
    assert.match(err, /^Line 1 was not stored: database is locked\.\n0 animals stored in .*\.$/m)
  })

  test('an export ends without an error if the reader closes the pipe', async t => {
    const cwd = temporaryFolder()
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
