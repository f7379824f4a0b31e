// `export --etags` and `import --update`: a file goes out, is edited, and comes back without undoing what others did.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { suite, type TestContext, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { AnimalChanges } from '../src/animal.ts'
import { parseAnimalJson } from '../src/animal-json.ts'
import { createIdSet } from '../src/cli/commands/id-set.ts'
import { type UpdateTask, updateAll } from '../src/cli/commands/import-update.ts'
import { systemClock } from '../src/clock.ts'
import { openStore, parseDatabaseUrl } from '../src/database/open.ts'
import { tagOf } from '../src/etag.ts'
import type { Store } from '../src/store.ts'
import { run, start } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { borrowDatabase } from './support/postgres.ts'
import { shared, temporaryFolder } from './support/service.ts'
import { runSql } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const DATABASES: Record<string, (t: TestContext, folder: string) => Promise<string>> = {
  SQLite: async (_t, folder) => `sqlite:${join(folder, 'animals.db')}`,
  PostgreSQL: t => borrowDatabase(t),
}

const BELLA = '{"id":1,"name":"Bella","categoryId":7,"status":"available"}'
const REX = '{"id":2,"name":"=Rex","categoryId":9007199254740993,"status":"sold"}'
const KIM = '{"id":3,"name":"Kim, the \\"cat\\"","categoryId":-1}'
const CATALOGUE = [BELLA, REX, KIM]
const [BELLA_TAG, REX_TAG, KIM_TAG] = CATALOGUE.map(json => `"${tagOf(json)}"`)

type Values = Readonly<Record<string, string | null | undefined>>

/** The rows as they are exported. */
const EXPORTED: readonly Values[] = [
  { id: '1', name: 'Bella', categoryId: '7', status: 'available', etag: BELLA_TAG },
  { id: '2', name: '=Rex', categoryId: '9007199254740993', status: 'sold', etag: REX_TAG },
  { id: '3', name: 'Kim, the "cat"', categoryId: '-1', status: undefined, etag: KIM_TAG },
]

function exported(id: 1 | 2 | 3, edits: Values = {}): Values {
  return { ...EXPORTED[id - 1], ...edits }
}

type Format = 'csv' | 'jsonl'

function render(format: Format, rows: readonly Values[]): string {
  if (format === 'jsonl')
    return rows
      .map(row => {
        const members = Object.entries(row).flatMap(([name, value]) => {
          if (value === undefined) return []
          const isNumber = ['id', 'categoryId'].includes(name) && /^-?\d+$/.test(value ?? '')
          return [`${JSON.stringify(name)}:${isNumber ? value : JSON.stringify(value)}`]
        })
        return `{${members.join()}}\n`
      })
      .join('')
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const field = (text: string) => `"${text.replaceAll('"', '""')}"`
  return [columns, ...rows.map(row => columns.map(column => row[column] ?? ''))]
    .map(fields => `${fields.map(field).join()}\n`)
    .join('')
}

async function importAll(folder: string, env: { DATABASE_URL: string }, animals: readonly string[]) {
  const file = join(folder, 'animals.jsonl')
  writeFileSync(file, animals.join('\n'))
  assert.equal((await runInProcess(['import', file], env)).code, 0)
}

/** A file of SQLite with Bella, Rex and Kim. Copying it takes less than an import, which starts the writer thread. */
const catalogueFile = shared(async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'animals.db')
  await importAll(folder, { DATABASE_URL: `sqlite:${path}` }, CATALOGUE)
  return path
})

/** A database with Bella, Rex and Kim, or with these animals. */
async function useCatalogue(
  t: TestContext,
  open: (t: TestContext, folder: string) => Promise<string>,
  animals: readonly string[] = CATALOGUE,
) {
  const folder = temporaryFolder()
  const env = { DATABASE_URL: await open(t, folder) }
  const command = (...args: string[]) => runInProcess(args, env)
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const [, path] = /^sqlite:(.*)/.exec(env.DATABASE_URL) ?? []
  if (path !== undefined && animals === CATALOGUE) copyFileSync(catalogueFile(), path)
  else await importAll(folder, env, animals)
  const store = await openStore(parseDatabaseUrl(env.DATABASE_URL), {
    clock: systemClock,
    create: false,
    say() {},
  })
  t.after(() => store.close())
  return { folder, env, command, write, store, list: async () => (await command('export')).out }
}

