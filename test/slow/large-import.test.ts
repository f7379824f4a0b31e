// The memory of an import does not depend on the length of its file. Only its ids are kept, outside the heap.

import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAIN, run } from '../support/command.ts'
import { temporaryFolder } from '../support/service.ts'

test('an import of 100 MB, and an update with it, run in a heap of 64 MB', async t => {
  const cwd = temporaryFolder()
  const file = join(cwd, 'many.csv')
  writeFileSync(file, 'name,categoryId\n')
  const chunk = `${'x'.repeat(990)},7\n`.repeat(5_000)
  for (let count = 0; count < 20; count++) appendFileSync(file, chunk)
  const program = [process.execPath, '--max-old-space-size=64', MAIN]
  const { code, err } = await run(t, ['import', file], { cwd, program })
  assert.equal(code, 0, err)
  assert.match(err, /^100,000 animals imported/m)
  assert.equal((await run(t, ['export', 'all.tsv', '--etags'], { cwd })).code, 0)
  // Every tenth row is edited.
  const edited = readFileSync(join(cwd, 'all.tsv'), 'utf8').replaceAll(
    /^(\d*0\tx+)\t7\t\t/gm,
    '$1\t8\tsold\t',
  )
  writeFileSync(join(cwd, 'edited.tsv'), edited)
  const update = await run(t, ['import', '--update', 'edited.tsv'], { cwd, program })
  assert.match(update.err, /^10,000 animals changed, 90,000 unchanged, 0 rejected/m)
})
