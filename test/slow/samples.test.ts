// Runs the samples of the API reference, as the page shows them, in every language that the machine has.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Status } from '../../src/animal.ts'
import { tokenizeLines } from '../../src/web/samples/highlight.ts'
import { LANGUAGES } from '../../src/web/samples/languages.ts'
import { buildRequest, type Field, type SampleRequest } from '../../src/web/samples/sample-request.ts'
import { skipWithout } from '../support/programs.ts'
import { API_KEY, startTestService, type TestService, temporaryFolder } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLIENT = join(ROOT, 'client/src/animal-store.ts')
const TYPESCRIPT = join(ROOT, 'node_modules/typescript/bin/tsc')
/** On a busy machine, and with an empty cache, a build takes long. */
const TIMEOUT_MS = 240_000

/** Characters that mean something in one of the languages. */
const DIFFICULT_NAME = `Zoë's "cat" \\ \`id\` \${1} $HOME %s """ '''`
const DIFFICULT_KEY = "'`$HOME\\%s"
const LARGE_CATEGORY = '9007199254740993'

/** What the samples print of an error: its status, code and message, in any order. */
const ERROR = /^(?=.*400)(?=.*invalid_request)(?=.*limit must be a whole number)/s

const NOT_FOUND = /^(?=.*404)(?=.*not_found)(?=.*There is no animal)/s

interface Toolchain {
  readonly language: string
  readonly program: string
  /** Runs all programs, and returns what each has printed. */
  readonly run: (programs: readonly Program[]) => Promise<string[]>
}

interface Program {
  readonly name: string
  readonly text: string
}

const TOOLCHAINS: readonly Toolchain[] = [
  {
    language: 'curl',
    program: 'curl',
    run: programs => runEach(programs, ({ text }) => ['sh', '-c', text], temporaryFolder()),
  },
  {
    language: 'typescript',
    program: process.execPath,
    run: async programs => {
      const folder = folderWithClient()
      const files = programs.map(program => write(folder, program, '.mts'))
      await execute([process.execPath, TYPESCRIPT, '--project', folder])
      return runEach(files, file => [process.execPath, file])
    },
  },
  {
    language: 'javascript',
    program: process.execPath,
    run: programs => {
      const folder = temporaryFolder()
      return runEach(programs, program => [process.execPath, write(folder, program, '.mjs')])
    },
  },
  {
    language: 'python',
    program: 'python3',
    run: programs => {
      const folder = temporaryFolder()
      return runEach(programs, program => ['python3', write(folder, program, '.py')])
    },
  },
  {
    language: 'go',
    program: 'go',
    run: async programs => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'go.mod'), 'module samples\n\ngo 1.21\n')
      for (const program of programs) {
        mkdirSync(join(folder, program.name))
        write(join(folder, program.name), program, '.go')
      }
      // One build for all is faster than one each.
      await execute(['go', 'build', '-o', `${join(folder, 'bin')}/`, './...'], folder)
      return runEach(programs, ({ name }) => [join(folder, 'bin', name)])
    },
  },
]

async function runEach<Item>(
  programs: readonly Item[],
  command: (program: Item) => readonly string[],
  folder?: string,
): Promise<string[]> {
  const outputs: string[] = []
  for (const program of programs) outputs.push(await execute(command(program), folder))
  return outputs
}

function execute([command = '', ...args]: readonly string[], cwd?: string): Promise<string> {
  const env = { ...process.env, ANIMAL_STORE_KEY: API_KEY, GOTOOLCHAIN: 'local' }
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, env, timeout: TIMEOUT_MS }, (error, out, errors) =>
      error ? reject(new Error(`${command} failed: ${error.message}\n${errors}\n${out}`)) : resolve(out),
    )
  })
}

function write(folder: string, { name, text }: Program, extension: string): string {
  const file = join(folder, name + extension)
  writeFileSync(file, text)
  return file
}