/** What another program does meanwhile. */
type Meanwhile = (store: Store) => Promise<unknown>

function changing(id: bigint, changes: AnimalChanges): Meanwhile {
  return store => store.write([{ kind: 'update', id, changes, conditions: {} }])
}

function removing(id: bigint): Meanwhile {
  return store => store.write([{ kind: 'delete', id, conditions: {} }])
}

interface Case {
  readonly rows: readonly Values[]
  /** Both, if there is none. */
  readonly format?: Format
  readonly flags?: readonly string[]
  readonly meanwhile?: Meanwhile
  readonly code?: number
  /** The numbers of the last line. */
  readonly counts?: readonly [changed: number, unchanged: number, rejected: number]
  readonly says?: RegExp
  /** The animals afterwards. */
  readonly becomes?: readonly string[]
}

const SOLD = changing(1n, { status: 'sold' })
const BELLA_SOLD = BELLA.replace('available', 'sold')
const CHANGED_SINCE = /^Lines? (?:1|2): the animal 1 was changed since the export\.$/m

const CASES: Readonly<Record<string, Case>> = {
  'an edited row changes its animal': {
    rows: [exported(1, { name: 'Bello', categoryId: '8', status: 'sold' }), exported(2)],
    counts: [1, 1, 0],
    becomes: ['{"id":1,"name":"Bello","categoryId":8,"status":"sold"}', REX, KIM],
  },
  'a member that the file does not have stays': {
    rows: [{ id: '1', status: 'sold', etag: BELLA_TAG }],
    counts: [1, 0, 0],
    becomes: [BELLA_SOLD, REX, KIM],
  },
  'an empty cell, or null, takes the status away': {
    rows: [exported(1, { status: null })],
    counts: [1, 0, 0],
    becomes: ['{"id":1,"name":"Bella","categoryId":7}', REX, KIM],
  },
  'a column of empty cells takes every status away': {
    rows: [
      { id: '1', status: null, etag: BELLA_TAG },
      { id: '3', status: null, etag: KIM_TAG },
    ],
    counts: [1, 1, 0],
    becomes: ['{"id":1,"name":"Bella","categoryId":7}', REX, KIM],
  },
  'an animal without a status gets one': {
    rows: [exported(3, { status: 'pending' })],
    counts: [1, 0, 0],
    becomes: [BELLA, REX, KIM.replace('}', ',"status":"pending"}')],
  },
  'rows that were not edited undo nothing': {
    rows: EXPORTED,
    meanwhile: async store => {
      await SOLD(store)
      await removing(2n)(store)
    },
    counts: [0, 3, 0],
    becomes: [BELLA_SOLD, KIM],
  },
  'an edited row is rejected if the animal was changed meanwhile': {
    rows: [exported(1, { name: 'Bello' })],
    meanwhile: SOLD,
    code: 1,
    counts: [0, 0, 1],
    says: CHANGED_SINCE,
    becomes: [BELLA_SOLD, REX, KIM],
  },
  'a row without all members is no row that was not edited': {
    rows: [{ id: '1', name: 'Bella', status: 'available', etag: BELLA_TAG }],
    meanwhile: SOLD,
    code: 1,
    counts: [0, 0, 1],
    says: CHANGED_SINCE,
    becomes: [BELLA_SOLD, REX, KIM],
  },
  'without the column of an empty status, a row does not have all members': {
    format: 'csv',
    rows: [{ id: '3', name: 'Kim, the "cat"', categoryId: '-1', etag: KIM_TAG }],
    meanwhile: changing(3n, { name: 'Tom' }),
    code: 1,
    counts: [0, 0, 1],
    says: /^Line 2: the animal 3 was changed since the export\.$/m,
  },
  'a row with the values that the animal has is unchanged, whatever its tag': {
    rows: [exported(1, { status: 'sold' }), exported(3, { etag: BELLA_TAG })],
    meanwhile: SOLD,
    counts: [0, 2, 0],
    becomes: [BELLA_SOLD, REX, KIM],
  },
  'a tag without its quotes is known': {
    rows: [exported(1, { status: 'sold', etag: BELLA_TAG?.replaceAll('"', '') })],
    counts: [1, 0, 0],
  },
  'a row without a tag is rejected in a file with tags': {
    rows: [exported(1, { status: 'sold', etag: null }), exported(2)],
    code: 1,
    counts: [0, 0, 1],
    says: /^Line [12]: etag is required, because other rows have one\.$/m,
    becomes: [BELLA, REX, KIM],
  },
  'the first row may be the one without a tag': {
    format: 'jsonl',
    rows: [exported(1, { status: 'sold', etag: undefined }), exported(2)],
    code: 1,
    says: /^Line 1: etag is required/m,
    becomes: [BELLA, REX, KIM],
  },
  'a malformed tag is rejected': {
    rows: [exported(1, { etag: '"abc"' })],
    code: 1,
    says: /^Line [12]: etag must be as it was exported, 32 hexadecimal digits in quotes \(found .*abc.*\)\.$/m,
  },
  'a file without tags wants --overwrite': {
    rows: [{ id: '1', status: 'sold' }],
    code: 2,
    says: /^Nothing was changed: .* has no ETags, so it would overwrite what was changed since the export\. .* --overwrite\.$/m,
    becomes: [BELLA, REX, KIM],
  },
  'so does its dry run': {
    rows: [{ id: '1', status: 'sold' }],
    flags: ['--dry-run'],
    code: 2,
    says: /--overwrite/,
  },
  'with --overwrite a file without tags is written': {
    rows: [
      { id: '1', name: 'Bella' },
      { id: '3', name: 'Kim' },
    ],
    flags: ['--overwrite'],
    meanwhile: changing(1n, { name: 'Bello', status: 'sold' }),
    counts: [2, 0, 0],
    says: /^No ETags are compared: what was changed since the export will be overwritten\.$/m,
    becomes: [BELLA_SOLD, REX, '{"id":3,"name":"Kim","categoryId":-1}'],
  },
  'with --overwrite tags are not compared': {
    rows: [exported(1), exported(2, { etag: null, status: null })],
    flags: ['--overwrite'],
    meanwhile: SOLD,
    counts: [2, 0, 0],
    becomes: [BELLA, '{"id":2,"name":"=Rex","categoryId":9007199254740993}', KIM],
  },
  'an unknown id is rejected': {
    rows: [exported(1, { id: '7', status: 'sold' })],
    code: 1,
    counts: [0, 0, 1],
    says: /^Line [12]: no animal has the id 7\.$/m,
    becomes: [BELLA, REX, KIM],
  },
  'an unknown id of more than 15 digits may have been rounded': {
    rows: [exported(1, { id: '9007199254740990' })],
    code: 1,
    says: /: no animal has the id 9007199254740990; spreadsheets round ids of more than 15 digits\.$/m,
  },
  'an edited row of an animal that was removed is rejected': {
    rows: [exported(1, { status: 'sold' })],
    meanwhile: removing(1n),
    code: 1,
    says: /: no animal has the id 1\.$/m,
    becomes: [REX, KIM],
  },
  'every row that cannot be written is reported, and the others are written': {
    rows: [
      exported(1, { status: 'Sold' }),
      exported(1, { status: 'sold' }),
      exported(2, { status: 'pending' }),
      exported(2, { id: null }),
      exported(3, { name: '  ', categoryId: '1.5' }),
      exported(3, { id: '03' }),
      exported(2),
      exported(3, { id: '4', categoryId: '' }),
      exported(3, { id: '5', categoryId: '6' }),
    ],
    format: 'csv',
    flags: ['--skip-invalid'],
    counts: [1, 0, 8],
    says: new RegExp(
      [
        'Line 2: status must be .* \\(found "Sold"\\)',
        'Line 3: id must not be that of an earlier row \\(found "1"\\)',
        'Line 5: id is required',
        'Line 6: name must not be blank \\(found " {2}"\\); categoryId must be an integer .* \\(found "1\\.5", .*\\)',
        'Line 7: id must be an integer .* \\(found "03", which is not in plain digits.*\\)',
        'Line 8: id must not be that of an earlier row \\(found "2"\\)',
        'Line 9: categoryId is required',
        'Line 10: no animal has the id 5',
        '1 animal changed,',
      ].join('\\.?\\n'),
    ),
    becomes: [BELLA, REX.replace('sold', 'pending'), KIM],
  },
  'the same in JSON Lines': {
    rows: [
      exported(1, { status: 'Sold' }),
      exported(1, { status: 'sold' }),
      exported(2, { status: 'pending' }),
      exported(2, { id: undefined }),
      exported(3, { name: null, categoryId: 'x' }),
    ],
    format: 'jsonl',
    flags: ['--skip-invalid'],
    counts: [1, 0, 4],
    says: /^Line 1: .*\nLine 2: id must not be .*\nLine 4: id is required\.\nLine 5: name must be a string .*; categoryId must be .* \(found the string "x"\)\.$/m,
  },
  'a rejected row stops the run, and nothing of its batch is written': {
    rows: [exported(2, { status: 'pending' }), exported(1, { status: 'x' })],
    code: 1,
    says: /^Line [23]: status must be/m,
    becomes: [BELLA, REX, KIM],
  },
  'a dry run writes nothing and rejects what a run would reject': {
    rows: [
      exported(1, { name: 'Bello' }),
      exported(2, { status: 'pending' }),
      exported(3),
      exported(3, { id: '8' }),
    ],
    flags: ['--dry-run'],
    meanwhile: SOLD,
    code: 1,
    counts: [1, 1, 2],
    says: /was changed since the export\.\n.*no animal has the id 8\.\nWithout --dry-run: 1 animal changed, 1 unchanged, 2 rejected in .*\. Nothing was stored\. /,
    becomes: [BELLA_SOLD, REX, KIM],
  },
  'a dry run that rejects nothing succeeds': {
    rows: [exported(1, { status: 'sold' }), exported(2)],
    flags: ['--dry-run'],
    counts: [1, 1, 0],
    becomes: [BELLA, REX, KIM],
  },
  '--from-line starts there': {
    rows: [exported(1, { name: 'x' }), exported(2), exported(3, { status: 'sold' })],
    flags: ['--from-line', '3'],
    format: 'jsonl',
    counts: [1, 0, 0],
    becomes: [BELLA, REX, KIM.replace('}', ',"status":"sold"}')],
  },
  'a file needs the column id': {
    rows: [{ name: 'Bella', categoryId: '7', etag: BELLA_TAG }],
    format: 'csv',
    code: 1,
    says: /^The header is invalid: the first line must name the columns: id once, /m,
  },
  'a file needs a column that can be changed': {
    rows: [{ id: '1', etag: BELLA_TAG, stauts: 'sold' }],
    format: 'csv',
    code: 1,
    says: /^The header is invalid: .* one or more of name, categoryId and status/m,
  },
  'other columns and members are named': {
    rows: [exported(1, { stauts: 'sold' })],
    counts: [0, 1, 0],
    says: /^Ignored (?:columns|member, from line 1 on): "stauts"\.$/m,
  },
}

