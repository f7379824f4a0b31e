import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run, serve } from './support/command.ts'
import { client, temporaryFolder } from './support/service.ts'

const ROOT = new URL('..', import.meta.url).pathname

test('the packed package runs by itself, from JavaScript, with its pages and its types', async t => {
  const folder = temporaryFolder(t)
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  const files: string[] = packed.files.map(({ path }: { path: string }) => path)
  assert.ok(files.includes('dist/main.js') && files.includes('dist/main.d.ts'))
  assert.ok(files.includes('docs/openapi.json') && files.includes('LICENSE') && files.includes('README.md'))
  assert.deepEqual(
    files.filter(file => /^(src|test|bench|scripts|data)\/|\.db$|\.tgz$/.test(file)),
    [],
  )

  execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const program = [process.execPath, join(folder, 'package/bin/animal-store.js')]
  const { code, out } = await run(t, ['--version'], { cwd: folder, program })
  assert.equal(code, 0)
  assert.equal(out, `${packed.version}\n`)

  const cwd = temporaryFolder(t)
  const { address, said } = await serve(t, [], { cwd, program })
  const { send, close } = client(address, await said(/(as_live_\w{38})/))
  t.after(close)
  assert.equal((await send('GET', '/v1/pets')).text, '[]')
  for (const path of ['/', '/docs', '/docs/style.css', '/docs/try-it.js', '/openapi.json']) {
    assert.equal((await send('GET', path)).status, 200, path)
  }
  assert.deepEqual(readdirSync(cwd), ['data'])
})
