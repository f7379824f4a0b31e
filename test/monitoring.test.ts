// The alert rules and the dashboard use metrics that exist. The alert rules are documented, and promtool accepts them.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createMetrics } from '../src/metrics/metrics.ts'
import { skipWithout } from './support/programs.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PROMETHEUS = join(ROOT, 'deploy/prometheus')
const WITHOUT_PROMTOOL = skipWithout('promtool')

const METRIC_NAME = /\b(?:animal_store|process|nodejs)_\w+/g

suite('the alert rules and the dashboard', () => {
  test('use only metrics of the service', async () => {
    const metrics = createMetrics(() => 0, { version: '1.2.3', lastBackup: async () => 0 })
    metrics.observeRequest('getPet', 200, 1, 'key_1')
    const text = await metrics.render()
    const known = new Set(text.match(/^\w+/gm))
    const files = globSync(['deploy/prometheus/*.yml', 'deploy/grafana/*.json'], { cwd: ROOT })
    assert.equal(files.length, 5)
    for (const file of files)
      for (const [name] of readFileSync(join(ROOT, file), 'utf8').matchAll(METRIC_NAME))
        assert.ok(known.has(name), `${file} uses ${name}`)
  })
})

suite('the alert rules', () => {
  test('are described in docs/monitoring.md', () => {
    const page = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8')
    const rules = readFileSync(join(PROMETHEUS, 'animal-store.rules.yml'), 'utf8')
    const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name)
    const described = [...page.matchAll(/^\| `(AnimalStore\w+)` \|/gm)].map(([, name]) => name)
    assert.deepEqual(described, alerts)
  })

  for (const args of [
    ['check', 'config', 'prometheus.yml'],
    ['check', 'rules', 'animal-store.rules.yml'],
    ['test', 'rules', 'animal-store.rules.test.yml'],
    ['test', 'rules', 'animal-store.hours.rules.test.yml'],
  ]) {
    test(`pass promtool ${args.join(' ')}`, { skip: WITHOUT_PROMTOOL }, () => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: PROMETHEUS, encoding: 'utf8' })
      assert.equal(status, 0, `${stdout}${stderr}`)
    })
  }
})
