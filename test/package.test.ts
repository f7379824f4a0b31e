// The package as it is published: packed, put into an empty project, and used there.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { run, serve } from './support/command.ts'
import { API_KEY, client, startTestService, temporaryFolder } from './support/service.ts'

const ROOT = new URL('..', import.meta.url).pathname

/** The Node that npm itself runs on: it may be an older one, on which the client must work too. */
const OLDER_NODE = process.env.npm_node_execpath ?? process.execPath

interface Packed {
  readonly version: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** Packs the package and unpacks it into the `node_modules` of an empty project, with nothing beside it. */
function install(folder: string): Packed {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', modules])
  cpSync(join(modules, 'package'), join(modules, 'animal-store'), { recursive: true })
  return packed
}

suite('the packed package', () => {
  let packed: Packed
  let project = ''
  before(() => {
    project = mkdtempSync(join(tmpdir(), 'animal-store-project-'))
    packed = install(project)
  })
  after(() => rmSync(project, { recursive: true }))

  test('has what it needs and nothing else', () => {
    const files = packed.files.map(({ path }) => path)
    for (const file of [
      ...['dist/main.js', 'dist/main.d.ts', 'dist/client/animal-store.js', 'dist/client/animal-store.d.ts'],
      ...['dist/page/browser/catalogue.js', 'docs/openapi.json', 'LICENSE', 'README.md'],
    ])
      assert.ok(files.includes(file), file)
    assert.deepEqual(
      files.filter(file => /^(src|test|bench|scripts|data)\/|\.db$|\.tgz$|tsconfig|[^d]\.ts$/.test(file)),
      [],
    )
  })

  test('runs by itself, from JavaScript, with its pages', async t => {
    const folder = temporaryFolder(t)
    cpSync(join(project, 'node_modules/animal-store'), join(folder, 'package'), { recursive: true })
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
    const page = (await send('GET', '/')).text
    const assets = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path)
    assert.ok(assets.includes('/assets/client/animal-store.js'))
    for (const path of assets) assert.equal((await send('GET', path)).status, 200, path)
    assert.deepEqual(readdirSync(cwd), ['data'])
  })

  for (const [index, [, language = '', example = '']] of [
    ...readFileSync(join(ROOT, 'docs/client.md'), 'utf8').matchAll(/^```(js|ts)\n([\s\S]*?)^```$/gm),
  ].entries()) {
    test(`example ${index + 1} of docs/client.md works, in an empty project (${language})`, async t => {
      const service = await startTestService(t)
      await service.create({ name: 'Rex', categoryId: 1 })
      const name = `example-${index}.${language === 'js' ? 'mjs' : 'mts'}`
      writeFileSync(join(project, name), example.replaceAll('http://127.0.0.1:8080', service.address))
      const node = language === 'js' ? OLDER_NODE : process.execPath
      const { code, out, err } = await run(t, [name], {
        cwd: project,
        program: [node],
        env: { ANIMAL_STORE_API_KEY: API_KEY },
      })
      assert.equal(code, 0, err)
      assert.equal(err, '')
      for (const [, comment = ''] of example.matchAll(/console\.log\([^\n]*\) \/\/ ([^\n]+)/g)) {
        if (!comment.startsWith('what')) assert.ok(out.split('\n').includes(comment), `${comment} in ${out}`)
      }
    })
  }

  for (const [moduleKind, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    test(`has types that hold, for a page and for a program, with ${resolution} resolution`, () => {
      writeFileSync(
        join(project, 'types.mts'),
        `import { type Animal, AnimalStore, AnimalStoreError, type Page } from 'animal-store/client'
const store = new AnimalStore({ baseUrl: 'https://animals.example/v1', apiKey: 'x' })
export const page: Promise<Page> = store.listAnimals({ status: 'sold', limit: 5, after: 1n })
export const animal: Promise<Animal> = store.createAnimal({ name: 'Bella', categoryId: 7n })
type Takes<Accepted, Value> = Value extends Accepted ? true : false
type Added = Parameters<typeof store.createAnimal>[0]
type Asked = Parameters<typeof store.listAnimals>[0]
export const exactIntegers: Takes<Added, { name: string; categoryId: bigint }> = true
export const numbersThatMayHaveLostDigits: Takes<Added, { name: string; categoryId: number }> = false
export const knownStatuses: Takes<Asked, { status: 'sold' }> = true
export const unknownStatuses: Takes<Asked, { status: 'lost' }> = false
export const code = (error: unknown): string | undefined => error instanceof AnimalStoreError ? error.code : undefined
`,
      )
      const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '']
      const how = ['--module', moduleKind as string, '--moduleResolution', resolution as string]
      execFileSync(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...how, 'types.mts'], { cwd: project })
    })
  }
})