/** A project that has installed the client, and checks types strictly. */
function folderWithClient(): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'client'))
  mkdirSync(join(folder, 'node_modules'))
  const manifest = { name: 'animal-store-client', type: 'module', exports: './index.js' }
  writeFileSync(join(folder, 'client/package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'client/index.js'), `export * from '${pathToFileURL(CLIENT)}'\n`)
  symlinkSync('../client', join(folder, 'node_modules/animal-store-client'))
  const compilerOptions = {
    paths: { 'animal-store-client': [CLIENT] },
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  const configuration = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions,
    include: ['*.mts'],
    exclude: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration))
  return folder
}

/** The sample that the page shows without a script. */
async function readSample(service: TestService, id: string, language: string): Promise<string> {
  const { text } = await service.send('GET', '/docs', { headers: { authorization: '' } })
  const section = text.slice(text.search(new RegExp(`<section[^>]* id="${id}"`)))
  const [, code = ''] =
    section.match(new RegExp(`<pre data-language="${language}"[^>]*><code>(.*?)</code>`, 's')) ?? []
  return toText(code)
}

function toText(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&#(\d+);/g, (_, character) => String.fromCharCode(character))
}

async function readSamples(
  service: TestService,
  ids: readonly string[],
  language: string,
): Promise<Program[]> {
  return Promise.all(ids.map(async id => ({ name: id, text: await readSample(service, id, language) })))
}

/** A creation, and a search for what it has created. */
function difficultSamples({ address }: TestService, language: string): Program[] {
  const body = JSON.stringify({ name: DIFFICULT_NAME, categoryId: 7 }, null, 2).replace('7', LARGE_CATEGORY)
  const creation: Field[] = [
    { name: 'Idempotency-Key', in: 'header', value: DIFFICULT_KEY },
    { name: 'body', in: 'body', value: body },
  ]
  const search: Field[] = [
    { name: 'name', in: 'query', value: DIFFICULT_NAME },
    { name: 'categoryId', in: 'query', value: LARGE_CATEGORY },
  ]
  const target = { baseUrl: `${address}/v1`, path: '/pets' }
  const requests = {
    creation: buildRequest({ ...target, operationId: 'createPet', method: 'POST', fields: creation }),
    search: buildRequest({ ...target, operationId: 'listPets', method: 'GET', fields: search }),
  }
  return renderRequests(requests, language)
}

/** A change and a removal of this animal, with a value in every field. */
function conditionalRequests({ address }: TestService, petId: string): Record<string, SampleRequest> {
  const fieldsOf = (key: string, ifStatus: string): Field[] => [
    { name: 'petId', in: 'path', value: petId },
    { name: 'If-Match', in: 'header', value: '*' },
    { name: 'If-None-Match', in: 'header', value: `"'\`$HOME\\%s", W/"2"` },
    { name: 'ifStatus', in: 'query', value: ifStatus },
    { name: 'Idempotency-Key', in: 'header', value: DIFFICULT_KEY + key },
  ]
  const body = `{"name": ${JSON.stringify(DIFFICULT_NAME)}, "categoryId": ${LARGE_CATEGORY}, "status": null}`
  const target = { baseUrl: `${address}/v1`, path: '/pets/{petId}' }
  return {
    change: buildRequest({
      ...target,
      operationId: 'updatePet',
      method: 'PATCH',
      mediaType: 'application/merge-patch+json',
      fields: [...fieldsOf('1', 'available'), { name: 'body', in: 'body', value: body }],
    }),
    removal: buildRequest({
      ...target,
      operationId: 'deletePet',
      method: 'DELETE',
      fields: fieldsOf('2', 'none'),
    }),
  }
}

function renderRequests(requests: Readonly<Record<string, SampleRequest>>, language: string): Program[] {
  const render = LANGUAGES.find(({ id }) => id === language)?.render
  return Object.entries(requests).map(([name, request]) => ({ name, text: render?.(request) ?? '' }))
}

function fetchRequest({ method, url, headers, body }: SampleRequest): Promise<Response> {
  return fetch(url, {
    method,
    headers: Object.fromEntries([['Authorization', `Bearer ${API_KEY}`], ...headers]),
    body: body ?? null,
  })
}

