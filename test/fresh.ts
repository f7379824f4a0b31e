// `npm run test:fresh`: runs `npm ci && npm start` and `npm ci && npm test` in a minimal Debian that has only git,
// Node.js 20 and npm. Needs Linux, root and debootstrap, and takes about ten minutes.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SUITE = 'bookworm'
const NODE_PACKAGE = `node-${process.platform}-${process.arch}@20`
const NPM_PACKAGE = 'npm@10'
const START_TIMEOUT_MS = 300_000

/** The file with extra certificate authorities, inside the minimal system. */
const EXTRA_CERTIFICATES = '/etc/extra-certificates.pem'

const system = mkdtempSync(join(tmpdir(), 'animal-store-fresh-'))
// In the minimal system, PostgreSQL runs as `nobody`. That user must be able to enter the root folder of the system.
chmodSync(system, 0o755)
try {
  console.log(`Installing a minimal Debian (${SUITE}) in ${system} …`)
  execFileSync('debootstrap', ['--variant=minbase', '--include=git', SUITE, system], { stdio: 'ignore' })
  installNode()
  copyFileSync('/etc/resolv.conf', join(system, 'etc/resolv.conf'))
  await testStart()
  runTests()
  console.log('npm start and npm test work in a minimal Debian.')
} finally {
  rmSync(system, { recursive: true, force: true })
}

/** Installs Node.js 20 and npm from their npm packages. */
function installNode(): void {
  const packages = join(system, 'packages')
  for (const [name, version] of [
    ['node', NODE_PACKAGE],
    ['npm', NPM_PACKAGE],
  ] as const) {
    const folder = join(packages, name)
    mkdirSync(folder, { recursive: true })
    const [packed] = JSON.parse(
      execFileSync('npm', ['pack', '--json', version], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    )
    execFileSync('tar', ['-xzf', packed.filename, '--strip-components=1'], { cwd: folder })
  }
  cpSync(join(packages, 'node/bin/node'), join(system, 'usr/local/bin/node'))
  for (const name of ['npm', 'npx'])
    symlinkSync(`/packages/npm/bin/${name}-cli.js`, join(system, 'usr/local/bin', name))
}

/** `npm ci && npm start` must end in a running service whose printed curl line answers []. */
async function testStart(): Promise<void> {
  clone('start')
  const child = spawn(...inSystem('cd /start && npm ci && PORT=0 npm start'), {
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = new Promise(resolve => child.once('close', resolve))
  let output = ''
  try {
    const [, header = '', url = ''] = await new Promise<RegExpExecArray>((resolve, reject) => {
      const look = (text: Buffer) => {
        output += text
        const line = /curl -H 'Authorization: (.+)' (http:\S+)/.exec(output)
        if (line !== null) resolve(line)
      }
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      child.once('close', code => reject(new Error(`it ended with ${code}:\n${output}`)))
      setTimeout(() => reject(new Error(`there is no curl line:\n${output}`)), START_TIMEOUT_MS).unref()
    })
    const response = await fetch(url, { headers: { authorization: header } })
    assert.equal(response.status, 200)
    assert.equal(await response.text(), '[]')
    console.log('npm ci && npm start: the service runs, and the printed request answers [].')
  } finally {
    process.kill(-Number(child.pid), 'SIGTERM')
    await ended
  }
}

function runTests(): void {
  clone('test')
  execFileSync(...inSystem('cd /test && npm ci && npm test'), { env: environment(), stdio: 'inherit' })
}

function clone(name: string): void {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, join(system, name)])
}

/** The mounts are private to the command and end with it. */
function inSystem(command: string): [string, string[]] {
  const script = 'mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" sh -c "$1"'
  return ['unshare', ['--mount', 'sh', '-c', script, system, command]]
}

/** Passes on how this machine reaches the npm registry, and nothing else. */
function environment(): NodeJS.ProcessEnv {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { cwd: ROOT, encoding: 'utf8' }).trim()
  const certificates = process.env.NODE_EXTRA_CA_CERTS
  const hasCertificates = certificates !== undefined && existsSync(certificates)
  if (hasCertificates) copyFileSync(certificates, join(system, EXTRA_CERTIFICATES))
  writeFileSync(join(system, 'etc/hosts'), '127.0.0.1 localhost\n')
  return {
    PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    npm_config_registry: registry,
    ...(hasCertificates && { NODE_EXTRA_CA_CERTS: EXTRA_CERTIFICATES }),
  }
}
