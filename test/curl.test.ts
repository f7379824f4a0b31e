// Our stand-in for curl. Where the machine has curl itself, both must behave as these tests expect.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Ended, type Running, run, start } from './support/command.ts'
import { hasCurl, pathWithCurl, pathWithStandIn } from './support/path-with-curl.ts'
import { freePort } from './support/postgres.ts'
import { API_KEY, shared, startTestService, temporaryFolder } from './support/service.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const AUTHORIZATION = `Authorization: Bearer ${API_KEY}`
const JSON_TYPE = 'Content-Type: application/json'
const BELLA = '{"id":1,"name":"Bella","categoryId":7}'

for (const [name, path, skip] of [
  ['the stand-in for curl', pathWithStandIn, false],
  ['the curl of this machine', pathWithCurl, hasCurl() ? false : 'this machine has no curl'],
] as const) {
  suite(name, { skip }, () => {
    const service = shared(async scope => {
      const started = await startTestService(scope)
      await started.create({ name: 'Bella', categoryId: 7 })
      return started
    })

    function startCurl(t: TestContext, ...args: readonly string[]): Running {
      return start(t, args, { cwd: temporaryFolder(t), program: ['curl'], env: { PATH: path(t) } })
    }

    function curl(t: TestContext, ...args: readonly string[]): Promise<Ended> {
      return startCurl(t, ...args).ended
    }

    const pets = () => `${service().address}/v1/pets`

    test('prints the body, whatever the status', async t => {
      const found = await curl(t, '-s', '-H', AUTHORIZATION, pets())
      assert.deepEqual(found, { code: 0, signal: null, out: `[${BELLA}]`, err: '' })
      const rejected = await curl(t, '--silent', '--header', 'Authorization: Bearer x', pets())
      assert.equal(rejected.code, 0)
      assert.match(rejected.out, /^\{"code":"unauthorized",.*"status":401\}$/)
    })

    test('posts data, as a form unless a header says otherwise', async t => {
      const added = '{"name": "Kim", "categoryId": 8}'
      const args = ['--silent', '--header', AUTHORIZATION, '--header', 'Idempotency-Key: kim']
      const created = await curl(t, ...args, '--header', JSON_TYPE, '--data', added, pets())
      assert.equal(created.out, '{"id":2,"name":"Kim","categoryId":8}')
      const repeated = await curl(t, ...args, '-H', JSON_TYPE, '-d', added, pets())
      assert.equal(repeated.out, created.out)
      const form = await curl(t, ...args, '-d', added, pets())
      assert.match(form.out, /^\{"code":"unsupported_media_type",/)
    })

    test('prints the head of the response with --include', async t => {
      const { out } = await curl(t, '--silent', '--include', '--header', AUTHORIZATION, `${pets()}?limit=1`)
      assert.match(out, /^HTTP\/1\.1 200 OK\r\n(?:[\w-]+: .*\r\n)+\r\n\[\{"id":1,.*\}\]$/)
      assert.match(out, /^content-type: application\/json\r$/im)
    })

    test('writes the body to a file with --output, and the status with --write-out', async t => {
      const file = join(temporaryFolder(t), 'body.json')
      const url = `${pets()}?limit=1`
      const args = ['--silent', '--output', file, '--write-out', '%{http_code}\\n', '--header', AUTHORIZATION]
      assert.equal((await curl(t, ...args, url)).out, '200\n')
      assert.equal(readFileSync(file, 'utf8'), `[${BELLA}]`)
    })

    test('exits with 22 for an error status with --fail, and prints no body', async t => {
      assert.deepEqual(await curl(t, '--silent', '--fail', pets()), {
        code: 22,
        signal: null,
        out: '',
        err: '',
      })
      assert.match((await curl(t, '--fail', pets())).err, /curl: \(22\) .*401/)
    })

    test('exits with 7 if it cannot connect, and with 2 for an unknown flag', async t => {
      const nowhere = `http://127.0.0.1:${await freePort()}/`
      const { code, err } = await curl(t, nowhere)
      assert.equal(code, 7)
      assert.match(err, /curl: \(7\) /)
      assert.equal((await curl(t, '--silent', nowhere)).err, '')
      assert.equal((await curl(t, '--unknown', nowhere)).code, 2)
      assert.equal((await curl(t)).code, 2)
    })

    test('retries after a 503, and after a refused connection with --retry-connrefused', async t => {
      const statuses = [503, 200]
      const server = createServer((_, response) =>
        response.writeHead(statuses.shift() ?? 200).end(`${statuses.length} left`),
      )
      t.after(() => server.close())
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const args = ['--fail', '--retry', '3', '--retry-delay', '1']
      assert.equal((await curl(t, '--silent', ...args, url)).out, '0 left')

      await new Promise(resolve => server.close(resolve))
      const refused = await curl(t, ...args, url)
      assert.equal(refused.code, 7)
      assert.doesNotMatch(refused.err, /Will retry/)
      const waiting = startCurl(t, ...args, '--retry-connrefused', url)
      await waiting.said(/Will retry/)
      await once(server.listen(Number(new URL(url).port), '127.0.0.1'), 'listening')
      assert.equal((await waiting.ended).out, '0 left')
    })
  })
}

test('the stand-in for curl knows every flag in the documents and in the first-run message', async t => {
  const env = { PATH: pathWithStandIn(t) }
  const files = globSync(['*.md', 'client/*.md', 'docs/**/*.md', 'src/cli/serve.ts'], { cwd: ROOT })
  const flags = new Set(files.flatMap(file => curlFlags(readFileSync(join(ROOT, file), 'utf8'))))
  for (const flag of ['-H', '-d', '--retry-connrefused', '--write-out']) assert.ok(flags.has(flag), flag)
  // Passes a value after each flag. After a flag that takes none, the value counts as a URL. So if all flags are known,
  // the only error is that there are too many URLs.
  const args = [...flags].flatMap(flag => [flag, 'x'])
  const { err } = await run(t, args, { cwd: temporaryFolder(t), program: ['curl'], env })
  assert.equal(err, 'curl: (2) expected one URL\n')
})

/** The flags of the curl commands in a text. A command may continue on the next line after a backslash. */
function curlFlags(text: string): string[] {
  const commands = text.replaceAll('\\\n', ' ').match(/\bcurl -.*/g) ?? []
  return commands.flatMap(
    command =>
      command
        .replaceAll(/"[^"]*"|'[^']*'/g, '')
        .split('|')[0]
        ?.match(/(?<=\s)--?[a-zA-Z][\w-]*/g) ?? [],
  )
}
