// The files that an export writes: they are new, only their owner can read them, and with --spreadsheet-safe no name in
// them runs as a formula.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { MAIN, run } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { temporaryFolder } from './support/service.ts'

const NAMES = ['=1+1', '+1', '-1', '@x', '\tx', '\rx', 'a=b', "'quoted", 'Bella']

async function folderWithAnimals(names: readonly string[] = ['Bella']) {
  const folder = temporaryFolder()
  const env = { DATABASE_URL: `sqlite:${join(folder, 'animals.db')}` }
  const input = join(folder, 'input.jsonl')
  writeFileSync(input, names.map(name => `${JSON.stringify({ name, categoryId: 7 })}\n`).join(''))
  assert.equal((await runInProcess(['import', input], env)).code, 0)
  return {
    folder,
    env,
    at: (file: string) => join(folder, file),
    exportTo: (...args: string[]) => runInProcess(['export', ...args], env),
  }
}

suite('an export', () => {
  test('creates a file that only its owner can read, and leaves no other file', async () => {
    const { folder, at, exportTo } = await folderWithAnimals()
    assert.equal((await exportTo(at('out.csv'))).code, 0)
    assert.equal(statSync(at('out.csv')).mode & 0o777, 0o600)
    assert.equal(readFileSync(at('out.csv'), 'utf8'), 'id,name,categoryId,status\n1,Bella,7,\n')
    assert.deepEqual(
      readdirSync(folder).filter(name => name.includes('unfinished')),
      [],
    )
  })

  test('works on a file system without hard links, where it also refuses a name that exists', async t => {
    const { folder, env, at } = await folderWithAnimals()
    const preload = new URL('support/no-links.js', import.meta.url).href
    const program = [process.execPath, '--import', preload, MAIN]
    const exportAgain = () => run(t, ['export', at('out.csv')], { cwd: folder, env, program })
    assert.equal((await exportAgain()).code, 0)
    assert.equal(statSync(at('out.csv')).mode & 0o777, 0o600)
    const { code, err } = await exportAgain()
    assert.deepEqual([code, err], [1, `Cannot write ${at('out.csv')}: it already exists.\n`])
    assert.deepEqual(
      readdirSync(folder).filter(name => name.includes('unfinished')),
      [],
    )
  })

  test('refuses an existing file and a symbolic link, which it does not follow', async () => {
    const { folder, at, exportTo } = await folderWithAnimals()
    writeFileSync(at('old.csv'), 'old')
    symlinkSync('old.csv', at('link.csv'))
    symlinkSync('nothing', at('broken.csv'))
    const before = readdirSync(folder)
    for (const name of ['old.csv', 'link.csv', 'broken.csv']) {
      const { code, err } = await exportTo(at(name))
      assert.deepEqual([code, err], [1, `Cannot write ${at(name)}: it already exists.\n`])
    }
    assert.equal(readFileSync(at('old.csv'), 'utf8'), 'old')
    assert.ok(lstatSync(at('link.csv')).isSymbolicLink() && lstatSync(at('broken.csv')).isSymbolicLink())
    assert.deepEqual(readdirSync(folder), before)
  })

  test('does not follow a symbolic link at a guessed name of its temporary file', async () => {
    const { at, exportTo } = await folderWithAnimals()
    writeFileSync(at('target'), 'old')
    symlinkSync('target', at('out.csv.unfinished'))
    assert.equal((await exportTo(at('out.csv'))).code, 0)
    assert.equal(readFileSync(at('target'), 'utf8'), 'old')
    assert.ok(lstatSync(at('out.csv.unfinished')).isSymbolicLink())
  })

  test('writes to a pipe and to a device', async t => {
    const { folder, env, at, exportTo } = await folderWithAnimals()
    execFileSync('mkfifo', [at('pipe')])
    const reader = run(t, [at('pipe')], { cwd: folder, program: ['cat'] })
    assert.equal((await exportTo(at('pipe'))).code, 0)
    assert.equal((await reader).out, '{"id":1,"name":"Bella","categoryId":7}\n')
    assert.equal((await exportTo('/dev/null')).code, 0)
    const { code, err } = await run(t, ['export', '/dev/full'], { cwd: folder, env })
    assert.deepEqual([code, err], [1, 'Cannot write /dev/full: the disk is full.\n'])
  })

  test('with --spreadsheet-safe marks names that a spreadsheet would run as formulas', async () => {
    const { at, exportTo } = await folderWithAnimals(NAMES)
    assert.equal((await exportTo(at('safe.csv'), '--spreadsheet-safe')).code, 0)
    const [, ...records] = readFileSync(at('safe.csv'), 'utf8').trimEnd().split('\n')
    assert.deepEqual(
      records.map(record => record.slice(2, -3)),
      ["'=1+1", "'+1", "'-1", "'@x", '"\tx"', '"\rx"', 'a=b', "'quoted", 'Bella'],
    )
  })

  test('without --spreadsheet-safe keeps every name, and an import keeps the names in either file', async () => {
    const { at, exportTo, env } = await folderWithAnimals(NAMES)
    await exportTo(at('exact.csv'))
    await exportTo(at('safe.csv'), '--spreadsheet-safe')
    for (const file of ['exact.csv', 'safe.csv']) await runInProcess(['import', at(file)], env)
    await exportTo(at('all.jsonl'))
    const names = readFileSync(at('all.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).name)
    assert.deepEqual(names.slice(NAMES.length, 2 * NAMES.length), NAMES)
    assert.deepEqual(names.slice(2 * NAMES.length, 2 * NAMES.length + 2), ["'=1+1", "'+1"])
  })

  test('rejects --spreadsheet-safe for JSON Lines', async () => {
    const { at, exportTo } = await folderWithAnimals()
    const { code, err } = await exportTo(at('out.jsonl'), '--spreadsheet-safe')
    assert.deepEqual(
      [code, err],
      [2, '--spreadsheet-safe is for CSV and TSV: add --format csv, or name a file that ends in .csv\n'],
    )
  })
})
