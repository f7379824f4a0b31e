// Runs every command of the tutorial, except `npm ci`, in one shell, in order, and compares the output to the tutorial.

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { COMPILER_ENV, start } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { skipWithout } from '../support/programs.ts'
import { temporaryFolder } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NEEDED = [
  'bin',
  'client',
  'scripts',
  'src',
  'test/support',
  'package.json',
  'README.md',
  'tsconfig.json',
]

interface Step {
  readonly commands: string
  /** The commands run in a terminal of their own and do not end. */
  readonly hasOwnTerminal: boolean
  readonly expected: string | undefined
}

/** The blocks of commands in a document, each with the block of output that follows it. */
function parseSteps(document: string): Step[] {
  const steps: Step[] = []
  const blocks = document.matchAll(/^```([\w ]*)\n([\s\S]*?)^```$/gm)
  let last: Step | undefined
  for (const [, kind = '', text = ''] of blocks) {
    if (kind === '') {
      assert.ok(last, 'output without a command')
      steps[steps.length - 1] = { ...last, expected: text }
    } else if (kind !== 'sh install') {
      assert.match(kind, /^sh( terminal)?$/)
      last = { commands: text, hasOwnTerminal: kind === 'sh terminal', expected: undefined }
      steps.push(last)
    }
  }
  return steps
}

/** One script with all steps. The output of each step goes to a file of its own. */
function toScript(steps: readonly Step[]): string {
  const parts = steps.map(({ commands, hasOwnTerminal }, index) =>
    hasOwnTerminal
      ? `touch ${index}.out\n(${commands}) > ${index}.out 2>&1 &\nuntil grep -q listening ${index}.out; do kill -0 $! || exit 1; sleep 0.1; done`
      : `{\n${commands}} > ${index}.out 2>&1`,
  )
  return `set -eu\n${parts.join('\n')}\n`
}

/** `…` matches any text. */
function toPattern(expected: string): RegExp {
  const parts = expected.trim().split(/\s*…\s*/)
  return new RegExp(`^\\s*${parts.map(part => RegExp.escape(part)).join('[\\s\\S]*')}\\s*$`)
}

/** A copy of the repository, in which the tutorial may build and write files. */
function copyRepository(): string {
  const folder = temporaryFolder()
  for (const path of NEEDED) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    const target = name === 'animal-store-client' ? '../client' : join(ROOT, 'node_modules', name)
    symlinkSync(target, join(folder, 'node_modules', name))
  }
  return folder
}

test('the commands of the tutorial print what the tutorial says', { skip: skipWithout('curl') }, async t => {
  const cwd = copyRepository()
  let document = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8')
  for (const port of ['54329', '8080', '8081']) document = document.replaceAll(port, String(await freePort()))
  const steps = parseSteps(document)
  assert.ok(steps.length > 10)
  writeFileSync(join(cwd, 'tutorial.sh'), toScript(steps))
  const env = { HOME: cwd, npm_config_offline: 'true', ...COMPILER_ENV }
  const { ended } = start(t, [], { cwd, program: ['sh', 'tutorial.sh'], isGroup: true, env })
  const { code, err } = await ended
  const files = steps.map((_, index) => join(cwd, `${index}.out`))
  const outputs = files.filter(file => existsSync(file)).map(file => readFileSync(file, 'utf8'))
  assert.equal(code, 0, `${err}\n${outputs.join('\n')}`)
  for (const [index, { commands, expected = '…' }] of steps.entries()) {
    assert.match(outputs[index] ?? '', toPattern(expected), commands)
  }
})
