// Signals that reach a launcher on an old Node.js, which runs the command as a child process.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { openStore } from '../../src/database/open.ts'
import { MAIN, start } from '../support/command.ts'
import { temporaryFolder } from '../support/service.ts'
import { waitUntil } from '../support/wait.ts'

const ANIMALS = Array.from(
  { length: 1_200 },
  (_, index) => `{"name":"animal ${index}","categoryId":1}\n`,
).join('')

/** Makes the launcher behave as on Node.js 20, which cannot replace its own process. It passes this flag on to its child. */
const WITHOUT_EXECVE = `--import=data:text/javascript,${encodeURIComponent(`
  if (process.env.HAS_PRETENDED === undefined) {
    process.env.HAS_PRETENDED = 'yes'
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.1' } })
    process.execPath = '/old/node'
    process.execve = undefined
  }`)}`

/** Starts an import that has stored its first batch and waits for more input. */
async function startImport(t: TestContext, program: readonly string[]) {
  const cwd = temporaryFolder()
  const path = join(cwd, 'animals.db')
  const store = await openStore({ kind: 'sqlite', path }, { clock: systemClock, create: true, say() {} })
  t.after(() => store.close())
  const running = start(t, ['import', '-'], {
    cwd,
    env: { DATABASE_URL: `sqlite:${path}` },
    program,
    input: ANIMALS,
    isInputOpen: true,
    isGroup: true,
  })
  const isStored = async () => {
    assert.equal(running.child.exitCode, null, running.printed.err)
    return (await store.listAnimals({ limit: 1_000 })).length === 1_000
  }
  await waitUntil(isStored, { what: 'the first batch is stored' })
  return running
}

const LAUNCHER = [process.execPath, WITHOUT_EXECVE, MAIN]
const RESUME = /^Stopped\. 1,000 animals stored in .*\. Resume with --from-line 1001\.$/m

suite('an import says how to resume', { concurrency: 3 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`below a launcher, when the whole process group gets ${signal}`, async t => {
      const { child, ended } = await startImport(t, LAUNCHER)
      process.kill(-Number(child.pid), signal)
      assert.match((await ended).err, RESUME)
    })

    test(`below a launcher, when only the launcher gets ${signal}`, async t => {
      const { child, ended } = await startImport(t, LAUNCHER)
      child.kill(signal)
      const { code, err } = await ended
      assert.match(err, RESUME)
      assert.equal(code, 130)
    })

    test(`when it gets ${signal} several times`, async t => {
      const { child, ended } = await startImport(t, [process.execPath, MAIN])
      for (let times = 0; times < 5; times++) child.kill(signal)
      assert.match((await ended).err, RESUME)
    })
  }
})