suite('the samples of the reference', () => {
  test('are in the languages that this test runs', () => {
    assert.deepEqual(
      LANGUAGES.map(({ id }) => id),
      TOOLCHAINS.map(({ language }) => language),
    )
  })

  for (const { language, program, run } of TOOLCHAINS) {
    const options = { skip: skipWithout(program), timeout: 4 * TIMEOUT_MS }
    test(
      `run with ${language}: create, get, list, count, and difficult characters in a creation and a search`,
      options,
      async t => {
        const service = await startTestService(t)
        const programs = await readSamples(
          service,
          ['createPet', 'getPet', 'listPets', 'getInventory'],
          language,
        )
        for (const { text } of programs) assert.match(text, /ANIMAL_STORE_KEY/)
        const outputs = await run([...programs, ...difficultSamples(service, language)])
        for (const output of outputs.slice(0, 3)) assert.match(output, /Bella/)
        assert.match(outputs[3] ?? '', /available\W+1n?,.*sold\W+0n?,/)
        assert.match(outputs.at(-1) ?? '', /Zoë/)
        assert.doesNotMatch(outputs.at(-1) ?? '', /Bella/)
        const stored = (await service.send('GET', '/v1/pets')).json as { name: string; categoryId: bigint }[]
        assert.deepEqual(
          stored.map(({ name, categoryId }) => [name, categoryId]),
          [
            ['Bella', 7n],
            [DIFFICULT_NAME, BigInt(LARGE_CATEGORY)],
          ],
        )
        // Another animal under the same Idempotency-Key is rejected, so the key of the sample arrived unchanged.
        const again = await service.create(
          { name: 'Kim', categoryId: 1 },
          { 'idempotency-key': DIFFICULT_KEY },
        )
        assert.equal(again.status, 422)
      },
    )

    test(`run with ${language}: change and remove, also with a value in every field`, options, async t => {
      const service = await startTestService(t)
      await service.create({ name: 'Bella', categoryId: 7 })
      await service.create({ name: 'Kim', categoryId: 7, status: 'available' })
      const requests = conditionalRequests(service, '2')
      const [changed = '', removed = '', difficult = ''] = await run([
        ...(await readSamples(service, ['updatePet', 'deletePet'], language)),
        ...renderRequests(requests, language),
      ])
      assert.match(changed, /Bella.*sold/s)
      assert.match(removed, /204|The animal was removed/)
      assert.match(difficult, /Zoë/)
      assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      // A repetition is replayed, so the sample has sent exactly this request.
      for (const [name, request] of Object.entries(requests)) {
        const repeated = await fetchRequest(request)
        assert.equal(repeated.headers.get('idempotent-replayed'), 'true', `${name}: ${await repeated.text()}`)
      }
    })

    test(`show with ${language} how to follow Link, and how to read an error`, options, async t => {
      const service = await startTestService(t)
      for (let id = 1; id <= 41; id++) await service.create({ name: `Animal ${id}.`, categoryId: 1 })
      const [pages = '', error = ''] = await run(await readSamples(service, ['paging', 'errors'], language))
      for (let id = 1; id <= 41; id++) assert.ok(pages.includes(`Animal ${id}.`), `${id} is not in ${pages}`)
      assert.match(error, ERROR)
    })

    test(
      `change an animal with ${language} only as it was seen, and retry without changing it twice`,
      options,
      async t => {
        const service = await startTestService(t)
        await service.create({ name: 'Bella', categoryId: 7 })
        const sample = await readSample(service, 'conditions', language)
        // The first answer is lost: that of the look at the animal, which is repeated.
        const proxy = await startLossyProxy(t, service.address, [0])
        const throughProxy = { name: 'change', text: sample.replaceAll(service.address, proxy.address) }
        assert.match((await run([throughProxy])).join(), /Bella \(vaccinated\)/)
        assert.deepEqual(proxy.statuses, [200, 200, 200])
        // The answer to the change is lost, and its retry gets it again: the name is changed once, without a conflict.
        await rename(service, 'Momo')
        const second = await startLossyProxy(t, service.address, [1])
        const again = { name: 'change', text: sample.replaceAll(service.address, second.address) }
        await run([again])
        assert.deepEqual(second.statuses, [200, 200, 200])
        const name = language === 'curl' ? 'Bella (vaccinated)' : 'Momo (vaccinated)'
        assert.match(
          (await service.send('GET', '/v1/pets')).text,
          new RegExp(`"name":"${RegExp.escape(name)}"`),
        )
        // Somebody changes the animal between the look and the change: the programs look again, and curl fails with the 412.
        const third = await startLossyProxy(t, service.address, [], () => rename(service, 'Kim'))
        const late = { name: 'change', text: sample.replaceAll(service.address, third.address) }
        if (language === 'curl') await assert.rejects(run([late]), /precondition_failed/)
        else assert.match((await run([late])).join(), /Kim \(vaccinated\)/)
        assert.deepEqual(third.statuses, language === 'curl' ? [200, 412] : [200, 412, 200, 200])
      },
    )

    test(`fail with ${language} if the answer has another status than that of a success`, {
      skip: options.skip || language === 'curl',
      timeout: options.timeout,
    }, async t => {
      const { address } = await startServer(t, (_request, response) =>
        response.writeHead(300, { 'content-type': 'application/json' }).end('{"choose": "one"}'),
      )
      const request = buildRequest({
        operationId: 'getInventory',
        method: 'GET',
        baseUrl: `${address}/v1`,
        path: '/store/inventory',
        fields: [],
      })
      await assert.rejects(run(renderRequests({ unexpected: request }, language)), /300|unexpected_response/)
    })

    test(`print with ${language} the error object of a rejected request, and fail`, options, async t => {
      const service = await startTestService(t)
      const list = buildRequest({
        operationId: 'listPets',
        method: 'GET',
        baseUrl: `${service.address}/v1`,
        path: '/pets',
        fields: [{ name: 'limit', in: 'query', value: '0' }],
      })
      const cases: [request: SampleRequest, error: RegExp][] = [[list, ERROR]]
      for (const request of Object.values(conditionalRequests(service, '7'))) cases.push([request, NOT_FOUND])
      for (const [request, error] of cases) {
        const output = run(renderRequests({ rejected: request }, language))
        // curl shows the answer, whatever it is.
        if (language === 'curl') assert.match(String(await output), error)
        else await assert.rejects(output, error)
      }
    })
  }
})

