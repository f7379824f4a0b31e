// Daily backups: when they are made and what they delete, with a clock that is moved, and what a service with its workers says of them.

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { startDailyBackups } from '../src/cli/service/daily-backups.ts'
import { serve } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { temporaryFolder } from './support/service.ts'
import { countAnimals, runSql } from './support/sqlite.ts'
import { waitUntil } from './support/wait.ts'

const HOUR = 60 * 60 * 1_000
const DAY = 24 * HOUR
const START = Date.parse('2026-11-19T02:00:00Z')

async function newDatabase(): Promise<{ cwd: string; path: string; folder: string }> {
  const cwd = temporaryFolder()
  const path = join(cwd, 'shop.animals.db')
  await runInProcess(['migrate'], { DATABASE_URL: `sqlite:${path}` })
  runSql(path, "insert into animals (name, category_id) values ('Bella', 1)")
  return { cwd, path, folder: join(cwd, 'backups') }
}

interface Line {
  readonly level: 'info' | 'error'
  readonly [field: string]: unknown
}

/** Makes backups with a clock that is moved. `untilLine` waits for the line of the log with this number. */
function startMoved(t: TestContext, path: string, backupFolder: string, backupKeep = 14) {
  const clock = { now: START }
  const lines: Line[] = []
  const add = (level: Line['level']) => (fields: object) => void lines.push({ ...fields, level })
  const backups = startDailyBackups(
    { backupFolder, backupKeep },
    { kind: 'sqlite', path },
    { info: add('info'), error: add('error') },
    () => clock.now,
    1,
  )
  const stop = async () => backups?.stop()
  t.after(stop)
  const untilLine = async (number: number) => {
    await waitUntil(() => lines.length >= number, { what: `there are ${number} lines in the log` })
    return lines[number - 1]
  }
  return { clock, lines, stop, untilLine }
}

