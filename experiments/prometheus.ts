// Runs a real Prometheus against the service under load, with the configuration and the rules
// of deploy/prometheus and every query of the dashboard in deploy/grafana. Needs prometheus and promtool.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve, start } from '../test/support/command.ts'
import { freePort } from '../test/support/postgres.ts'
import { isInstalled } from '../test/support/programs.ts'
import { API_KEY, type Scope, temporaryFolder } from '../test/support/service.ts'
import { waitUntil } from '../test/support/wait.ts'
import { startLoad } from './faults/mixed-load.ts'
import { inScope } from './faults/processes.ts'
import { send } from './faults/writes.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The pause between two requests for the inventory. */
const INVENTORY_MS = 200

/** The longest that any step may take. */
const LIMIT_MS = 60_000

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

interface Result {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

const missing = ['prometheus', 'promtool'].filter(program => !isInstalled(program))
if (missing.length > 0) {
  console.error(`This test needs ${missing.join(' and ')}, from the Debian package prometheus.`)
  process.exit(1)
}
checkRules()
await inScope(main)

async function main(scope: Scope): Promise<void> {
  const folder = temporaryFolder()
  const [metricsPort, prometheusPort] = [await freePort(), await freePort()]
  const { address } = await serve(scope, ['--workers', '2', '--database-url', 'sqlite:animals.db'], {
    cwd: folder,
    env: {
      METRICS_PORT: String(metricsPort),
      ANIMAL_STORE_API_KEY: API_KEY,
      LOG_LEVEL: 'warn',
    },
  })
  await startPrometheus(scope, folder, metricsPort, prometheusPort)
  const query = queryAt(`http://127.0.0.1:${prometheusPort}`)
  const load = startLoad({ address: () => address })
  scope.after(load.stop)
  // The clients of the load do not ask for the inventory.
  const timer = setInterval(() => send(address, false, 'GET', '/v1/store/inventory'), INVENTORY_MS)
  scope.after(() => clearInterval(timer))
  const isScraped = async () => {
    const [result] = await query(
      'min(sum by (operation) (rate(animal_store_http_request_duration_seconds_count{operation!="other"}[10s])))',
    )
    return Number(result?.value[1] ?? 0) > 0
  }
  await waitUntil(isScraped, { what: 'Prometheus knows the rate of every operation', timeoutMs: LIMIT_MS })
  await runDashboard(query)
  await load.stop()
  await checkDatabaseAlert(query, folder)
}

function checkRules(): void {
  for (const args of [
    ['check', 'config', 'prometheus.yml'],
    ['check', 'rules', 'animal-store.rules.yml'],
    ['test', 'rules', 'animal-store.rules.test.yml'],
    ['test', 'rules', 'animal-store.hours.rules.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: join(ROOT, 'deploy/prometheus'),
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${stdout}${stderr}`)
    console.log(`promtool ${args.join(' ')}: passed`)
  }
}

/** Uses the example as it is, except for the port and the interval. Resolves when Prometheus is ready. */
async function startPrometheus(
  scope: Scope,
  folder: string,
  metricsPort: number,
  port: number,
): Promise<void> {
  cpSync(join(ROOT, 'deploy/prometheus'), folder, { recursive: true })
  const file = join(folder, 'prometheus.yml')
  const example = readFileSync(file, 'utf8')
  const changed = example
    .replace('127.0.0.1:9464', `127.0.0.1:${metricsPort}`)
    .replace('scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s')
  assert.notEqual(changed, example)
  writeFileSync(file, changed)
  const data = `--storage.tsdb.path=${join(folder, 'data')}`
  const { said } = start(scope, [`--config.file=${file}`, data, `--web.listen-address=127.0.0.1:${port}`], {
    cwd: folder,
    program: ['prometheus'],
  })
  await said(/ready to receive web requests/)
}

type Query = (expression: string) => Promise<readonly Result[]>

function queryAt(prometheus: string): Query {
  return async expression => {
    const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(expression)}`)
    const text = await answer.text()
    assert.equal(answer.status, 200, `${expression}: ${text}`)
    return JSON.parse(text).data.result
  }
}

/** Every query must be answered with data. */
async function runDashboard(query: Query): Promise<void> {
  const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/animal-store.json'), 'utf8'))
  for (const { title, targets } of panels as readonly Panel[]) {
    for (const { expr } of targets) {
      // Grafana replaces these variables.
      const expression = expr.replaceAll('$__rate_interval', '10s').replaceAll('$instance', '.*')
      const results = await query(expression)
      assert.ok(results.length > 0, `${title}: no data for ${expression}`)
      for (const { value } of results) assert.ok(Number.isFinite(Number(value[1])), `${title}: ${value[1]}`)
      const shown = results.map(({ metric, value }) => [...Object.values(metric), value[1]].join(' '))
      console.log(`${title}: ${shown.join(', ')}`)
    }
  }
}

/** Moves the database away, and waits until Prometheus has noticed. */
async function checkDatabaseAlert(query: Query, folder: string): Promise<void> {
  for (const suffix of ['-wal', '-shm', ''])
    renameSync(join(folder, `animals.db${suffix}`), join(folder, `away.db${suffix}`))
  const isPending = async () =>
    (await query('ALERTS{alertname="AnimalStoreDatabaseDown"}')).some(
      ({ metric }) => metric.alertstate === 'pending' || metric.alertstate === 'firing',
    )
  await waitUntil(isPending, { what: 'the alert about the database is pending', timeoutMs: LIMIT_MS })
  console.log('The alert AnimalStoreDatabaseDown is pending after the database was moved away.')
}
