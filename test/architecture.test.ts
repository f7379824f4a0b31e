// The plan of the house, held to by its import lines.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { suite, test } from 'node:test'

const ROOT = new URL('..', import.meta.url).pathname
const FILES = globSync('src/**/*.{ts,js}', { cwd: ROOT }).map(file => file.split(sep).join('/'))

/** '' for the domain at the root of src/, else the name of the folder. */
function roomOf(file: string): string {
  const [, room = '', inside] = file.split('/')
  return inside === undefined ? '' : room
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\s*\()'([^']+)'/g)].map(([, target = '']) =>
    target.startsWith('.')
      ? relative('.', join(dirname(file), target))
          .split(sep)
          .join('/')
      : target,
  )
}

suite('the plan of the house', () => {
  test('there is a house', () => {
    assert.ok(FILES.length > 30)
    assert.ok(FILES.includes('src/store.ts'))
  })

  test('the domain imports no folder, and no folder another, but for cli/, where all meet, and the page, which uses the client', () => {
    const crossings = FILES.flatMap(file =>
      importsOf(file)
        .filter(target => target.startsWith('src/'))
        .filter(target => ![roomOf(file), ''].includes(roomOf(target)))
        .map(target => `${file} → ${target}`),
    )
    const allowed = (arrow: string) =>
      /^src\/(cli\/.* → |main\.ts → src\/cli\/|page\/browser\/.* → src\/client\/)/.test(arrow)
    assert.deepEqual(
      crossings.filter(arrow => !allowed(arrow)),
      [],
    )
  })

  test('only settings.ts reads flags and variables, and only main.ts hands them over', () => {
    const readers = FILES.filter(file =>
      /process\.(env|argv)|parseArgs\(/.test(readFileSync(join(ROOT, file), 'utf8')),
    )
    assert.deepEqual(readers.sort(), ['src/main.ts', 'src/settings.ts'])
  })

  test('what runs in browsers knows nothing of Node', () => {
    const reached = new Set<string>()
    const follow = (file: string): void => {
      if (reached.has(file)) return
      reached.add(file)
      if (file.startsWith('src/')) importsOf(file).forEach(follow)
    }
    const entries = FILES.filter(file => /^src\/(client|page\/browser)\//.test(file))
    entries.forEach(follow)
    assert.ok(reached.has('src/json.ts'))
    assert.deepEqual(
      [...reached].filter(target => !target.startsWith('src/')),
      [],
    )
  })

  test('each outside thing is known to its folder alone', () => {
    const users = (name: RegExp) =>
      [...new Set(FILES.filter(file => importsOf(file).some(target => name.test(target))).map(roomOf))].sort()
    assert.deepEqual(users(/^node:sqlite$/), ['sqlite'])
    assert.deepEqual(users(/^pino$/), ['cli', 'http'])
    assert.deepEqual(users(/^node:http$/), ['http'])
  })

  test('every dependency of the source is declared, and every declared one is used', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const used = new Set(
      FILES.flatMap(importsOf).filter(target => !/^(src\/|node:|animal-store\/)/.test(target)),
    )
    assert.deepEqual([...used].sort(), Object.keys(dependencies).sort())
  })

  test('every file opens by naming its room', () => {
    for (const file of FILES.filter(file => !file.includes('/migrations/'))) {
      assert.match(readFileSync(join(ROOT, file), 'utf8'), /^\/\/ [A-Z`]/, file)
    }
  })
})
