// The tutorial, run as it stands: every command, in order, in one shell, and what it prints held to what it says.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { start } from './support/command.ts'
import { freePort } from './support/postgres.ts'
import { temporaryFolder } from './support/service.ts'

const ROOT = new URL('..', import.meta.url).pathname
const NEEDED = ['bin', 'scripts', 'src', 'test/support', 'package.json', 'README.md']
const CONFIGURATIONS = ['tsconfig.json', 'tsconfig.build.json', 'tsconfig.browser.json']

interface Step {
  readonly commands: string
  /** In a terminal of its own, where it goes on. */
  readonly isApart: boolean
  readonly expected: string | undefined
}

/** The blocks of a document that are commands, each with the block of output that follows it. */
function stepsOf(document: string): Step[] {
  const steps: Step[] = []
  const blocks = document.matchAll(/^```([\w ]*)\n([\s\S]*?)^```$/gm)
  let last: Step | undefined
  for (const [, kind = '', text = ''] of blocks) {
    if (kind === '') {
      assert.ok(last, 'output without a command')
      steps[steps.length - 1] = { ...last, expected: text }
    } else if (kind !== 'sh install') {
      assert.match(kind, /^sh( terminal)?$/)
      last = { commands: text, isApart: kind === 'sh terminal', expected: undefined }
      steps.push(last)
    }
  }
  return steps
}

/** All steps as one script: what each prints goes to a file of its own. */
function scriptOf(steps: readonly Step[]): string {
  const parts = steps.map(({ commands, isApart }, index) =>
    isApart
      ? `(${commands}) > ${index}.out 2>&1 &\nuntil grep -q listening ${index}.out; do kill -0 $! || exit 1; sleep 0.1; done`
      : `{\n${commands}} > ${index}.out 2>&1`,
  )
  return `set -eu\n${parts.join('\n')}\n`
}

/** `…` stands for anything. */
function patternOf(expected: string): RegExp {
  const parts = expected.trim().split(/\s*…\s*/)
  return new RegExp(`^\\s*${parts.map(part => RegExp.escape(part)).join('[\\s\\S]*')}\\s*$`)
}

/** Like a checkout, where the tutorial may build and write what it likes. */
function checkout(t: TestContext): string {
  const folder = temporaryFolder(t)
  for (const path of [...NEEDED, ...CONFIGURATIONS]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

test('the tutorial does what it says', async t => {
  const cwd = checkout(t)
  let document = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8')
  for (const port of ['54329', '8080', '8081']) document = document.replaceAll(port, String(await freePort()))
  const steps = stepsOf(document)
  assert.ok(steps.length > 10)
  writeFileSync(join(cwd, 'tutorial.sh'), scriptOf(steps))
  const { ended } = start(t, [], { cwd, program: ['sh', 'tutorial.sh'], isGroup: true, env: { HOME: cwd } })
  const { code, err } = await ended
  for (const [index, { commands, expected = '…' }] of steps.entries()) {
    const file = join(cwd, `${index}.out`)
    assert.ok(existsSync(file), `${err}\nit did not get to ${commands}`)
    assert.match(readFileSync(file, 'utf8'), patternOf(expected), `${err}\n${commands}`)
  }
  assert.equal(code, 0, err)
})
