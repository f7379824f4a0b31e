// The bundles of the pages' scripts: modules may use the same names, and every name that a module uses exists.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bundle } from '../src/web/bundle.ts'
import { shared, startTestService, temporaryFolder } from './support/service.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

async function run(modules: Record<string, string>, entry = 'entry'): Promise<Record<string, unknown>> {
  const script = bundle(entry, path => modules[path] ?? assert.fail(`there is no module ${path}`))
  return import(`data:text/javascript,${encodeURIComponent(script)}`)
}

suite('a bundle', () => {
  test('exports what its entry exports', async () => {
    const exported = await run({
      entry: `import { one, two as second } from './folder/numbers.ts'
export const sum = one + second
export function twice(value) { return value * 2 }
export class Kind {}
export async function later() { return sum }
export function* values() { yield one }
const hidden = 4
export { hidden as shown }
export { one, two as other } from './folder/numbers.ts'
`,
      'folder/numbers': `export const one = 1;\nexport const two = 2;\nexport {};\n`,
    })
    assert.deepEqual(Object.keys(exported).sort(), [
      ...['Kind', 'later', 'one', 'other', 'shown', 'sum', 'twice', 'values'],
    ])
    const { sum, shown, one, other } = exported
    assert.deepEqual([sum, shown, one, other], [3, 4, 1, 2])
  })

  test('runs each module once, after those that it imports, with names of its own', async () => {
    const { log } = await run({
      entry: `import { add } from '../log.js';\nimport { a } from './a.js';\nimport { b } from './b.js';\nconst name = 'entry';\nexport const log = add(name + a + b);\n`,
      a: `import { add } from '../log.js';\nconst name = 'a';\nadd(name);\nexport const a = 1;\n`,
      b: `import {\n  a as fromA,\n} from './a.js';\nimport { add } from '../log.js';\nconst name = 'b';\nadd(name);\nexport const b = fromA + 1;\n`,
      log: `const entries = [];\nexport function add(text) { entries.push(text); return entries }\n`,
    })
    assert.deepEqual(log, ['a', 'b', 'entry12'])
  })

  test('leaves out blank lines and comments on lines of their own, and nothing else', () => {
    const source = `// first
/** One line. */
const a = 1 // kept
  /**
   * Several lines.
   */

/** x */ const b = '// kept'
const c = \`
  kept\`
`
    assert.equal(
      bundle('entry', () => source),
      "const $0 = (() => {\nconst a = 1 // kept\n/** x */ const b = '// kept'\nconst c = `\n  kept`\n\nreturn {  };\n})();\n",
    )
  })

  for (const source of [
    "import everything from './other.ts'",
    "import * as other from './other.ts'",
    "import './other.ts'",
    "export * from './other.ts'",
    'export default 1',
    'export let count = 0',
  ]) {
    test(`cannot be made with: ${source}`, () => {
      assert.throws(
        () => bundle('entry', path => (path === 'entry' ? source : '')),
        /^Error: entry cannot be bundled, because of/,
      )
    })
  }
})

test('a bundle cannot be made if an imported name does not exist', () => {
  const modules: Record<string, string> = {
    entry: "import { a, b } from './other.ts'",
    other: 'export const a = 1\nconst b = 2\n',
  }
  assert.throws(
    () => bundle('entry', path => modules[path] ?? ''),
    /^Error: entry imports b, which \.\/other\.ts does not export$/,
  )
})

suite('the scripts of the pages', () => {
  const service = shared(startTestService)

  test('use only names that exist', { timeout: 120_000 }, async t => {
    const folder = temporaryFolder(t)
    for (const name of ['catalogue.js', 'reference.js']) {
      const { status, text } = await service().send('GET', `/assets/${name}`)
      assert.equal(status, 200)
      // `export {}` makes each file a module, so that the two files do not share their names.
      writeFileSync(join(folder, name), `${text}export {}\n`)
    }
    const options = [
      '--allowJs',
      '--checkJs',
      '--noEmit',
      '--target',
      'esnext',
      '--lib',
      'esnext,dom,dom.iterable',
    ]
    const files = ['catalogue.js', 'reference.js'].map(name => join(folder, name))
    const output = await new Promise<string>(resolve => {
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
      execFile(
        process.execPath,
        [tsc, ...options, '--types', '', '--strict', 'false', ...files],
        { cwd: folder, maxBuffer: 2 ** 24 },
        (_, out) => resolve(out),
      )
    })
    // Looks for syntax errors and unknown names only. The scripts have no types, so their other errors mean nothing.
    assert.deepEqual(output.match(/.*error TS(?:1\d{3}|2304|2305|2307|2451|2552|2663|18004):.*/g) ?? [], [])
    assert.doesNotMatch(output, /error TS[56]\d{3}/)
  })
})
