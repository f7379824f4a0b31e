// The two packages as they are published: packed, installed in an empty project, and used there.

import assert from 'node:assert/strict'
import {
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { COMPILER_ENV, run, serve } from '../support/command.ts'
import { API_KEY, client, type Scope, shared, startTestService, temporaryFolder } from '../support/service.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** The Node.js that npm runs on. It may be older than the service's, and the client must work there too. */
const OLDER_NODE = process.env.npm_node_execpath ?? process.execPath

/** The code blocks of a document, in these languages. */
function codeBlocks(file: string, languages: string) {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`(${languages})\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, language = '', code = '']) => ({ language, code }),
  )
}

async function runShell(t: Scope, commands: string, cwd: string, home: string): Promise<string> {
  const env = { HOME: home, npm_config_offline: 'true', npm_config_loglevel: 'error', ...COMPILER_ENV }
  const { code, out, err } = await run(t, ['-c', `set -e\n${commands}`], { cwd, program: ['sh'], env })
  assert.equal(code, 0, `${commands}\n${err}`)
  return out
}

function filesIn(folder: string): string[] {
  return globSync('**', { cwd: folder, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort()
}

/** Installs the client in an empty project, with the commands of its documentation. */
async function installClient(t: Scope): Promise<string> {
  const home = temporaryFolder(t)
  const project = join(home, 'project')
  mkdirSync(project)
  const [pack, install, ...others] = codeBlocks('docs/client.md', 'sh').map(({ code }) => code)
  assert.ok(
    pack && install && others.length === 0,
    'docs/client.md must have one block to pack and one to install',
  )
  // The tests run in a checkout in which `npm ci` has run already.
  assert.match(pack, /^npm ci\n/)
  await runShell(t, pack.replace('npm ci\n', ''), ROOT, home)
  await runShell(t, install, project, home)
  return project
}

/** Packs the service and unpacks it. Its dependencies are those of the repository. */
async function installService(t: Scope): Promise<string> {
  const folder = temporaryFolder(t)
  const file = await runShell(t, `npm pack --silent --pack-destination '${folder}'`, ROOT, folder)
  await runShell(t, `tar -xzf '${file.trim()}'`, folder, folder)
  const installed = join(folder, 'animal-store')
  renameSync(join(folder, 'package'), installed)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return installed
}

interface LockedPackage {
  readonly dev?: boolean
  readonly link?: boolean
}

suite('the package of the service', () => {
  const installed = shared(installService)

  test('has what it needs and nothing else', () => {
    const files = filesIn(installed())
    for (const file of [
      ...['bin/animal-store.js', 'dist/main.js', 'dist/assets/client/src/animal-store.js'],
      ...['dist/assets/src/web/browser/catalogue.js', 'dist/web/browser/style.css'],
      ...['docs/openapi.json', 'CHANGELOG.md', 'LICENSE', 'README.md'],
    ])
      assert.ok(files.includes(file), file)
    const unwanted = /^(src|client|test|bench|scripts|data)\/|\.db$|\.tgz$|tsconfig|\.ts$/
    assert.deepEqual(
      files.filter(file => unwanted.test(file)),
      [],
    )
    const { exports } = JSON.parse(readFileSync(join(installed(), 'package.json'), 'utf8'))
    assert.deepEqual(Object.keys(exports), ['./openapi.json', './package.json'])
  })

  test('installs only the packages that docs/security.md announces', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    const installedNames = Object.entries<LockedPackage>(packages)
      .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
    const [, list = ''] =
      /^## Packages$([\s\S]*?)^## /m.exec(readFileSync(join(ROOT, 'docs/security.md'), 'utf8')) ?? []
    const announced = [...list.matchAll(/`([@\w/-]+)`/g)].map(([, name = '']) => name)
    assert.deepEqual([...new Set(announced)].sort(), [...new Set(installedNames)].sort())
  })

  test('runs from JavaScript, with its pages and all that they load', async t => {
    const cwd = temporaryFolder(t)
    const program = [process.execPath, join(installed(), 'bin/animal-store.js')]
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const { code, out } = await run(t, ['--version'], { cwd, program })
    assert.equal(code, 0)
    assert.equal(out, `${version}\n`)

    const { address, said } = await serve(t, [], { cwd, program })
    const { send, close } = client(address, await said(/(as_live_\w{38})/))
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    // The loop also visits the paths that are added during the loop.
    const paths = new Set(['/', '/docs'])
    for (const path of paths) {
      const { status, text } = await send('GET', path)
      assert.equal(status, 200, path)
      for (const [, target = ''] of text.matchAll(/\s(?:src|href)="(\.[^"]+)"/g))
        paths.add(new URL(target, `http://localhost${path}`).pathname)
    }
    for (const path of [
      '/assets/catalogue.js',
      '/assets/reference.js',
      '/assets/catalogue.css',
      '/assets/icon.svg',
    ])
      assert.ok(paths.has(path), path)
    assert.deepEqual(readdirSync(cwd), ['data'])
  })
})

