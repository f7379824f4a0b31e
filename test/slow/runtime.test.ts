// The Node.js that runs the service: which one the launcher chooses, and which libraries the bundled one needs.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { MAIN, run, serve } from '../support/command.ts'
import { temporaryFolder } from '../support/service.ts'

const ROOT = dirname(dirname(MAIN))
const PACKAGE = `node-${process.platform}-${process.arch}`
const OLD = '20.11.1'

/** The oldest version that the launcher accepts. */
const MINIMUM =
  /MINIMUM_VERSION = '([\d.]+)'/.exec(readFileSync(join(ROOT, 'bin/runtime.js'), 'utf8'))?.[1] ?? ''
const [MAJOR = 0, MINOR = 0] = MINIMUM.split('.').map(Number)

function importOf(script: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(script)}`
}

/** For NODE_OPTIONS: each process prints the Node.js that it runs on. */
const PRINT_RUNTIME = importOf("console.error('runs on ' + process.execPath)")

/** Makes a Node.js pretend to be an old one at another path. The launcher passes this flag on to the one that it starts. */
const PRETEND_OLD = importOf(`
  if (process.env.HAS_PRETENDED === undefined) {
    process.env.HAS_PRETENDED = 'yes'
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${OLD}' } })
    Object.defineProperty(process, 'version', { value: 'v${OLD}' })
    process.execPath = '/old/node'
  }`)

function runtimesIn(stderr: string): string[] {
  return [...stderr.matchAll(/^runs on (.+)$/gm)].map(([, path = '']) => path)
}

function writeProgram(path: string, ...lines: readonly string[]): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'))
  chmodSync(path, 0o755)
}

function versionOf(node: string): string {
  return spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.trim()
}

if (process.platform === 'linux') {
  suite('the bundled Node.js', () => {
    const bundled = createRequire(MAIN).resolve(`${PACKAGE}/bin/node`)

    test('does not need libatomic, which a minimal Linux lacks', () => {
      assert.ok(!readFileSync(bundled).includes('libatomic.so'))
    })

    const launchers: [string, string[]][] = [['an old version', [process.execPath, PRETEND_OLD]]]
    const own = process.env.npm_node_execpath
    if (own !== undefined && own !== process.execPath && Number.parseInt(versionOf(own), 10) < MAJOR)
      launchers.push(["the machine's own old version", [own]])
    for (const [which, program] of launchers) {
      test(`is started by a launcher that runs on ${which}`, async t => {
        const { code, out, err } = await run(t, ['--version'], {
          cwd: temporaryFolder(),
          program: [...program, MAIN],
          env: { NODE_OPTIONS: PRINT_RUNTIME },
        })
        assert.equal(code, 0, err)
        assert.match(out, /^\d+\.\d+\.\d+\n$/)
        assert.deepEqual(runtimesIn(err), [program[0], bundled])
      })
    }
  })

  test('the README names the oldest version that the launcher accepts', () => {
    assert.match(
      readFileSync(join(ROOT, 'README.md'), 'utf8'),
      new RegExp(`Node\\.js ${MAJOR}\\.${MINOR} or later`),
    )
  })

  suite('npm_node_execpath', () => {
    /** A program that starts the Node.js of this test, but reports the given version. */
    function writeNode(version: string): string {
      const path = join(temporaryFolder(), 'node')
      writeProgram(
        path,
        `if [ "$1" = -p ]; then echo ${version}; exit; fi`,
        'echo "runs on $0" >&2',
        `unset NODE_OPTIONS; exec "${process.execPath}" "$@"`,
      )
      return path
    }

    async function runtimesWith(t: TestContext, own: string): Promise<string[]> {
      const { code, out, err } = await run(t, ['--version'], {
        cwd: temporaryFolder(),
        env: { npm_node_execpath: own, NODE_OPTIONS: PRINT_RUNTIME },
      })
      assert.equal(code, 0, err)
      assert.match(out, /^\d+\.\d+\.\d+\n$/)
      return runtimesIn(err)
    }

    test('is used if it names a version that is new enough, except 25', async t => {
      for (const version of [MINIMUM, `${MAJOR + 2}.0.0`]) {
        const own = writeNode(version)
        assert.deepEqual(await runtimesWith(t, own), [process.execPath, own], version)
      }
      for (const version of [OLD, `${MAJOR}.${MINOR - 1}.9`, `${MAJOR + 1}.9.0`])
        assert.deepEqual(await runtimesWith(t, writeNode(version)), [process.execPath], version)
      assert.deepEqual(await runtimesWith(t, join(temporaryFolder(), 'none')), [process.execPath])
    })
  })

  suite('a launcher on an old Node.js that cannot use the bundled one prints one line and exits with 1', () => {
    const rows: [string, string[] | undefined, RegExp][] = [
      [
        'a library is missing',
        [
          'echo "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file: No such file or directory" >&2',
          'exit 127',
        ],
        /and the bundled one needs libatomic\.so\.1\. Install that library or a newer Node\.js\.$/,
      ],
      [
        'it cannot start for another reason',
        ['echo "Illegal instruction" >&2', 'exit 132'],
        /and the bundled one does not work here\. Install a newer Node\.js\.$/,
      ],
      [
        'it is too old',
        ['echo 18.20.8'],
        /and the bundled one does not work here\. Install a newer Node\.js\.$/,
      ],
      [
        'there is none, as in the published package',
        undefined,
        /: this is v[\d.]+\. Install a newer Node\.js\.$/,
      ],
    ]
    for (const [what, script, reason] of rows) {
      test(what, async t => {
        const folder = temporaryFolder()
        cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
        cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
        if (script) writeProgram(join(folder, 'node_modules', PACKAGE, 'bin', 'node'), ...script)
        const { code, out, err } = await run(t, ['--version'], {
          cwd: folder,
          program: [process.execPath, PRETEND_OLD, join(folder, 'bin', 'animal-store.js')],
        })
        assert.equal(code, 1)
        assert.equal(out, '')
        const [line = '', ...others] = err.trimEnd().split('\n')
        assert.ok(
          line.startsWith(`animal-store needs Node.js ${MINIMUM} or later, but not 25: this is v${OLD}`),
          line,
        )
        assert.match(line, reason)
        assert.deepEqual(others, [])
      })
    }
  })
}

suite('the flags of V8 that the service runs with', () => {
  const PRINT_FLAGS = importOf("console.error('flags: ' + process.execArgv.join(' ') + ';')")

  /** The flags of the process that serves. */
  async function flagsOf(t: TestContext, given: readonly string[], options = ''): Promise<string> {
    const program = [process.execPath, ...given, MAIN]
    const env = { NODE_OPTIONS: `${PRINT_FLAGS} ${options}` }
    const cwd = temporaryFolder()
    writeFileSync(join(cwd, '.env'), 'LOG_LEVEL=silent\n')
    const { printed } = await serve(t, [], { cwd, env, program })
    return [...printed.err.matchAll(/^flags: (.*);$/gm)].at(-1)?.[1] ?? ''
  }

  for (const [what, given, options, expected] of [
    [
      'limit the young generation and the background threads, and disable pretenuring',
      [],
      '',
      '--max-semi-space-size=4 --no-allocation-site-pretenuring --v8-pool-size=1',
    ],
    [
      'keep a limit that was given',
      ['--max-semi-space-size=8'],
      '',
      '--max-semi-space-size=8 --no-allocation-site-pretenuring --v8-pool-size=1',
    ],
    [
      'keep a limit in NODE_OPTIONS',
      [],
      '--max_semi_space_size=8',
      '--no-allocation-site-pretenuring --v8-pool-size=1',
    ],
    [
      'are added to other flags, such as --env-file',
      ['--env-file=.env'],
      '',
      '--env-file=.env --max-semi-space-size=4 --no-allocation-site-pretenuring --v8-pool-size=1',
    ],
  ] as const) {
    test(what, async t => {
      assert.equal(await flagsOf(t, given, options), expected)
    })
  }
})

suite('before npm start and npm test', { skip: process.platform === 'win32' }, () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

  for (const name of ['prestart', 'pretest']) {
    test(`${name} writes nothing, and removes a bundled Node.js only if it cannot run`, () => {
      const folder = temporaryFolder()
      const bin = join(folder, 'node_modules', '.bin')
      const run = (line: string) => {
        writeProgram(join(bin, 'node'), line)
        const env = { PATH: `${bin}:${process.env.PATH}` }
        const { status } = spawnSync('sh', ['-c', scripts[name]], { cwd: folder, env })
        return [status, ...readdirSync(folder, { recursive: true }).sort()]
      }
      assert.deepEqual(run('exit 0'), [0, 'node_modules', 'node_modules/.bin', 'node_modules/.bin/node'])
      assert.deepEqual(run('exit 127'), [0, 'node_modules', 'node_modules/.bin'])
    })
  }
})
