// The documentation, checked against the code that it describes.

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { defaultText } from '../src/cli/help.ts'
import { SETTINGS, type Setting } from '../src/cli/settings.ts'
import { WRITE_LIMITS } from '../src/database/batching.ts'
import { HTTP_STATUS_OF } from '../src/error.ts'
import { inKib, MAX_BODY_BYTES, MAX_HEADER_BYTES } from '../src/http/server/protocol-errors.ts'
import { SERVER_LIMITS } from '../src/http/server/server.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = filesOf('*.md', 'docs/**/*.md', 'experiments/*.md')
const SOURCES = filesOf('src/**/*.ts')

const INDEX = 'docs/decisions/README.md'
const RECORD_PARTS = ['Decision.', 'Reason.']

const SCRIPT_NAME = /npm run (?:--silent )?([\w:-]+)/g
const FILE_NAME = /`((?:src|client|test|experiments|bench|bin|deploy|docs|scripts)\/[\w./-]*)`/g

function filesOf(...patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: ROOT }).map(file => file.split(sep).join('/'))
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

function leadsSomewhere(page: string, target: string): boolean {
  const [path = '', heading] = target.split('#', 2)
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, file))) return false
  return heading === undefined || headingsOf(read(file)).includes(heading)
}

/** The headings of a page as GitHub writes them in links. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
}

suite('the documentation', () => {
  test('lists exactly the error codes of the service, with their statuses', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, code, status]) => [
      code,
      Number(status),
    ])
    assert.deepEqual(Object.fromEntries(rows), HTTP_STATUS_OF)
    assert.equal(rows.length, Object.keys(HTTP_STATUS_OF).length)
  })

  test('gives the size limits of the service in the table of errors', () => {
    const rowOf = (code: string) => new RegExp(`^\\| \`${code}\` .*$`, 'm').exec(read('docs/errors.md'))?.[0]
    assert.ok(rowOf('payload_too_large')?.includes(inKib(MAX_BODY_BYTES)))
    assert.ok(rowOf('headers_too_large')?.includes(inKib(MAX_HEADER_BYTES)))
  })

  test('gives the limits of connections and requests in the decision about overload', () => {
    const { connections, requests } = SERVER_LIMITS
    const rows = read('docs/decisions/overload.md')
    for (const [what, limit] of [
      ['connections', connections.toLocaleString('en')],
      ['requests in flight', requests.toLocaleString('en')],
      ['writes that wait to be stored', WRITE_LIMITS.queueLength.toLocaleString('en')],
    ])
      assert.ok(rows.includes(`\n| ${what} | ${limit} |`), what)
  })

  test('lists exactly the settings of serve, with their defaults, and six of them in the README', () => {
    const rowsOf = (page: string) =>
      [...read(page).matchAll(/^\| (`--[\w-]+`|\(none: a secret\)) \| `(\w+)` \| (.*?) \| /gm)].map(
        ([, flag = '', variable, defaultValue = '']) => [
          flag.replaceAll('`', ''),
          variable,
          defaultValue.replaceAll('`', ''),
        ],
      )
    const settings = Object.values<Setting<unknown>>(SETTINGS)
      .filter(({ variable }) => variable !== undefined)
      .map(setting => [
        setting.flag ? `--${setting.flag}` : '(none: a secret)',
        setting.variable,
        defaultText(setting),
      ])
    assert.deepEqual(rowsOf('docs/settings.md'), settings)
    const inReadme = rowsOf('README.md')
    assert.equal(inReadme.length, 6)
    const all = settings.map(row => row.join())
    assert.deepEqual(
      inReadme.filter(row => !all.includes(row.join())),
      [],
    )
  })

  test('lists exactly the folders of src/, and the files in src/ itself, in the layout', () => {
    const layout = /^## Layout$(.*?)^## /ms.exec(read('docs/architecture.md'))?.[1] ?? ''
    const listed = [...layout.matchAll(/^\| `(src\/[^`]*)` \|/gm)].map(([, path]) => path)
    const actual = new Set(SOURCES.map(file => (dirname(file) === 'src' ? file : `${dirname(file)}/`)))
    assert.deepEqual(listed.sort(), [...actual].sort())
  })

  test('links only to files and headings that exist', () => {
    const broken = PAGES.flatMap(page =>
      [...read(page).matchAll(/\]\(([^)]+)\)/g)]
        .map(([, target = '']) => target)
        .filter(target => !/^https?:/.test(target))
        .filter(target => !leadsSomewhere(page, target))
        .map(target => `${page} links to ${target}`),
    )
    assert.deepEqual(broken, [])
  })

  test('has every page in its index', () => {
    const index = read('docs/README.md')
    const unlisted = PAGES.filter(page => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md')
      .map(page => page.slice('docs/'.length))
      .filter(page => !index.includes(`](${page})`))
    assert.deepEqual(unlisted, [])
  })

  test('has every decision in the index under its title, and the same two parts in every decision', () => {
    const index = read(INDEX)
    const records = PAGES.filter(page => page.startsWith('docs/decisions/') && page !== INDEX)
    assert.ok(records.length > 10)
    for (const record of records) {
      const text = read(record)
      const title = /^# (.+)$/m.exec(text)?.[1]
      const file = record.slice('docs/decisions/'.length)
      assert.ok(index.includes(`[${title}](${file})`), `${record} is not in the index as "${title}"`)
      const parts = [...text.matchAll(/^\*\*(.+?)\*\*/gm)].map(([, part]) => part)
      assert.deepEqual(parts, RECORD_PARTS, record)
    }
  })

  test('has every page that a comment in src/ names', () => {
    for (const file of SOURCES) {
      for (const [name] of read(file).matchAll(/docs\/[\w/-]+\.md/g))
        assert.ok(existsSync(join(ROOT, name)), `${file} names ${name}`)
    }
  })

  test('names only npm scripts and files that exist', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const matches = (page: string, pattern: RegExp) =>
      [...read(page).matchAll(pattern)].map(([, name = '']) => name)
    const unknown = PAGES.flatMap(page =>
      [
        ...matches(page, SCRIPT_NAME).filter(script => !(script in scripts)),
        ...matches(page, FILE_NAME).filter(file => !existsSync(join(ROOT, file))),
      ].map(name => `${page} names ${name}`),
    )
    assert.deepEqual(unknown, [])
  })

  test('has every variable of serve in .env.example, with its default', () => {
    const lines = read('.env.example')
    for (const setting of Object.values<Setting<unknown>>(SETTINGS)) {
      if (setting.variable === undefined) continue
      const [, value] = new RegExp(`^# ${setting.variable}=(.*)$`, 'm').exec(lines) ?? []
      assert.ok(value !== undefined, `${setting.variable} is missing`)
      const isPlain = ['string', 'number'].includes(typeof setting.default)
      if (isPlain) assert.equal(value, defaultText(setting), setting.variable)
    }
  })

  test('names every npm script in CONTRIBUTING.md or the README', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const text = read('CONTRIBUTING.md') + read('README.md')
    const unnamed = Object.keys(scripts)
      .filter(script => !/^(pre|post)/.test(script))
      .filter(script => !new RegExp(`npm (run )?${script}(?![\\w:-])`).test(text))
    assert.deepEqual(unnamed, [])
  })

  test('names the oldest supported Node.js wherever it matters', () => {
    const [, minimum = ''] = /MINIMUM_VERSION = '(\d+\.\d+)/.exec(read('bin/runtime.js')) ?? []
    for (const page of ['README.md', 'SECURITY.md', 'docs/run.md'])
      assert.ok(
        read(page).includes(`Node.js ${minimum} or later`) || read(page).includes(`${minimum} or later`),
        page,
      )
  })
})