suite('the package of the client', () => {
  const project = shared(installClient)
  const service = shared(async scope => {
    const started = await startTestService(scope)
    await started.create({ name: 'Rex', categoryId: 1 })
    return started
  })

  test('has what it needs and nothing else, and no dependencies', () => {
    const installed = join(project(), 'node_modules/animal-store-client')
    const modules = readdirSync(join(ROOT, 'client/src')).map(file => file.replace(/\.ts$/, ''))
    const built = ['commonjs', 'esm'].flatMap(kind =>
      modules.flatMap(name => [`dist/${kind}/${name}.js`, `dist/${kind}/${name}.d.ts`]),
    )
    const others = ['LICENSE', 'README.md', 'dist/commonjs/package.json', 'package.json']
    assert.deepEqual(filesIn(installed), [...built, ...others].sort())
    const { dependencies, optionalDependencies } = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'),
    )
    assert.deepEqual([dependencies, optionalDependencies], [undefined, undefined])
    assert.equal(
      readFileSync(join(installed, 'LICENSE'), 'utf8'),
      readFileSync(join(ROOT, 'LICENSE'), 'utf8'),
    )
  })

  test('has the same commands to install it in its README as in docs/client.md', () => {
    assert.deepEqual(codeBlocks('client/README.md', 'sh'), codeBlocks('docs/client.md', 'sh'))
  })

  for (const file of ['docs/client.md', 'client/README.md']) {
    for (const [index, { language, code: example }] of codeBlocks(file, 'js|ts').entries()) {
      const isCommonJs = example.includes('require(')
      const extension = language === 'ts' ? 'mts' : isCommonJs ? 'cjs' : 'mjs'
      test(`example ${index + 1} of ${file} works in an empty project (.${extension})`, async t => {
        const name = `example-${index}.${extension}`
        writeFileSync(join(project(), name), example.replaceAll('http://127.0.0.1:8080', service().address))
        const { code, out, err } = await run(t, [name], {
          cwd: project(),
          program: [language === 'js' ? OLDER_NODE : process.execPath],
          env: { ANIMAL_STORE_KEY: API_KEY },
        })
        assert.equal(code, 0, err)
        assert.equal(err, '')
        assert.notEqual(out, '')
        for (const [, comment = ''] of example.matchAll(/console\.log\([^\n]*\) \/\/ ([^\n]+)/g)) {
          if (!comment.startsWith('the id'))
            assert.ok(out.split('\n').includes(comment), `${comment} in ${out}`)
        }
      })
    }
  }

  test('has an example for import, for require and for TypeScript', () => {
    const examples = codeBlocks('docs/client.md', 'js|ts')
    assert.ok(examples.some(({ language, code }) => language === 'js' && code.startsWith('import ')))
    assert.ok(examples.some(({ language, code }) => language === 'js' && code.includes(' = require(')))
    assert.ok(examples.some(({ language }) => language === 'ts'))
  })

  test('describes everything that it exports', () => {
    const declaration = /^(export (?!\{|type \{)| {4}\w)/
    for (const file of ['animal-store', 'animal', 'error']) {
      const path = join(project(), `node_modules/animal-store-client/dist/esm/${file}.d.ts`)
      const lines = readFileSync(path, 'utf8').split('\n')
      const undescribed = lines.filter(
        (line, index) => declaration.test(line) && !lines[index - 1]?.trim().endsWith('*/'),
      )
      assert.deepEqual(undescribed, [], file)
    }
  })

  const IMPORT = `import { type Animal, AnimalStore, AnimalStoreError, type AnimalStoreErrorCode, MAX_ID, type Page } from 'animal-store-client'`
  const REQUIRE = `import client = require('animal-store-client')
type Animal = client.Animal
type AnimalStoreErrorCode = client.AnimalStoreErrorCode
type Page = client.Page
const { AnimalStore, AnimalStoreError, MAX_ID } = client`
  const CHECKS = `
const store = new AnimalStore({ baseUrl: 'https://animals.example/v1', apiKey: 'x' })
export const page: Promise<Page> = store.listAnimals({ status: 'sold', limit: 5, after: 1n })
export const last: Promise<Page> = store.listAnimals({ before: MAX_ID })
export const newest: AsyncIterable<Animal> = store.animals({ newestFirst: true })
export const animal: Promise<Animal> = store.createAnimal({ name: 'Bella', categoryId: 7n })
type Accepts<Parameter, Value> = Value extends Parameter ? true : false
type NewAnimal = Parameters<typeof store.createAnimal>[0]
type ListOptions = Parameters<typeof store.listAnimals>[0]
export const acceptsBigint: Accepts<NewAnimal, { name: string; categoryId: bigint }> = true
export const acceptsNumber: Accepts<NewAnimal, { name: string; categoryId: number }> = false
export const acceptsStatus: Accepts<ListOptions, { status: 'sold' }> = true
export const acceptsUnknownStatus: Accepts<ListOptions, { status: 'lost' }> = false
export const acceptsUndefined: Accepts<NewAnimal, { name: string; categoryId: bigint; status: undefined }> = true
export const returnsUndefined: Accepts<Animal, { id: bigint; name: string; categoryId: bigint; status: undefined }> = false
type Optional<Options> = { [Name in keyof Options as {} extends Pick<Options, Name> ? Name : never]-?: undefined }
type Options = ConstructorParameters<typeof AnimalStore>[0]
export const acceptsUndefinedOptions: Accepts<Options, Optional<Options> & { baseUrl: string; apiKey: string }> = true
export const acceptsUndefinedListOptions: Accepts<ListOptions, Optional<NonNullable<ListOptions>>> = true
export const code = (error: unknown): string | undefined => error instanceof AnimalStoreError ? error.code : undefined
export const newCode: AnimalStoreErrorCode = 'a_code_of_a_later_version'
`
  const BROWSER = ['--lib', 'es2022,dom', '--types', '']
  const NODE = ['--lib', 'es2022', '--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')]

  // Both files in one run: the compiler takes longer to start than to check them.
  for (const [resolution, module, importFile, requireFile] of [
    ['nodenext', 'nodenext', 'import.mts', 'require.cts'],
    ['bundler', 'preserve', 'import.ts', 'require.ts'],
  ] as const) {
    test(`has correct types for import and for require with ${resolution} resolution`, async t => {
      writeFileSync(join(project(), importFile), IMPORT + CHECKS)
      writeFileSync(join(project(), requireFile), REQUIRE + CHECKS)
      for (const environment of [BROWSER, NODE]) {
        const strict = ['--strict', '--exactOptionalPropertyTypes']
        const options = ['--noEmit', ...strict, '--explainFiles', '--target', 'es2022', ...environment]
        const { code, out } = await run(
          t,
          [...options, '--module', module, '--moduleResolution', resolution, importFile, requireFile],
          { cwd: project(), program: [join(ROOT, 'node_modules/.bin/tsc')], env: COMPILER_ENV },
        )
        assert.equal(code, 0, out.match(/.* error .*/g)?.join('\n'))
        assert.deepEqual(importedDeclarations(out), [
          [importFile, 'esm'],
          [requireFile, 'commonjs'],
        ])
      }
    })
  }
})

/** Each file that imports the client, and the folder of the declarations that the compiler found for it. */
function importedDeclarations(explained: string): [file: string, folder: string][] {
  const pattern =
    /animal-store-client\/dist\/(\w+)\/animal-store\.d\.ts\n +Imported via 'animal-store-client' from file '([^']+)'/g
  return [...explained.matchAll(pattern)]
    .map(([, folder = '', file = '']): [string, string] => [file, folder])
    .sort(([one], [other]) => one.localeCompare(other))
}
