// The memory of an import does not depend on the length of its file.

import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAIN, run } from '../support/command.ts'
import { temporaryFolder } from '../support/service.ts'

test('an import of 100 MB runs in a heap of 64 MB', async t => {
  const cwd = temporaryFolder()
  const file = join(cwd, 'many.csv')
  writeFileSync(file, 'name,categoryId\n')
  const chunk = `${'x'.repeat(990)},7\n`.repeat(5_000)
  for (let count = 0; count < 20; count++) appendFileSync(file, chunk)
  const program = [process.execPath, '--max-old-space-size=64', MAIN]
  const { code, err } = await run(t, ['import', file], { cwd, program })
  assert.equal(code, 0, err)
  assert.match(err, /^100,000 animals imported/m)
})