suite('daily backups', { concurrency: 2 }, () => {
  test('are made at once and when a day is over, verified and private, and the oldest are deleted', async t => {
    const { path, folder } = await newDatabase()
    const { clock, lines, untilLine, stop } = startMoved(t, path, folder, 2)
    const name = (day: number) => `shop.animals-202611${day}T0200${day - 19}0Z.db`
    const first = await untilLine(1)
    assert.equal(first?.file, join(folder, name(19)))
    assert.equal(typeof first?.seconds, 'number')
    assert.equal(countAnimals(join(folder, name(19))), 1)
    assert.equal(statSync(join(folder, name(19))).mode & 0o777, 0o600)
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    clock.now += DAY + 10_000
    await untilLine(2)
    assert.deepEqual(readdirSync(folder).sort(), [name(19), name(20)])
    clock.now += DAY + 10_000
    const third = await untilLine(3)
    assert.deepEqual(third?.deleted, [name(19)])
    assert.deepEqual(readdirSync(folder).sort(), [name(20), name(21)])
    await stop()
    assert.equal(lines.length, 3)
  })

  test('touch nothing else in the folder, and delete what a kill has left unfinished', async t => {
    const { path, folder } = await newDatabase()
    mkdirSync(folder)
    const others = [
      ...['shop.animals.db', 'shop.animals-20261118T020000Z.db.gz', 'shop.animals-20261118T020000.db'],
      ...['shop.animals-20261318T020000Z.db', 'shop.animals-20261118T250000Z.db', 'notes.txt', '.hidden'],
      ...['x-shop.animals-20261118T020000Z.db', 'shopxanimals-20261118T020000Z.db', 'shop.animals-.db'],
      ...['animals-20261118T020000Z.db', 'shop-20261118T020000Z.db', 'shop.animals-20261118T020000Z.db-wal'],
      ...['SHOP.ANIMALS-20261118T020000Z.DB', 'shop.animals-20261118T020000Z.db.unfinished-a.b', 'a', 'b'],
    ]
    for (const name of others) writeFileSync(join(folder, name), '')
    symlinkSync('a', join(folder, 'shop.animals-20261101T020000Z.db'))
    mkdirSync(join(folder, 'shop.animals-20261102T020000Z.db'))
    mkdirSync(join(folder, 'other-20261118T020000Z.db.unfinished-abcdef'))
    const kept = readdirSync(folder)
    assert.ok(kept.length >= 20)
    const leftover = join(folder, 'shop.animals-20261118T020000Z.db.unfinished-Ab12cd')
    mkdirSync(leftover)
    writeFileSync(join(leftover, 'copy'), 'half')
    const old = [15, 16].map(day => `shop.animals-202611${day}T020000Z.db`)
    for (const name of old) writeFileSync(join(folder, name), '')
    const line = await startMoved(t, path, folder, 1).untilLine(1)
    assert.deepEqual(line?.deleted, old)
    assert.deepEqual(readdirSync(folder).sort(), [...kept, 'shop.animals-20261119T020000Z.db'].sort())
  })

  test('are not made while the newest is a day old, and one of the far future does not count', async t => {
    const { path, folder } = await newDatabase()
    mkdirSync(folder)
    const recent = 'shop.animals-20261118T020000Z.db'
    for (const name of [recent, 'shop.animals-20991231T000000Z.db']) writeFileSync(join(folder, name), '')
    const { clock, untilLine } = startMoved(t, path, folder)
    clock.now += 1_000
    const line = await untilLine(1)
    assert.equal(line?.file, join(folder, 'shop.animals-20261119T020001Z.db'))
  })

  test('are not pushed out by those of the far future', async t => {
    const { path, folder } = await newDatabase()
    mkdirSync(folder)
    const future = ['shop.animals-20991230T000000Z.db', 'shop.animals-20991231T000000Z.db']
    for (const name of future) writeFileSync(join(folder, name), '')
    const line = await startMoved(t, path, folder, 1).untilLine(1)
    assert.equal(line?.deleted, undefined)
    assert.deepEqual(readdirSync(folder).sort(), ['shop.animals-20261119T020000Z.db', ...future])
  })

  test('are tried again after an hour, with one error for each failure', async t => {
    const { path, folder } = await newDatabase()
    writeFileSync(folder, 'not a folder')
    const { clock, lines, untilLine } = startMoved(t, path, folder)
    const first = await untilLine(1)
    assert.equal(first?.level, 'error')
    clock.now += HOUR
    const second = await untilLine(2)
    assert.equal(second?.level, 'error')
    rmSync(folder)
    runSql(path, 'alter table animals rename to elsewhere')
    clock.now += HOUR
    const third = await untilLine(3)
    assert.match(String(third?.reason), /says it has schema \d+, but does not have its tables/)
    assert.deepEqual(readdirSync(folder), [])
    runSql(path, 'alter table elsewhere rename to animals')
    clock.now += HOUR
    assert.equal((await untilLine(4))?.level, 'info')
    assert.equal(lines.length, 4)
  })

  test('stop at once with the service, and leave nothing unfinished', async t => {
    const { path, folder } = await newDatabase()
    const { lines, stop } = startMoved(t, path, folder)
    const hasBegun = () => {
      try {
        return readdirSync(folder).some(name => name.includes('.unfinished-')) || lines.length > 0
      } catch {
        return false
      }
    }
    await waitUntil(hasBegun, { what: 'a backup has begun' })
    await stop()
    assert.deepEqual(
      readdirSync(folder).filter(name => name.includes('unfinished')),
      [],
    )
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    )
  })

  for (const workers of ['1', '2']) {
    test(`are made by one process, and reported as a metric also after a restart, with ${workers} workers`, async t => {
      const cwd = temporaryFolder()
      const env = { SHUTDOWN_DELAY: '0s', BACKUP_FOLDER: 'backups', METRICS_PORT: '0', WORKERS: workers }
      const metric = /^animal_store_last_backup_timestamp_seconds (\d+)$/gm
      const find = () => {
        try {
          return readdirSync(join(cwd, 'backups')).filter(name => name.endsWith('.db'))
        } catch {
          return []
        }
      }
      for (const _ of ['the first start', 'a restart']) {
        const { said, child, ended, printed } = await serve(t, [], { cwd, env, isGroup: true })
        const url = await said(/The metrics are at (http:\S+)/)
        await waitUntil(() => find().length > 0, { what: 'there is a backup' })
        const scraped = await (await fetch(url)).text()
        const [name = '', ...others] = find()
        assert.deepEqual(others, [])
        const stamp =
          /^production-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/.exec(name) ?? assert.fail(name)
        const [year, month, day, hour, minute, second] = stamp.slice(1)
        const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
        const values = [...scraped.matchAll(metric)].map(([, value]) => Number(value) * 1_000)
        assert.deepEqual(values, [time])
        assert.equal(scraped.match(/^animal_store_build_info\{/gm)?.length, 1)
        child.kill('SIGTERM')
        assert.equal((await ended).code, 0, printed.err)
      }
      assert.equal(countAnimals(join(cwd, 'backups', find()[0] ?? '')), 0)
    })
  }

  const refused: [Record<string, string>, RegExp][] = [
    [
      { DATABASE_URL: 'postgres://127.0.0.1/x', BACKUP_FOLDER: 'a' },
      /^--backup-folder \(BACKUP_FOLDER\) .*pg_dump/,
    ],
    [{ DATABASE_URL: 'sqlite::memory:', BACKUP_FOLDER: 'a' }, /^--backup-folder .*pg_dump/],
    [{ BACKUP_FOLDER: '~/backups' }, /^--backup-folder \(BACKUP_FOLDER\) must be a folder, without ~/],
    ...['0', '10000', '-1', '1.5', 'all'].map((keep): [Record<string, string>, RegExp] => [
      { BACKUP_KEEP: keep },
      /^--backup-keep \(BACKUP_KEEP\) must be a whole number from 1 to 9999/,
    ]),
  ]
  test('are refused without a file to copy, and with a wrong number', async () => {
    for (const [env, message] of refused) {
      const { code, err } = await runInProcess(['serve', '--port', '0'], env)
      assert.equal(code, 2, err)
      assert.match(err, message)
    }
  })
})
