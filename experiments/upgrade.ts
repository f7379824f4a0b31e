// Upgrades a store of version 1.1.0 while clients write, goes back to 1.1.0, and upgrades it again, as docs/upgrade.md says. No
// acknowledged creation, change or removal may be lost, nothing may be applied twice, and the inventory and searches of this version
// must be exact.
//
// On SQLite one service with two workers is stopped and started. On PostgreSQL two instances are upgraded one at a time,
// and the clients use those that are ready, as behind a load balancer. They change and remove animals where the new version runs.
//
//   node experiments/upgrade.ts [REVISION OF 1.1.0]

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../client/src/json.ts'
import { type Inventory, STATUSES } from '../src/animal.ts'
import { renderJson } from '../src/json.ts'
import { type CommandOptions, MAIN, run, serve } from '../test/support/command.ts'
import { administer, startPostgres } from '../test/support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../test/support/service.ts'
import { runSql } from '../test/support/sqlite.ts'
import { type Figure, runExperiments } from './faults/figure.ts'
import { findViolations, type Operation } from './faults/history.ts'
import { type Instance, nextReady, watchInstance } from './faults/instances.ts'
import { type Earlier, type Load, MAX_DESCRIBED, startLoad } from './faults/mixed-load.ts'
import { compare } from './faults/own-animals.ts'
import { inScope } from './faults/processes.ts'
import { describe, describeStatuses, isIntact, readCatalogue, send } from './faults/writes.ts'

/** There is no tag of 1.1.0. */
const [revision = '7e633b8'] = process.argv.slice(2)

const ANIMALS = 100_000

/** What 1.1.0 imports, and how a search may write it. */
const NAMES = { Zoë: 'ZOE', Bella: 'bella', Ñandú: 'nandu', Мурка: 'МУРКА', 小黑: '小黑' }

/** The clients write so often in each phase. */
const WRITES_PER_PHASE = 1_000

const ONE_BY_ONE = 'the upgrade, one instance at a time'

interface Database {
  readonly url: string
  readonly instances: number
  readonly workers: number
  readonly hasBackups: boolean
  /** What docs/upgrade.md says to run before 1.1.0 starts again. */
  setBack(): unknown
}

async function openSqlite(): Promise<Database> {
  const path = join(temporaryFolder(), 'animals.db')
  const setBack = () => runSql(path, 'pragma user_version = 7')
  return { url: `sqlite:${path}`, instances: 1, workers: 2, hasBackups: true, setBack }
}

async function openPostgres(scope: Scope): Promise<Database> {
  const { url, stop } = await startPostgres([])
  scope.after(stop)
  const setBack = () => administer('update animal_store_schema set version = 7', url)
  return { url, instances: 2, workers: 1, hasBackups: false, setBack }
}

