// Runs a real Prometheus against the service under load (`npm run test:prometheus`), with the configuration and the rules
// of deploy/prometheus and every query of the dashboard in deploy/grafana. Needs prometheus and promtool.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MAIN } from './support/command.ts'
import { freePort } from './support/postgres.ts'
import { waitUntil } from './support/wait.ts'

const API_KEY = 'prometheus-key-0123456789'
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CLIENTS = 4

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

const missing = ['prometheus', 'promtool'].filter(program => spawnSync(program, ['--version']).status !== 0)
if (missing.length > 0) {
  console.error(`This test needs ${missing.join(' and ')}, from the Debian package prometheus.`)
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'animal-store-prometheus-'))
const [servicePort, metricsPort, prometheusPort] = [await freePort(), await freePort(), await freePort()]
const address = `http://127.0.0.1:${servicePort}`
const prometheus = `http://127.0.0.1:${prometheusPort}`
const children: ChildProcess[] = []
const stopped = new AbortController()
let clients: Promise<unknown> | undefined
try {
  checkRules()
  start(process.execPath, [MAIN, 'serve', '--workers', '2', '--database-url', 'sqlite:animals.db'], {
    PORT: String(servicePort),
    METRICS_PORT: String(metricsPort),
    ANIMAL_STORE_API_KEY: API_KEY,
    LOG_LEVEL: 'warn',
    SHUTDOWN_DELAY: '0s',
  })
  await waitUntil(() => isReady(`${address}/readyz`), { what: 'the service is ready', timeoutMs: LIMIT_MS })
  startPrometheus()
  await waitUntil(() => isReady(`${prometheus}/-/ready`), {
    what: 'Prometheus is ready',
    timeoutMs: LIMIT_MS,
  })
  clients = Promise.all(Array.from({ length: CLIENTS }, runClient))
  // Awaited below. Until then, a rejection must not end the process and hide another failure.
  clients.catch(() => {})
  const isScraped = async () => (await rateOfRequests()) > 0
  await waitUntil(isScraped, { what: 'Prometheus knows a rate', timeoutMs: LIMIT_MS })
  await runDashboard()
  stopped.abort()
  await clients
  await checkDatabaseAlert()
} finally {
  stopped.abort()
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
}

function checkRules(): void {
  for (const args of [
    ['check', 'config', 'prometheus.yml'],
    ['check', 'rules', 'animal-store.rules.yml'],
    ['test', 'rules', 'animal-store.rules.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: join(ROOT, 'deploy/prometheus'),
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${stdout}${stderr}`)
    console.log(`promtool ${args.join(' ')}: passed`)
  }
}

function start(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const { PATH = '' } = process.env
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let messages = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    messages = `${messages}${text}`.slice(-10_000)
  })
  child.on('exit', code => code && console.error(`${program} ended with ${code}: ${messages}`))
  children.push(child)
}

/** Uses the example as it is, except for the port and the interval. */
function startPrometheus(): void {
  cpSync(join(ROOT, 'deploy/prometheus'), folder, { recursive: true })
  const file = join(folder, 'prometheus.yml')
  const example = readFileSync(file, 'utf8')
  const changed = example
    .replace('127.0.0.1:9464', `127.0.0.1:${metricsPort}`)
    .replace('scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s')
  assert.notEqual(changed, example)
  writeFileSync(file, changed)
  start('prometheus', [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${prometheusPort}`,
  ])
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined)
  return answer?.status === 200
}

/** Lists, creates, reads and makes mistakes. */
async function runClient(): Promise<void> {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const body = '{"name":"Bella","categoryId":7}'
  while (!stopped.signal.aborted) {
    await fetch(`${address}/v1/pets`, { method: 'POST', headers, body })
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets?limit=0', '/livez'])
      await (await fetch(`${address}${path}`, { headers })).text()
  }
}

async function query(expression: string): Promise<readonly Result[]> {
  const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(expression)}`)
  const text = await answer.text()
  assert.equal(answer.status, 200, `${expression}: ${text}`)
  return JSON.parse(text).data.result
}

async function rateOfRequests(): Promise<number> {
  const [result] = await query(
    'sum(rate(animal_store_http_request_duration_seconds_count{operation="createPet"}[10s]))',
  )
  return Number(result?.value[1] ?? 0)
}

/** Every query must be answered with data. */
async function runDashboard(): Promise<void> {
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
async function checkDatabaseAlert(): Promise<void> {
  for (const suffix of ['-wal', '-shm', ''])
    renameSync(join(folder, `animals.db${suffix}`), join(folder, `away.db${suffix}`))
  const isPending = async () =>
    (await query('ALERTS{alertname="AnimalStoreDatabaseDown"}')).some(
      ({ metric }) => metric.alertstate === 'pending' || metric.alertstate === 'firing',
    )
  await waitUntil(isPending, { what: 'the alert about the database is pending', timeoutMs: LIMIT_MS })
  console.log('The alert AnimalStoreDatabaseDown is pending after the database was moved away.')
}
