// The documents, held to the code that they speak of.

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, test } from 'node:test'
import { defaultText } from '../src/cli/read-settings.ts'
import { SETTINGS, type Setting } from '../src/cli/settings.ts'
import { STATUS_OF } from '../src/error.ts'

const ROOT = new URL('..', import.meta.url).pathname
const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT })

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

suite('the documents', () => {
  test('the table of errors has just the codes there are, with their statuses', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, code, status]) => [
      code,
      Number(status),
    ])
    assert.deepEqual(Object.fromEntries(rows), STATUS_OF)
    assert.equal(rows.length, Object.keys(STATUS_OF).length)
  })

  test('the table of settings in the README has just the settings of serve, with their defaults', () => {
    const rows = [
      ...read('README.md').matchAll(/^\| (`--[\w-]+`|\(none: a secret\)) \| `(\w+)` \| (.*?) \| /gm),
    ].map(([, flag = '', variable, standard = '']) => [
      flag.replaceAll('`', ''),
      variable,
      standard.replaceAll('`', ''),
    ])
    const settings = Object.values<Setting<unknown>>(SETTINGS)
      .filter(({ variable }) => variable !== undefined)
      .map(setting => [
        setting.flag ? `--${setting.flag}` : '(none: a secret)',
        setting.variable,
        defaultText(setting),
      ])
    assert.deepEqual(rows, settings)
  })

  test('every link leads somewhere', () => {
    for (const page of PAGES) {
      for (const [, target = ''] of read(page).matchAll(/\]\(([^)]+)\)/g)) {
        if (/^https?:/.test(target)) continue
        const path = join(dirname(page), target.split('#', 1)[0] ?? '')
        assert.ok(existsSync(join(ROOT, path)), `${page} links to ${target}`)
      }
    }
  })

  test('every decision is in the index, and every decision that the code names is there', () => {
    const index = read('docs/decisions/README.md')
    const records = PAGES.filter(page => page.startsWith('docs/decisions/') && !page.endsWith('README.md'))
    assert.ok(records.length > 20)
    for (const record of records) {
      assert.ok(index.includes(`(${record.slice('docs/decisions/'.length)})`), record)
      for (const part of ['The gap.', 'Decided.', 'Why.', 'Turned down.'])
        assert.ok(read(record).includes(`**${part}**`), `${record}: ${part}`)
    }
    for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
      for (const [name] of read(file).matchAll(/docs\/[\w/-]+\.md/g))
        assert.ok(existsSync(join(ROOT, name)), `${file} names ${name}`)
    }
  })

  test('every npm script and every file that is named exists', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const page of PAGES) {
      for (const [, script = ''] of read(page).matchAll(/npm run (?:--silent )?([\w:-]+)/g))
        assert.ok(script in scripts, `${page}: npm run ${script}`)
      for (const [, file = ''] of read(page).matchAll(/`((?:src|test|bin|docs|scripts)\/[\w./-]+)`/g)) {
        assert.ok(existsSync(join(ROOT, file)), `${page} names ${file}`)
      }
    }
  })
})
