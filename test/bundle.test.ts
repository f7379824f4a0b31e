// The bundles of the pages' scripts: modules may use the same names, and every name that a module uses exists.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bundle } from '../src/web/bundle.ts'
import { shared, startTestService, temporaryFolder } from './support/service.ts'

const TSC = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))

function bundleOf(modules: Record<string, string>): string {
  return bundle('entry', path => modules[path] ?? assert.fail(`there is no module ${path}`))
}

suite('a bundle', () => {
  test('runs each module once, after those that it imports, with names of its own', async () => {
    const script = bundleOf({
      entry: `import { add } from './folder/log.ts'
import { a } from './a.ts'
import { b } from './b.ts'
const name = 'entry'
export const log = add(name + a + b)
export function twice(value) { return value * 2 }
export class Kind {}
export async function later() { return name }
export { a, add } from './reexports.ts'
`,
      a: `import { add } from './folder/log.js';\nconst name = 'a';\nadd(name);\nexport const a = 1;\n`,
      b: `import {\n  a,\n} from './a.js';\nimport { add } from './folder/log.js';\nconst name = 'b';\nadd(name);\nexport const b = a + 1;\n`,
      reexports: `export { a } from './a.js';\nimport { add } from './folder/log.js';\nexport { add };\n`,
      'folder/log': `const entries = [];\nexport function add(text) { entries.push(text); return entries }\nexport {};\n`,
    })
    const exported = await import(`data:text/javascript,${encodeURIComponent(script)}`)
    assert.deepEqual(Object.keys(exported).sort(), ['Kind', 'a', 'add', 'later', 'log', 'twice'])
    assert.deepEqual(exported.log, ['a', 'b', 'entry12'])
  })

  test('leaves out indentation, blank lines and comments on lines of their own, and nothing else', () => {
    const entry = `// first
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
      bundleOf({ entry }),
      "const $0 = (() => {\nconst a = 1 // kept\n/** x */ const b = '// kept'\nconst c = `\nkept`\n\nreturn {  };\n})();\n",
    )
  })

  test('cannot be made with other kinds of imports and exports', () => {
    for (const entry of [
      "import everything from './other.ts'",
      "import * as other from './other.ts'",
      "import './other.ts'",
      "export * from './other.ts'",
      'export default 1',
      'export let count = 0',
    ])
      assert.throws(
        () => bundleOf({ entry, other: '' }),
        /^Error: entry cannot be bundled, because of/,
        entry,
      )
  })
})

suite('the scripts of the pages', () => {
  const service = shared(startTestService)

  test('use only names that exist', async () => {
    const folder = temporaryFolder()
    const names = ['catalogue.js', 'reference.js']
    for (const name of names) {
      const { status, text } = await service().send('GET', `/assets/${name}`)
      assert.equal(status, 200)
      // `export {}` makes each file a module, so that the two files do not share their names.
      writeFileSync(join(folder, name), `${text}export {}\n`)
    }
    const options =
      '--allowJs --checkJs --noEmit --target esnext --lib esnext,dom,dom.iterable --strict false'
    const args = [TSC, ...options.split(' '), '--types', '', ...names]
    const output = await new Promise<string>(resolve => {
      execFile(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 24 }, (_, out) => resolve(out))
    })
    // Looks for syntax errors and unknown names only. The scripts have no types, so their other errors mean nothing.
    assert.deepEqual(output.match(/.*error TS(?:1\d{3}|2304|2305|2307|2451|2552|2663|18004):.*/g) ?? [], [])
    assert.doesNotMatch(output, /error TS[56]\d{3}/)
  })
})