test('the requests of the guide do what the guide says', {
  skip: skipWithout('curl'),
}, async t => {
  const service = await startTestService(t)
  for (let id = 1; id <= 7; id++) await service.create({ name: `Animal ${id}`, categoryId: 1 })
  const page = (await service.send('GET', '/docs', { headers: { authorization: '' } })).text
  const blocks = new Map(
    [...page.matchAll(/<div class="block"><p>([^<]*)<\/p>.*?<code>(.*?)<\/code>/gs)].map(
      ([, title = '', code = '']) => [title, toText(code)],
    ),
  )
  const runBlock = (title: string) => execute(['sh', '-c', blocks.get(title) ?? assert.fail(title)])
  const newest = JSON.parse(await runBlock('The five newest animals')) as { id: number }[]
  assert.deepEqual(
    newest.map(({ id }) => id),
    [3, 4, 5, 6, 7],
  )
  const one = blocks.get('The animal with the id 1234, after the removal too') ?? ''
  const found = JSON.parse(await execute(['sh', '-c', one.replace('after=1233', 'after=3')]))
  assert.deepEqual(found, [{ id: 4, name: 'Animal 4', categoryId: 1 }])
  await service.create({ name: 'ZOE', categoryId: 1 })
  assert.match(await runBlock('Search for a name'), /^\[\{"id":8,"name":"ZOE","categoryId":1\}\]$/m)
  assert.match(await runBlock('A key that is not valid'), /^HTTP\/1\.1 401 /)
  assert.doesNotMatch(await runBlock('Retry without adding twice'), /Idempotent-Replayed/i)
  assert.match(await runBlock('Retry without adding twice'), /^Idempotent-Replayed: true/im)
  assert.match(await runBlock('Sell an animal only once'), /"code":"conflict"/)
  await setStatus(service, 'available')
  assert.match(await runBlock('Sell an animal only once'), /"status":"sold"/)
  const sale = blocks.get('Sell an animal only once') ?? ''
  assert.match(await execute(['sh', '-c', sale]), /"status":"sold"/, 'a retry gets the first answer')
  const another = sale.replace('order-1042', 'order-1043')
  assert.match(await execute(['sh', '-c', another]), /"code":"conflict"/)
  assert.match(await runBlock('Retry a removal'), /^HTTP\/1\.1 204 /)
  assert.match(await runBlock('Retry a removal'), /^HTTP\/1\.1 204 .*^Idempotent-Replayed: true/ims)
})