const LAST_LINE = /(\d+) animals? changed, (\d+) unchanged, (\d+) rejected in .*\n$/

/** A name as it is, and a cell that stands for what. */
const APOSTROPHES: readonly (readonly [name: string, cell: string, becomes: string])[] = [
  ['=Rex', "'=Rex", '=Rex'],
  ['=Rex', '=Rex', '=Rex'],
  ['=Rex', "'=Max", '=Max'],
  ['=Rex', "'Max", 'Max'],
  ['=Rex', "''Max", "'Max"],
  ['=Rex', 'Max', 'Max'],
  ['a,=b', "'a,=c", 'a,=c'],
  ['Bella', "'Bella", "'Bella"],
  ['Bella', "'=Bella", "'=Bella"],
  ["'quoted", "'quoted", "'quoted"],
  ["'quoted", 'quoted', 'quoted'],
  ['=Rex', `'=${'x'.repeat(999)}`, `=${'x'.repeat(999)}`],
]

for (const [database, open] of Object.entries(DATABASES)) {
  suite(`import --update, on ${database}`, () => {
    for (const [what, { rows, format, flags = [], meanwhile, code = 0, ...expected }] of Object.entries(
      CASES,
    ))
      for (const each of format === undefined ? (['csv', 'jsonl'] as const) : [format])
        test(`${what} (${each})`, async t => {
          const { command, write, store, list } = await useCatalogue(t, open)
          await meanwhile?.(store)
          const file = write(`edited.${each}`, render(each, rows))
          const result = await command('import', '--update', file, ...flags)
          assert.equal(result.code, code, result.err)
          if (expected.says !== undefined) assert.match(result.err, expected.says)
          if (expected.counts !== undefined) {
            const found = /(\d+) animals? changed, (\d+) unchanged, (\d+) rejected in /.exec(result.err)
            assert.deepEqual(found?.slice(1).map(Number), expected.counts, result.err)
          }
          if (expected.becomes !== undefined)
            assert.equal(await list(), expected.becomes.map(json => `${json}\n`).join(''))
        })

    test('an apostrophe of --spreadsheet-safe is removed, and no other', async t => {
      const animals = APOSTROPHES.map(([name]) => JSON.stringify({ name, categoryId: 1 }))
      const { command, write, list } = await useCatalogue(t, open, animals)
      const rows = APOSTROPHES.map(([, name], index) => ({ id: `${index + 1}`, name }))
      const { code, err } = await command(
        'import',
        '--update',
        write('edited.csv', render('csv', rows)),
        '--overwrite',
      )
      assert.equal(code, 0, err)
      const same = APOSTROPHES.filter(([name, , becomes]) => name === becomes).length
      assert.deepEqual(LAST_LINE.exec(err)?.slice(1, 3).map(Number), [APOSTROPHES.length - same, same])
      const names = (await list())
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line).name)
      assert.deepEqual(
        names,
        APOSTROPHES.map(([, , becomes]) => becomes),
      )
      const blank = write(
        'blank.csv',
        render('csv', [
          { id: '1', name: "'=Rex" },
          { id: '7', name: "'" },
        ]),
      )
      const rejected = await command('import', '--update', blank, '--overwrite')
      assert.match(rejected.err, /^Line 3: name must not be blank\.$/m)
      const literal = write('literal.jsonl', render('jsonl', [{ id: '1', name: "'=Rex" }]))
      assert.equal((await command('import', '--update', literal, '--overwrite')).code, 0)
      assert.match(await list(), /^\{"id":1,"name":"'=Rex",/)
    })

    for (const [format, ...flags] of [
      ['csv'],
      ['csv', '--spreadsheet-safe'],
      ['tsv'],
      ['tsv', '--spreadsheet-safe'],
      ['jsonl'],
    ] as const)
      test(`an export to ${[format, ...flags].join(' ')} changes nothing until it is edited`, async t => {
        const names = [
          ...['Bella', 'comma, comma', 'quote " and ""', '"quoted"', 'line\nbreak', 'line\r\nbreak'],
          ...[' leading and trailing ', '\ttab', '\ufeffmark', '=1+1', 'x,=1', "'=1", 'back\\slash \\n'],
          ...['Ünïcode 🐈‍⬛ \u2028', `=${'x'.repeat(999)}`],
        ]
        const animals = names.map((name, index) =>
          JSON.stringify({ name, categoryId: index, status: ['sold', undefined, 'available'][index % 3] }),
        )
        const { command, folder, write, store, list } = await useCatalogue(t, open, animals)
        const file = join(folder, `out.${format}`)
        assert.equal((await command('export', file, '--etags', ...flags)).code, 0)
        const before = await list()
        const unedited = await command('import', '--update', file)
        assert.match(unedited.err, /^0 animals changed, 15 unchanged, 0 rejected in /m)
        assert.equal(await list(), before)
        // Other programs rename them all. No row was edited, so nothing is undone.
        for (let id = 1n; id <= 15n; id++) await changing(id, { name: `renamed ${id}` })(store)
        const renamed = await list()
        const again = await command('import', '--update', file)
        assert.match(again.err, /^0 animals changed, 15 unchanged, 0 rejected in /m)
        assert.equal(await list(), renamed)
        for (const [index, name] of names.entries()) await changing(BigInt(index + 1), { name })(store)
        const edited = write(`edited.${format}`, readFileSync(file, 'utf8').replaceAll('available', 'sold'))
        const changed = await command('import', '--update', edited)
        assert.match(changed.err, /^5 animals changed, 10 unchanged, 0 rejected in /m)
        assert.equal(await list(), before.replaceAll('available', 'sold'))
      })

    test('the tag of an export is that of the animal', async t => {
      const { command } = await useCatalogue(t, open)
      const lines = (await command('export', '--etags')).out.trimEnd().split('\n')
      for (const line of lines) {
        const { etag } = JSON.parse(line)
        assert.equal(etag, `"${tagOf(line.replace(/,"etag".*/, '}'))}"`)
      }
      const { out } = await command('export', '--etags', '--format', 'csv')
      assert.ok(
        out.startsWith(
          `id,name,categoryId,status,etag\n1,Bella,7,available,"""${BELLA_TAG?.slice(1, -1)}"""\n`,
        ),
      )
    })

    test('what changes between reading and writing is not lost', async t => {
      const { store, list } = await useCatalogue(t, open)
      const edits = (changes: Meanwhile) => ({
        ...store,
        async write(writes: Parameters<Store['write']>[0]) {
          await changes(store)
          return store.write(writes)
        },
      })
      let times = 0
      const renameOnce = async (other: Store) => times++ === 0 && changing(1n, { name: 'Bello' })(other)
      const said: string[] = []
      const task = (rows: readonly Values[], options: Partial<UpdateTask>): UpdateTask => ({
        source: { name: 'input', stream: streamOf(render('jsonl', rows)), share: () => undefined },
        format: 'jsonl',
        fromLine: 1,
        skipInvalid: true,
        dryRun: false,
        overwrite: false,
        databaseUrl: { kind: 'sqlite', path: 'animals.db' },
        progress: { update() {}, end() {} },
        signal: new AbortController().signal,
        say: text => void said.push(text),
        ...options,
      })
      await updateAll(task([{ id: '1', status: 'sold' }], { overwrite: true }), edits(renameOnce))
      assert.equal(times, 2)
      assert.equal((await list()).split('\n')[0], BELLA_SOLD.replace('Bella', 'Bello'))
      const tag = `"${tagOf(BELLA_SOLD.replace('Bella', 'Bello'))}"`
      times = 0
      const renameAgain = async (other: Store) => times++ === 0 && changing(1n, { name: 'Max' })(other)
      const rows = [{ id: '1', status: 'pending', etag: tag }, exported(2, { status: 'pending' })]
      await updateAll(task(rows, {}), edits(renameAgain))
      assert.match(said.at(-2) ?? '', /^Line 1: the animal 1 was changed since the export\.$/)
      assert.match(said.at(-1) ?? '', /^1 animal changed, 0 unchanged, 1 rejected in /)
      times = 0
      const removeOnce = async (other: Store) => times++ === 0 && removing(3n)(other)
      await updateAll(task([exported(3, { status: 'sold' })], {}), edits(removeOnce))
      assert.match(said.at(-2) ?? '', /^Line 1: no animal has the id 3\.$/)
    })

    test('a run that was stopped, and one that was killed, can be repeated while another program sells', async t => {
      const count = 6_000
      const animals = Array.from({ length: count }, (_, index) => `{"name":"a ${index}","categoryId":1}`)
      const { env, folder, write, store, list } = await useCatalogue(t, open, animals)
      assert.equal((await runInProcess(['export', join(folder, 'out.csv'), '--etags'], env)).code, 0)
      // Every third animal gets a category; the other program sells every hundredth.
      const lines = readFileSync(join(folder, 'out.csv'), 'utf8').split('\n')
      const edited = lines.map((line, index) => (index % 3 === 1 ? line.replace(',1,', ',2,') : line))
      const file = write('edited.csv', edited.join('\n'))
      const isEdited = async (id: bigint) =>
        (parseAnimalJson((await store.findAnimalAsJson(id)) ?? '{}') as { categoryId: bigint }).categoryId ===
        2n
      const half = edited.slice(0, count / 2 + 1).join('\n')
      for (const [signal, last] of [
        ['SIGINT', 1n],
        ['SIGKILL', 2_998n],
      ] as const) {
        const args = ['import', '--update', '-', '--format', 'csv']
        const running = start(t, args, { cwd: folder, env, input: `${half}\n`, isInputOpen: true })
        await waitUntil(() => isEdited(last), { what: `animal ${last} is changed` })
        running.child.kill(signal)
        const { code, err } = await running.ended
        if (signal === 'SIGINT') {
          assert.equal(code, 130)
          assert.match(
            err,
            /^Stopped\. [\d,]+ animals? changed, [\d,]+ unchanged, 0 rejected in .*\.(?: Resume with --from-line \d+\.)?$/m,
          )
        }
      }
      const sold: bigint[] = []
      for (let id = 3n; id <= BigInt(count); id += 100n) sold.push(id)
      const selling = (async () => {
        for (const id of sold) await changing(id, { status: 'sold' })(store)
      })()
      const ended = await run(t, ['import', '--update', file, '--skip-invalid'], { cwd: folder, env })
      await selling
      assert.equal(ended.code, 0, ended.err)
      const rejected = Number(LAST_LINE.exec(ended.err.replaceAll(/(\d),(?=\d)/g, '$1'))?.[3])
      const after = (await list()).trimEnd().split('\n')
      assert.equal(after.length, count)
      let lost = 0
      for (const [index, line] of after.entries()) {
        const id = index + 1
        const status = sold.includes(BigInt(id)) ? ',"status":"sold"' : ''
        const is = (category: number) =>
          line === `{"id":${id},"name":"a ${index}","categoryId":${category}${status}}`
        const isRow = id % 3 === 1
        // A row whose animal was sold first is rejected, and reported. An earlier run may have written it before.
        const isRejected = ended.err.includes(`the animal ${id} was changed since the export`)
        if (isRejected) lost++
        assert.ok(is(isRow ? 2 : 1) || (isRejected && is(1)), line)
        assert.ok(!isRejected || (isRow && status !== ''), line)
      }
      assert.equal(lost, rejected)
    })
  })
}

