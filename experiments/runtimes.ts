// Installs the packed client, Deno and Bun in an empty project, and runs one program there on Node.js, Deno and Bun. It
// downloads more than 100 MB.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { COMPILER_ENV, run, serve } from '../test/support/command.ts'
import { freePort } from '../test/support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../test/support/service.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The Node.js that npm runs on. It may be older than the service's. */
const OLDER_NODE = process.env.npm_node_execpath ?? process.execPath

const RUNTIMES = [
  [OLDER_NODE],
  [process.execPath],
  ['node_modules/.bin/deno', 'run', '--allow-env', '--allow-net', '--allow-read'],
  ['node_modules/.bin/bun', 'run'],
]

/** Every runtime has its own words for a failed connection, which follow what the client says. */
const PROGRAM = `
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { AnimalStore, AnimalStoreError, MAX_ID, parseJson, toJson } from 'animal-store-client'

const { ADDRESS, FAILURES, API_KEY: apiKey } = process.env
const storeAt = (address, options) => new AnimalStore({ baseUrl: address + '/v1', apiKey, ...options })
const failureOf = promise => promise.then(() => assert.fail('it did not fail'), error => error)

const store = storeAt(ADDRESS, { headers: { 'x-shop': '7' } })
const bella = await store.createAnimal({ name: 'Bella', categoryId: 9007199254740993n }, { idempotencyKey: 'say"hi' })
assert.deepEqual(bella, { id: bella.id, name: 'Bella', categoryId: 9007199254740993n })
assert.deepEqual(await store.createAnimal({ name: 'Bella', categoryId: 9007199254740993n }, { idempotencyKey: 'say"hi' }), bella)
const listed = []
for await (const animal of store.animals({ newestFirst: true })) listed.push(animal)
assert.deepEqual(listed, [bella])
let requestId
const onResponse = response => { requestId = response.requestId }
assert.deepEqual(await store.animals({ onResponse }).toArray({ limit: 1 }), [bella])
assert.match(requestId, /./)
assert.equal(toJson(bella), '{"id":' + bella.id + ',"name":"Bella","categoryId":9007199254740993}')
assert.match(String(await failureOf(store.createAnimal({ ...bella, stauts: 'sold' }))), /^TypeError: an animal must not have stauts/)
assert.deepEqual(await store.findAnimal(bella.id), bella)
assert.equal(await store.findAnimal(bella.id + 1n), undefined)
assert.deepEqual(parseJson(toJson(bella)), bella)

const etag = (await store.updateAnimal(bella.id, {})).etag
assert.equal(etag, bella.etag)
const sell = () => store.updateAnimal(bella.id, { status: 'sold' }, { ifStatus: 'none', ifMatch: etag })
const sold = await sell()
assert.deepEqual(sold, { ...bella, status: 'sold' })
assert.equal((await failureOf(sell())).code, 'precondition_failed')
assert.equal((await failureOf(store.deleteAnimal(bella.id, { ifStatus: 'none' }))).code, 'conflict')
assert.equal(await store.deleteAnimal(bella.id, { ifMatch: sold.etag }), undefined)
assert.equal(await store.findAnimal(bella.id), undefined)

const sent = []
const storeAtFetch = storeAt(ADDRESS, { fetch: (url, init) => (sent.push(init.headers['user-agent']), fetch(url, init)) })
await storeAtFetch.listAnimals()
assert.match(String(sent), /^animal-store-client[/][0-9.]+$/)
console.log('  creates, lists, finds, changes and removes', bella.name, 'in category', String(bella.categoryId))

const error = await failureOf(store.createAnimal({ name: ' ', categoryId: 7n }))
assert.ok(error instanceof AnimalStoreError)
assert.match(error.requestId, /./)
assert.deepEqual([error.code, error.status, error.message], ['invalid_request', 400, 'name must not be blank.'])
console.log(' ', error.code, error.status, error.message)

for (const [address, code, message] of JSON.parse(FAILURES)) {
  // Retries that cannot help would take days.
  const retries = /invalid|^https:/.test(address) ? 10_000 : 0
  const error = await failureOf(storeAt(address, { retries, timeoutMs: 2_000 }).listAnimals())
  console.log(' ', error.code, error.message)
  assert.equal(error.code, code)
  assert.ok(error.message.startsWith(message), error.message)
}

const cancelled = new Error('cancelled')
assert.equal(await failureOf(store.listAnimals({ signal: AbortSignal.abort(cancelled) })), cancelled)
assert.equal(createRequire(import.meta.url)('animal-store-client').MAX_ID, MAX_ID)
console.log('  can be cancelled, and loaded with require')
`

/** Packs the client and installs it with the runtimes. */
async function installProject(t: Scope): Promise<string> {
  const project = temporaryFolder()
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n')
  writeFileSync(join(project, 'program.mjs'), PROGRAM)
  // npm needs the settings of this machine, such as its registry and its certificates.
  const env = { ...COMPILER_ENV, ...(process.env as Record<string, string>) }
  const npm = async (args: readonly string[], cwd: string) => {
    const { code, out, err } = await run(t, args, { cwd, program: ['npm'], env })
    assert.equal(code, 0, `npm ${args.join(' ')}\n${err}`)
    return out.trim()
  }
  const file = await npm(['pack', '--silent', '--workspace', 'client', '--pack-destination', project], ROOT)
  await npm(['install', '--no-audit', '--no-fund', `./${file}`, 'deno', 'bun'], project)
  return project
}

async function listen(t: Scope, onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    onConnection(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

test('the client works on Node.js, Deno and Bun', async t => {
  const project = await installProject(t)
  const refusing = `http://127.0.0.1:${await freePort()}`
  const closing = await listen(t, socket => socket.once('data', () => socket.destroy()))
  const truncating = await listen(t, socket =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[', () => socket.destroy())
    }),
  )
  const silent = await listen(t, () => {})
  const unreachable = (address: string) => [
    address,
    'network_error',
    `No response from ${new URL(address).host}`,
  ]
  for (const [index, [program = '', ...args]] of RUNTIMES.entries()) {
    const cwd = join(project, `data-${index}`)
    mkdirSync(cwd)
    const { address } = await serve(t, [], { cwd, env: { ANIMAL_STORE_API_KEY: API_KEY } })
    const host = `No response from ${new URL(address).host}`
    const failures = [
      unreachable(refusing),
      unreachable(closing),
      unreachable(truncating),
      unreachable('http://animals.invalid'),
      [
        ...unreachable(address.replace('http:', 'https:')).slice(0, 2),
        `${host}: the server speaks http on this port`,
      ],
      [silent, 'timeout', 'There was no response within 2000 ms.'],
    ]
    const version = await run(t, ['--version'], { cwd: project, program: [program] })
    console.log(program, version.out.split('\n')[0])
    const { code, out, err } = await run(t, [...args, 'program.mjs'], {
      cwd: project,
      program: [program],
      // The runtimes keep caches in the home folder.
      env: { HOME: project, ADDRESS: address, API_KEY, FAILURES: JSON.stringify(failures) },
    })
    console.log(out)
    assert.equal(code, 0, err)
    assert.equal(err, '')
  }
})
