// Checks the layout that docs/architecture.md describes, through the import lines.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const find = (...patterns: string[]) =>
  globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules/**'] }).map(file => file.split(sep).join('/'))

/** What the packages consist of. */
const FILES = find('src/**/*.ts', 'client/src/**/*.ts')

/** What measures and tests them. */
const TOOLS = find('bench/**/*.ts', 'experiments/**/*.ts', 'test/**/*.ts')

/** The domain: the only files at the root of src/ besides main.ts. */
const DOMAIN = [
  'animal',
  'animal-json',
  'api-key',
  'clock',
  'number-format',
  'csv',
  'error',
  'etag',
  'idempotency',
  'int64',
  'json',
  'page',
  'store',
  'system-error',
  'write',
].map(name => `src/${name}.ts`)

/** Which parts each part may import, besides itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  client: [],
  domain: [],
  'src/database': ['domain'],
  // The one file that knows all databases.
  'src/database/open.ts': ['domain', 'src/database', 'src/database/sqlite', 'src/database/postgres'],
  'src/database/sqlite': ['domain', 'src/database'],
  'src/database/postgres': ['domain', 'src/database'],
  'src/http/server': ['domain'],
  'src/http/api': ['domain', 'src/http/server'],
  'src/http': ['domain', 'src/http/server', 'src/http/api'],
  'src/metrics': ['domain', 'src/http/server', 'src/http/api'],
  'src/web': ['domain', 'src/web/samples'],
  'src/web/samples': [],
  'src/web/browser': ['domain', 'client', 'src/web/samples'],
  'src/cli': ['domain', 'src/database', 'src/database/open.ts', 'src/http/api'],
  // Backup and restore are for SQLite alone.
  'src/cli/commands': [
    'domain',
    'src/cli',
    'src/database',
    'src/database/open.ts',
    'src/database/sqlite',
    'src/http/api',
  ],
  'src/cli/service': [
    'domain',
    'src/cli',
    'src/cli/commands',
    'src/database',
    'src/database/open.ts',
    'src/http',
    'src/http/api',
    'src/metrics',
    'src/web',
  ],
  // The one file that knows all commands.
  'src/cli/command-line.ts': ['domain', 'src/cli', 'src/cli/commands', 'src/cli/service'],
  'src/main.ts': ['domain', 'src/cli/command-line.ts'],
  // Benchmarks and experiments start the service as users do, except for what makes large databases.
  bench: ['client', 'domain', 'src/database/sqlite', 'src/database/postgres', 'test'],
  experiments: ['bench', 'client', 'domain', 'src/database/sqlite', 'test'],
}

function partOf(file: string): string {
  if (DOMAIN.includes(file)) return 'domain'
  if (['src/main.ts', 'src/cli/command-line.ts', 'src/database/open.ts'].includes(file)) return file
  const [folder = ''] = file.split('/')
  if (folder !== 'src') return folder
  return dirname(file).replace(/\/migrations$/, '')
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

function importsOf(file: string): string[] {
  return [...textOf(file).matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\s*\()'([^']+)'/g)].map(
    ([, target = '']) =>
      target.startsWith('.')
        ? relative('.', join(dirname(file), target))
            .split(sep)
            .join('/')
        : target,
  )
}

suite('the layout', () => {
  test('has only the domain and main.ts at the root of src/', () => {
    const atRoot = FILES.filter(file => /^src\/[^/]+$/.test(file))
    assert.deepEqual(atRoot.sort(), [...DOMAIN, 'src/main.ts'].sort())
  })

  test('has only the imports that ALLOWED lists', () => {
    const checked = [...FILES, ...TOOLS.filter(file => partOf(file) !== 'test')]
    const forbidden = checked.flatMap(file =>
      importsOf(file)
        .filter(target => /^(src|client|test|bench|experiments)\//.test(target))
        .filter(target => ![partOf(file), ...(ALLOWED[partOf(file)] ?? [])].includes(partOf(target)))
        .map(target => `${file} → ${target}`),
    )
    assert.deepEqual(forbidden, [])
  })

  test('has no import cycle', () => {
    const all = [...FILES, ...TOOLS]
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      assert.ok(!path.includes(file), [...path, file].join(' → '))
      if (done.has(file)) return
      for (const target of importsOf(file).filter(target => all.includes(target)))
        visit(target, [...path, file])
      done.add(file)
    }
    for (const file of all) visit(file, [])
  })

  test('reads flags and environment variables in few places', () => {
    // The code samples of the reference page contain process.env, but only as text.
    const code = FILES.filter(file => partOf(file) !== 'src/web/samples')
    const readers = code.filter(file => /process\.(env|argv)|parseArgs\(/.test(textOf(file)))
    assert.deepEqual(readers.sort(), [
      'src/cli/read-settings.ts',
      'src/cli/service/stop-signals.ts',
      // Only passes them on to a thread.
      'src/database/sqlite/writer.ts',
      'src/main.ts',
    ])
  })

  test('uses no Node.js module in code that runs in browsers', () => {
    const reached = new Set<string>()
    const follow = (file: string): void => {
      if (reached.has(file)) return
      reached.add(file)
      if (FILES.includes(file)) importsOf(file).forEach(follow)
    }
    FILES.filter(file => ['client', 'src/web/browser'].includes(partOf(file))).forEach(follow)
    assert.ok(reached.has('src/int64.ts'))
    assert.deepEqual(
      [...reached].filter(target => !FILES.includes(target)),
      [],
    )
  })

  test('gives no two files of the service the same name, except those that mirror each other for two databases', () => {
    const folders = Map.groupBy(
      FILES.filter(file => file.startsWith('src/') && !file.includes('/migrations/')),
      file => file.split('/').at(-1),
    )
    const shared = [...folders.values()]
      .filter(({ length }) => length > 1)
      .map(files => files.map(partOf).sort())
    for (const parts of shared) assert.deepEqual(parts, ['src/database/postgres', 'src/database/sqlite'])
  })

  test('uses each library only in its own folders', () => {
    const users = (library: string) =>
      [...new Set(FILES.filter(file => importsOf(file).includes(library)).map(partOf))].sort()
    assert.deepEqual(users('node:sqlite'), ['src/database/sqlite'])
    assert.deepEqual(users('pg'), ['src/database/postgres'])
    assert.deepEqual(users('pino'), ['src/cli/service', 'src/http', 'src/http/server'])
    assert.deepEqual(users('node:http'), ['src/http', 'src/http/server'])
    assert.deepEqual(users('prom-client'), ['src/metrics'])
  })

  test('declares exactly the dependencies that it uses', () => {
    const { dependencies } = JSON.parse(textOf('package.json'))
    const used = FILES.flatMap(importsOf).filter(
      target => !/^(src\/|client\/|node:|animal-store)/.test(target),
    )
    const packages = used.map(target => /^(@[^/]+\/)?[^/]+/.exec(target)?.[0])
    assert.deepEqual([...new Set(packages)].sort(), Object.keys(dependencies).sort())
    assert.equal(JSON.parse(textOf('client/package.json')).dependencies, undefined)
  })

  test('has a first line in each file that says what the file is', () => {
    for (const file of FILES.filter(file => !file.includes('/migrations/')))
      assert.match(textOf(file), /^\/\/ [A-Z`]/, file)
  })
})