function streamOf(text: string) {
  return Readable.from([Buffer.from(text)])
}

suite('ids in a file', () => {
  for (const [format, says] of [
    ['csv', /^The column "id" is left out: every row becomes a new animal .* import --update; .* copy\.$/m],
    ['jsonl', /^The member "id" is left out, from line 1 on: .* import --update; .* copy\.$/m],
  ] as const)
    test(`without --update, they are left out, which is said (${format})`, async t => {
      const { command, write, list } = await useCatalogue(t, DATABASES.SQLite as never)
      const { code, err } = await command('import', write(`in.${format}`, render(format, [exported(1)])))
      assert.equal(code, 0, err)
      assert.match(err, says)
      assert.equal((await list()).trimEnd().split('\n').at(-1), BELLA.replace('1', '4'))
    })

  test('a rounded id that is that of another animal does not change it', async t => {
    const { command, folder, write, list } = await useCatalogue(t, DATABASES.SQLite as never, [])
    runSql(
      join(folder, 'animals.db'),
      `insert into animals (id, name, category_id) values (9007199254740990, 'A', 1), (9007199254740993, 'B', 1)`,
    )
    const { out } = await command('export', '--etags', '--format', 'csv')
    const before = await list()
    const [header, , row = ''] = out.split('\n')
    const file = write('edited.csv', `${header}\n${row.replace('0993,B', '0990,C')}\n`)
    const { code, err } = await command('import', '--update', file)
    assert.equal(code, 1)
    assert.match(err, /: the animal 9007199254740990 was changed since the export; spreadsheets round ids/)
    assert.equal(await list(), before)
  })

  test('a set of ids knows each one, in at most 16 bytes', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const ids = (from: bigint, step: bigint) =>
      Array.from({ length: 100_000 }, (_, at) => from + BigInt(at) * step)
    const all = [0n, 2n ** 63n - 1n, -(2n ** 63n), -1n, ...ids(1n, 1n), ...ids(2n ** 40n, 2n ** 32n)]
    collect()
    const before = process.memoryUsage().arrayBuffers
    const set = createIdSet()
    assert.ok(all.every(id => set.add(id)))
    collect()
    const bytes = process.memoryUsage().arrayBuffers - before
    assert.ok(bytes <= 16 * all.length, `${bytes} bytes for ${all.length} ids`)
    assert.ok(all.every(id => !set.add(id)))
  })
})

suite('the flags of import --update', () => {
  test('--overwrite is refused without --update', async () => {
    const { code, err } = await runInProcess(['import', 'a.csv', '--overwrite'], {})
    assert.deepEqual([code, err], [2, '--overwrite is for --update: a new animal overwrites nothing\n'])
  })

  test('no database is created for it', async () => {
    const folder = temporaryFolder()
    const env = { DATABASE_URL: `sqlite:${join(folder, 'animals.db')}` }
    const file = join(folder, 'in.jsonl')
    writeFileSync(file, BELLA)
    assert.equal((await runInProcess(['import', '--update', file], env)).code, 1)
    assert.equal(existsSync(join(folder, 'animals.db')), false)
  })

  test('the help says that it removes nothing', async () => {
    const { out } = await runInProcess(['import', '--help'], {})
    assert.match(out.replaceAll(/\s+/g, ' '), /It removes nothing/)
  })
})