async function setStatus(service: TestService, status: Status): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { text } = await service.send('PATCH', '/v1/pets/1', { headers, body: JSON.stringify({ status }) })
  assert.match(text, new RegExp(`"status":"${status}"`))
}

suite('the samples of docs/other-languages.md that retry a change', () => {
  const page = readFileSync(join(ROOT, 'docs/other-languages.md'), 'utf8')
  const section = page.slice(page.indexOf('## Retry a change safely'))

  for (const [language, program, option] of [
    ['sh', 'curl', '-c'],
    ['py', 'python3', '-c'],
  ] as const)
    test(`change once with ${program} if the first answer is lost, and fail if somebody was faster`, {
      skip: skipWithout(program),
    }, async t => {
      const service = await startTestService(t)
      await service.create({ name: 'Bella', categoryId: 7, status: 'available' })
      const proxy = await startLossyProxy(t, service.address)
      const [, code = ''] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(section) ?? []
      const text = code.replaceAll('http://127.0.0.1:8080', proxy.address)
      const shell = language === 'sh' ? 'sh' : program
      const folder = temporaryFolder()
      assert.match(await execute([shell, option, text], folder), /sold/)
      assert.deepEqual(proxy.statuses, [200, 200])
      await setStatus(service, 'pending')
      // Otherwise it would be a retry of the sale.
      const another = text.replace('order-1042', 'order-1043')
      await assert.rejects(execute([shell, option, another], folder))
      assert.deepEqual(proxy.statuses, [200, 200, 409])
    })
})

async function rename(service: TestService, name: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await service.send('PATCH', '/v1/pets/1', { headers, body: JSON.stringify({ name }) })
}

/**
 * A proxy that loses the answers to the requests with these numbers: by default, to the first. `afterFirst` runs before the
 * first answer is passed on.
 */
async function startLossyProxy(
  t: TestContext,
  target: string,
  lost: readonly number[] = [0],
  afterFirst: () => Promise<void> = async () => {},
) {
  const statuses: number[] = []
  const { address } = await startServer(t, async (request, response) => {
    const { url, method = '', headers } = request
    const chunks = await request.toArray()
    const passedOn = ['authorization', 'content-type', 'idempotency-key', 'if-match'] as const
    const sent = passedOn.flatMap(name =>
      headers[name] === undefined ? [] : [[name, String(headers[name])]],
    )
    const reply = await fetch(`${target}${url}`, {
      method,
      headers: Object.fromEntries(sent),
      body: Buffer.concat(chunks),
    })
    const body = await reply.text()
    statuses.push(reply.status)
    if (statuses.length === 1) await afterFirst()
    const etag = reply.headers.get('etag')
    if (lost.includes(statuses.length - 1)) request.socket.destroy()
    else
      response
        .writeHead(reply.status, { 'content-type': 'application/json', ...(etag !== null && { etag }) })
        .end(body)
  })
  return { address, statuses }
}

async function startServer(t: TestContext, listener: RequestListener): Promise<{ address: string }> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}` }
}

test('the highlighting changes no sample', () => {
  const request = buildRequest({
    operationId: 'createPet',
    method: 'POST',
    baseUrl: 'http://localhost/v1',
    path: '/pets',
    fields: [{ name: 'body', in: 'body', value: `{"name": "${DIFFICULT_NAME}"` }],
  })
  for (const { syntax, render } of LANGUAGES) {
    const text = render(request)
    assert.equal(
      tokenizeLines(syntax, text)
        .flat()
        .map(({ text }) => text)
        .join(''),
      text,
    )
  }
})
