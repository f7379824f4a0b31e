// The command line: help, version, mistyped commands, settings, and the OpenAPI document.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { readSettings, SettingsError } from '../src/cli/read-settings.ts'
import { serve as serveCommand } from '../src/cli/service/serve.ts'
import { run, serve } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { client, temporaryFolder } from './support/service.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

suite('animal-store', () => {
  const helps: [string[], RegExp][] = [
    [['--help'], /serve[\s\S]*keys create[\s\S]*keys rotate ID[\s\S]*openapi/],
    [['-h'], /Usage: animal-store COMMAND/],
    [['help'], /Usage: animal-store COMMAND/],
    [['keys', '--help'], /^Usage: animal-store keys COMMAND[\s\S]*keys create(?![\s\S]*serve)/],
    [['help', 'keys'], /^Usage: animal-store keys COMMAND/],
    [
      ['help', 'import'],
      /^Usage: animal-store import FILE[\s\S]*Examples:\n {2}animal-store import animals.csv/,
    ],
    [['help', 'keys', 'rotate'], /--overlap TIME/],
    [['serve', '--help'], /--port PORT[\s\S]*PORT,\s+default 8080[\s\S]*ANIMAL_STORE_API_KEY/],
    [['keys', 'create', '--help'], /--name NAME[\s\S]*--expires TIME/],
    [['keys', 'list', '--help'], /--json/],
    [['backup', '--help'], /--database-url URL +sqlite:<path> \(DATABASE_URL/],
    [['keys', 'revoke', '--help'], /keys revoke ID/],
    [['keys', 'rotate', 'x', '--help'], /--overlap TIME/],
    [['openapi', '--help'], /--staging-url(?![\s\S]*server's own address)/],
    [['serve', '--help'], /sqlite::memory:[\s\S]*--env-file FILE/],
    [['keys', 'list', '--help'], /sqlite:<path> or postgres(?![\s\S]*:memory:)[\s\S]*--env-file FILE/],
  ]
  test('prints help and the version on stdout, and exits with 0', async () => {
    const versions = [['--version'], ['-v'], ['-V'], ['version'], ['keys', 'list', '--version']].map(
      (args): [string[], RegExp] => [args, new RegExp(`^${version}\n$`)],
    )
    for (const [args, expected] of [...helps, ...versions]) {
      const { code, out, err } = await runInProcess(args, {})
      assert.deepEqual([code, err], [0, ''])
      assert.match(out, expected)
      // A word is never broken, and an example is one line.
      const tooLong = out.split('\n').filter(line => line.length > 80 && /\S\s/.test(line.slice(44)))
      assert.deepEqual(
        tooLong.filter(line => !line.includes('animal-store')),
        [],
      )
    }
  })

  const mistakes: [string[], RegExp][] = [
    [['sevre'], /There is no command "sevre". Did you mean "serve"\?/],
    [['keys', 'lsit'], /Did you mean "keys list"\?/],
    [['key', 'create'], /Did you mean "keys create"\?/],
    [['openap'], /Did you mean "openapi"\?/],
    [['feed', 'elephants'], /There is no command "feed elephants". See animal-store --help/],
    [['keys'], /^Usage: animal-store keys COMMAND[\s\S]*keys create(?![\s\S]*serve)/],
    [
      ['keys', 'frobnicate'],
      /^There is no command "keys frobnicate"\.\n\nUsage: animal-store keys COMMAND[\s\S]*create/,
    ],
    [['keys', 'creat'], /^There is no command "keys creat"\. Did you mean "keys create"\?/],
    [['import', ''], /^FILE is empty\n/],
    [['backup', '-'], /^FILE must be the name of a file: a backup cannot be a stream\n$/],
    [['restore', '-'], /^FILE must be the name of a file: a backup cannot be a stream\n$/],
    [['serve', '9001'], /^"9001" is an unexpected argument; with npm start, write -- before the flags\n$/],
    [['migrate', '9001'], /^"9001" is an unexpected argument\n$/],
    [['key'], /Did you mean "keys"\?/],
    [['help', 'imprt'], /Did you mean "import"\?/],
    [['imprt', 'animals.csv'], /Did you mean "import"\?/],
    [['serve', '--prot', '9001'], /^--prot is not a flag of this command; did you mean --port\?\n$/],
    [['keys', 'create', '--nmae', 'x'], /^--nmae is not a flag of this command; did you mean --name\?\n$/],
    [['keys', 'create', '--name'], /^--name needs a value\n$/],
    [['keys', 'create', '--name', '--json'], /^--name needs a value\n$/],
    [
      ['import', 'postgres://u:hunter2@db.example'],
      /^"postgres:…" needs --database-url before it\npostgres:… must end in/,
    ],
    [
      ['serve', '--metrics-port', '8080'],
      /^--metrics-port \(METRICS_PORT\) must be another port than --port \(PORT\)\n$/,
    ],
    [
      ['serve', '--workers', '2', '--port', 'x', '--database-url', 'sqlite::memory:'],
      /^--port .*\n--workers \(WORKERS\) needs a database that processes can share.*\n$/,
    ],
    [['serve', '--nonsense', '9001'], /^--nonsense is not a flag of this command; see --help\n$/],
    [['postgres://u:hunter2@h/a'], /^There is no command "postgres:…"/],
    [['serve', '--port', 'postgres://u:hunter2@h/a'], /^--port .*, not "postgres:…"\n$/],
    [['export', 'x', 'postgresql://u:hunt/er2@x@h/a'], /^"postgresql:…" needs/],
    [['keys', 'revoke', 'postgres://h/a?user=x&password=hunter2'], /^"postgres:…" needs/],
    [['serve', 'postgres//admin:hunter2@h/a'], /^"…" needs --database-url before it\n$/],
    [['migrate', ' postgres://admin:hunter2@h/a'], /^"postgres:…" needs --database-url before it\n$/],
    [['serve', 'postgres;//admin:hunter2@h/a'], /^"…" needs --database-url before it\n$/],
    [['keys', 'list', 'host=h password = hunter2'], /^"…" needs --database-url before it\n$/],
    [[], /Usage: animal-store COMMAND/],
    [['--port', '1'], /^The command is missing before --port, as in animal-store serve\./],
  ]
  test('prints a mistake on stderr, and exits with 2', async () => {
    for (const [args, expected] of mistakes) {
      const { code, out, err } = await runInProcess(args, {})
      assert.deepEqual([code, out], [2, ''], args.join(' '))
      assert.match(err, expected)
      assert.doesNotMatch(err, /hunt/)
    }
  })
})

suite('settings', { concurrency: 2 }, () => {
  test('reports all invalid settings together, one per line, and creates no files', async t => {
    const cwd = temporaryFolder()
    const { code, out, err } = await run(
      t,
      ['serve', '--port', 'abc', '--environment', 'test', '--nonsense', '--host'],
      {
        cwd,
        env: {
          DATABASE_URL: 'mysql://root:hunter2@db/x',
          PRODUCTION_URL: 'https://example.test/v2',
          STAGING_URL: 'ftp://example.test/v1',
          LOG_LEVEL: 'loud',
          SHUTDOWN_DELAY: '1h',
          ANIMAL_STORE_API_KEY: 'too-short-secret',
        },
      },
    )
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.deepEqual(err.trim().split('\n').sort(), [
      '--database-url (DATABASE_URL) must be sqlite:<path>, sqlite::memory: or postgres://user:password@host:port/database (user and password percent-encoded)',
      '--environment (ANIMAL_STORE_ENV) must be one of production, staging, not "test"',
      '--host needs a value',
      '--log-level (LOG_LEVEL) must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
      '--nonsense is not a flag of this command; see --help',
      '--port (PORT) must be a whole number from 0 to 65535, not "abc"',
      '--production-url (PRODUCTION_URL) must be an http or https URL that ends in /v1, without user name, password, query or fragment',
      '--shutdown-delay (SHUTDOWN_DELAY) must be a time from 0s to 5s, not "1h"',
      '--staging-url (STAGING_URL) must be an http or https URL that ends in /v1, without user name, password, query or fragment',
      'ANIMAL_STORE_API_KEY must be 20 to 255 visible ASCII characters, at least 10 of them different',
    ])
    assert.deepEqual(readdirSync(cwd), [])
  })

  test('are read from --env-file by every command, also by npm start, and a variable that is set wins', async t => {
    const cwd = temporaryFolder()
    writeFileSync(
      join(cwd, 'my.env'),
      "DATABASE_URL='sqlite:file.db' # here\nANIMAL_STORE_ENV=staging\nLOG_LEVEL=warn\n",
    )
    const options = { cwd, env: { ANIMAL_STORE_ENV: 'production' } }
    const { err } = await run(t, ['keys', 'create', '--name', 'x', '--env-file', 'my.env'], options)
    assert.match(err, /^Created key_\w+ \(x\) for production in file\.db\./m)
    for (const args of [['--env-file=my.env'], ['--env-file', 'my.env', '--workers', '2']]) {
      const { said, child, ended } = await serve(t, args, { cwd })
      assert.match(await said(/listening on .*/), /\(staging, file\.db/)
      child.kill()
      // The log is quiet.
      assert.equal((await ended).out, '')
    }
  })

  test('are not read from an --env-file that has none, such as one in UTF-16', async () => {
    const path = join(temporaryFolder(), 'my.env')
    for (const contents of [Buffer.from('PORT=9001\n', 'utf16le'), 'DATABASE_URL: sqlite:a.db\n', '']) {
      writeFileSync(path, contents)
      const { code, err } = await runInProcess(['keys', 'list', '--env-file', path], {})
      assert.deepEqual([code, err], [2, `--env-file ${path} has no line such as PORT=8080, in UTF-8\n`])
    }
  })

  test('are not read from an --env-file that is missing', async t => {
    const cwd = temporaryFolder()
    const { code, err } = await run(t, ['keys', 'list', '--env-file', 'missing.env'], { cwd })
    // Node.js itself ends the process.
    assert.deepEqual([code, err], [9, `${process.execPath}: missing.env: not found\n`])
    const problem = '--env-file missing.env cannot be read: the file does not exist\n'
    const inProcess = await runInProcess(['keys', 'list', '--env-file', 'missing.env'], {})
    assert.deepEqual([inProcess.code, inProcess.err], [2, problem])
  })

  type Given = [args: string[], env: Record<string, string>]

  const invalid: Given[] = [
    ...['65536', '1.5', '08', '+1', ' 1', '0x10', '1e3'].map((port): Given => [['--port', port], {}]),
    [['--port', '-1'], {}],
    ...['0', '-1', '1.5', '100', 'many'].map((workers): Given => [[`--workers=${workers}`], {}]),
    [['--port=1', '--port=2'], {}],
    [['extra'], {}],
    ...[
      'app.example',
      'https://app.example/',
      'https://app.example/x',
      'HTTPS://app.example',
      'null',
      'https://*.example',
      ',',
    ].map((origin): Given => [['--cors-origin', origin], {}]),
    [['--cors-origin', 'https://app.example', '--cors-origin', 'x'], {}],
    [['--json'], {}],
    [[], { PORT: '99999' }],
    [[], { HOST: 'a b' }],
    [[], { DATABASE_URL: 'sqlite:' }],
    [[], { DATABASE_URL: 'sqlite://x.db' }],
    [[], { DATABASE_URL: 'x.db' }],
    ...['~/x.db', '~ann/x.db', 'x.db?mode=ro', 'data/'].map(
      (path): Given => [[], { DATABASE_URL: `sqlite:${path}` }],
    ),
    [[], { DATABASE_URL: 'sqlite::mem' }],
    [[], { DATABASE_URL: 'postgres:localhost' }],
    [[], { DATABASE_URL: 'postgres://[' }],
    [[], { ANIMAL_STORE_API_KEY: 'x'.repeat(19) }],
    [[], { ANIMAL_STORE_API_KEY: 'x'.repeat(256) }],
    [[], { ANIMAL_STORE_API_KEY: 'has a space in the middle' }],
    [[], { ANIMAL_STORE_API_KEY: 'abcdefghi'.repeat(3) }],
    [[], { ANIMAL_STORE_API_KEY: 'as_read_live_0123456789ABCDEFabcdef0123456789' }],
    [[], { PRODUCTION_URL: 'https://user@example.test/v1' }],
    [[], { PRODUCTION_URL: 'https://:password@example.test/v1' }],
    [[], { PRODUCTION_URL: 'https://example.test/v1?x=1' }],
    [[], { PRODUCTION_URL: 'https://example.test//other.example/v1' }],
  ]
  test('describes a problem in one line, without the key', () => {
    for (const [args, env] of invalid) {
      assert.throws(
        () => readSettings(serveCommand, { args, env }),
        error => {
          assert.ok(error instanceof SettingsError)
          assert.equal(error.message.trim().split('\n').length, 1, error.message)
          const { ANIMAL_STORE_API_KEY: secret } = env
          return secret === undefined || !error.message.includes(secret)
        },
        JSON.stringify([args, env]),
      )
    }
  })

  test('a flag overrides its variable, and an empty variable counts as unset', async t => {
    const cwd = temporaryFolder()
    const env = { PORT: '1', DATABASE_URL: 'sqlite:from-variable.db', ANIMAL_STORE_ENV: '', HOST: '' }
    const { address, child, ended } = await serve(t, ['--database-url', 'sqlite:from-flag.db'], { cwd, env })
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d{2,5}$/)
    assert.ok(existsSync(join(cwd, 'from-flag.db')))
    assert.ok(!existsSync(join(cwd, 'from-variable.db')))
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
  })

  test('accepts several origins as repeated flags or as a comma-separated variable', async t => {
    const ORIGINS = ['https://one.example', 'http://localhost:3000']
    const ways = [
      { args: ORIGINS.flatMap(origin => ['--cors-origin', origin]), env: {} },
      { args: [], env: { CORS_ORIGIN: ORIGINS.join(', ') } },
    ]
    for (const { args, env } of ways) {
      const { address } = await serve(t, args, { cwd: temporaryFolder(), env })
      for (const origin of ORIGINS) {
        const { headers } = await fetch(`${address}/v1/pets`, { headers: { origin } })
        assert.equal(headers.get('access-control-allow-origin'), origin)
      }
    }
  })

  test('accepts the key from the environment variable, and creates no first key then', async t => {
    const cwd = temporaryFolder()
    const key = 'a-secret-of-my-own-choosing'
    const { address, printed } = await serve(t, [], { cwd, env: { ANIMAL_STORE_API_KEY: key } })
    const { send, close } = client(address, key)
    t.after(close)
    assert.equal((await send('GET', '/v1/pets')).text, '[]')
    assert.ok(!`${printed.err}${printed.out}`.includes('as_live_'))
    assert.ok(!`${printed.err}${printed.out}`.includes(key))
  })
})

suite('openapi', () => {
  test('prints the OpenAPI document', async () => {
    const { code, out } = await runInProcess(['openapi', '--staging-url', 'https://s.test/v1'], {})
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out).servers, [
      { url: 'http://127.0.0.1:8080/v1', description: 'Production' },
      { url: 'https://s.test/v1', description: 'Staging' },
    ])
  })
})