/** Returns the command of the old version. */
function installOld(): string {
  const folder = join(temporaryFolder(), 'old')
  mkdirSync(folder)
  const archive = execFileSync('git', ['archive', revision], { maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  execFileSync('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' })
  return join(folder, 'bin/animal-store.js')
}

async function upgrade(scope: Scope, database: Database): Promise<Figure[]> {
  const old = installOld()
  const options = {
    cwd: temporaryFolder(),
    env: { DATABASE_URL: database.url, ANIMAL_STORE_API_KEY: API_KEY },
  }
  const program = (main: string): CommandOptions => ({ ...options, program: [process.execPath, main] })
  const start = (main: string) => () =>
    serve(scope, ['--log-level', 'warn', '--workers', String(database.workers)], program(main))

  async function command(main: string, ...args: string[]): Promise<void> {
    const { code, err } = await run(scope, args, program(main))
    if (code !== 0) throw new Error(`animal-store ${args.join(' ')} failed: ${err}`)
  }

  const imported = Array.from({ length: ANIMALS }, (_, index) => ({
    name: `${Object.keys(NAMES)[index % 5]} ${index}`,
    status: STATUSES[index % 3] as string,
  }))
  const lines = imported.map(animal => `${JSON.stringify({ ...animal, categoryId: 1 })}\n`)
  writeFileSync(join(options.cwd, 'animals.jsonl'), lines.join(''))
  await command(old, 'import', 'animals.jsonl')
  const instances = await Promise.all(
    Array.from({ length: database.instances }, () => watchInstance(scope, start(old))),
  )
  await Promise.all(instances.map(({ becomes }) => becomes('ready')))
  const address = nextReady(instances)
  const upgraded = new Set<Instance>()
  let isBeside = false
  let turn = 0
  const figures: Figure[] = []

  function changesTo(): string | undefined {
    const ready = [...upgraded].filter(({ isReady }) => isReady())
    return ready[turn++ % ready.length]?.address()
  }

  async function stopAll(): Promise<void> {
    upgraded.clear()
    await Promise.all(instances.map(({ signal }) => signal('SIGTERM')))
  }

  async function startAll(main: string): Promise<void> {
    for (const { restart } of instances) await restart(start(main))
    await Promise.all(instances.map(({ becomes }) => becomes('ready')))
    if (main === MAIN) for (const instance of instances) upgraded.add(instance)
  }

  async function replaceOneByOne(): Promise<void> {
    isBeside = true
    await command(MAIN, 'migrate')
    for (const instance of instances) {
      const { signal, restart, becomes } = instance
      await signal('SIGTERM')
      await restart(start(MAIN))
      await becomes('ready')
      upgraded.add(instance)
    }
    isBeside = false
    await command(MAIN, 'migrate')
  }

  async function replaceAll(): Promise<void> {
    await stopAll()
    await startAll(MAIN)
  }

  async function goBack(): Promise<void> {
    await stopAll()
    await database.setBack()
    await startAll(old)
  }

  /** Runs each phase under load, and then looks for every animal that was ever acknowledged. */
  async function runPhases(
    prefix: string,
    earlier: Earlier,
    phases: Readonly<Record<string, () => Promise<unknown>>>,
  ): Promise<Load> {
    // As if they had been added before the first request.
    const before = (await readCatalogue(address())).map(
      (animal): Operation => ({
        request: { kind: 'create', sent: animal },
        start: 0,
        end: 0,
        animals: [animal],
      }),
    )
    const older = { changesTo, isBeside: () => isBeside }
    const load = startLoad({ address, prefix, isRecorded: true, older })
    scope.after(load.stop)
    for (const [name, action] of Object.entries(phases)) {
      await load.begin(name)
      await action()
      await load.wroteMore(WRITES_PER_PHASE)
    }
    await load.stop()
    const outcome = await load.check(earlier)
    const violations = findViolations([...before, ...load.history])
    for (const violation of violations.slice(0, MAX_DESCRIBED)) console.log(violation)
    figures.push(
      ...describePhases(load),
      {
        promise: 'nothing acknowledged is lost or applied twice, every answer is right, 503 or missing',
        measured: `${describe(outcome)}; ${outcome.unexpected} wrong answers`,
        holds: isIntact(outcome),
      },
      {
        promise: 'no answer contradicts another one',
        measured: `${load.history.length} requests checked against each other, ${violations.length} violations`,
        holds: violations.length === 0,
      },
    )
    return load
  }

  const isRolling = database.instances > 1
  if (database.hasBackups) await command(old, 'backup', 'backup.db')
  const added = imported.map(({ name }) => name)
  const { own } = await runPhases(
    'first-',
    { added },
    {
      '1.1.0': async () => {},
      [isRolling ? ONE_BY_ONE : 'the upgrade']: isRolling ? replaceOneByOne : replaceAll,
      'the new version': async () => {},
    },
  )
  figures.push(...(await checkAnswers('after the upgrade', address())))
  await runPhases(
    'second-',
    { added, own },
    {
      'before going back': async () => {},
      'back to 1.1.0': goBack,
      'the second upgrade': replaceAll,
    },
  )
  figures.push(...(await checkAnswers('after the second upgrade', address())))
  if (!database.hasBackups) return figures

  await stopAll()
  await command(MAIN, 'restore', 'backup.db')
  await startAll(MAIN)
  const { lost, duplicated } = compare([], await readCatalogue(address()), added)
  return [
    ...figures,
    {
      promise: 'the new version restores a backup of 1.1.0',
      measured: `${lost} of ${ANIMALS} lost, ${duplicated} duplicated`,
      holds: lost + duplicated === 0,
    },
    ...(await checkAnswers('after the restore', address())),
  ]
}

/** Whether every request must be served in this phase. In the others, the whole service stops for a moment. */
function isServed(phase: string): boolean {
  return ['1.1.0', ONE_BY_ONE, 'the new version', 'before going back'].includes(phase)
}

function describePhases(load: Load): Figure[] {
  return load.phases.slice(1).map(({ name, acknowledged, longestGapMs, statuses }) => ({
    promise: `${name}: ${isServed(name) ? 'every request is served' : 'clients go on afterwards'}`,
    measured: `${acknowledged} acknowledged, at most ${(longestGapMs / 1_000).toFixed(1)} s without a write (${describeStatuses(statuses)})`,
    holds: !isServed(name) || !(statuses.has('no answer') || statuses.has('503')),
  }))
}

/** Compares the inventory, and what searches find, with all animals in the list. Nobody writes meanwhile. */
async function checkAnswers(when: string, address: string): Promise<Figure[]> {
  const stored = await readCatalogue(address)
  const counted = { available: 0n, pending: 0n, sold: 0n, none: 0n }
  for (const { status = 'none' } of stored) counted[status]++
  const inventory = parseJson(
    (await send(address, false, 'GET', '/v1/store/inventory'))?.text ?? '',
  ) as Inventory
  let found = 0
  let wrong = 0
  for (const [name, search] of Object.entries(NAMES)) {
    const expected = stored.filter(animal => animal.name.startsWith(`${name} `))
    const matches = await readCatalogue(address, API_KEY, `&name=${encodeURIComponent(search)}`)
    found += matches.length
    if (!isDeepStrictEqual(matches, expected)) wrong++
  }
  return [
    {
      promise: `${when}, the inventory is what the list shows`,
      measured: `${renderJson(inventory)}, ${stored.length} listed`,
      holds: isDeepStrictEqual({ ...inventory }, counted),
    },
    {
      promise: `${when}, searches find every animal in other letters, and no other`,
      measured: `${found} found by ${Object.keys(NAMES).length} searches, ${wrong} of them wrong`,
      holds: wrong === 0 && found > 0,
    },
  ]
}

await runExperiments(
  {
    'Upgrade from 1.1.0 on SQLite': () => inScope(async scope => upgrade(scope, await openSqlite())),
    'Upgrade from 1.1.0 on PostgreSQL': () =>
      inScope(async scope => upgrade(scope, await openPostgres(scope))),
  },
  { quick: false, writeTo: 'upgrade.ts' },
)
