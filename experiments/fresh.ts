// Runs `npm ci && npm start` and `npm test` in a minimal Debian that has only git, Node.js and npm:
// on Node.js 20, 22 and 24, as root and as another user, and again with a read-only node_modules. Prints a table. Needs
// Linux, root, debootstrap and curl, and takes about twenty minutes.

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

interface Case {
  readonly node: string
  readonly user: keyof typeof USERS
  readonly folder: string
  readonly test: string
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SUITE = 'bookworm'
const TIMEOUT_MS = 900_000
const USERS = { root: { id: 0, home: '/root' }, clerk: { id: 1000, home: '/home/clerk' } }

/** Each Node.js with the npm that comes with it. */
const NPM_OF = { 20: 10, 22: 10, 24: 11 }
const ONE_FILE =
  'node scripts/node.js --test --test-global-setup=test/support/global-setup.ts test/list.test.ts'
const CASES = Object.keys(NPM_OF).flatMap((node): Case[] => [
  { node, user: 'root', folder: '/opt/animal-store', test: ONE_FILE },
  // All tests take minutes, so they run in one case.
  {
    node,
    user: 'clerk',
    folder: '/home/clerk/Tiere im Geschäft',
    test: node === '20' ? 'npm test' : ONE_FILE,
  },
])

/** The file with extra certificate authorities, inside the minimal system. */
const EXTRA_CERTIFICATES = '/etc/extra-certificates.pem'

const system = mkdtempSync(join(tmpdir(), 'animal-store-fresh-'))
// Other users must be able to enter the root folder of the system.
chmodSync(system, 0o755)
try {
  console.log(`Installing a minimal Debian (${SUITE}) in ${system} …`)
  execFileSync('debootstrap', ['--variant=minbase', '--include=git', SUITE, system], { stdio: 'ignore' })
  execFileSync('chroot', [system, 'useradd', '--create-home', '--uid', `${USERS.clerk.id}`, 'clerk'])
  installNode()
  copyFileSync('/etc/resolv.conf', join(system, 'etc/resolv.conf'))
  writeFileSync(join(system, 'etc/hosts'), '127.0.0.1 localhost\n')
  const rows = []
  for (const each of CASES) rows.push(await tryCase(each))
  console.table(rows)
  if (rows.some(row => Object.values(row).includes('failed'))) process.exitCode = 1
} finally {
  rmSync(system, { recursive: true, force: true })
}

/** Installs every Node.js and its npm from their npm packages, each below /opt. */
function installNode(): void {
  for (const [node, npm] of Object.entries(NPM_OF)) {
    const folder = join(system, binariesOf(node))
    for (const name of [`node-${process.platform}-${process.arch}@${node}`, `npm@${npm}`]) {
      const target = join(folder, name.replace(/(-|@).*/, '-package'))
      mkdirSync(target, { recursive: true })
      const [packed] = JSON.parse(read('npm', ['pack', '--json', name], target))
      execFileSync('tar', ['-xzf', packed.filename, '--strip-components=1'], { cwd: target })
    }
    cpSync(join(folder, 'node-package/bin/node'), join(folder, 'node'))
    for (const name of ['npm', 'npx']) symlinkSync(`npm-package/bin/${name}-cli.js`, join(folder, name))
  }
}

function binariesOf(node: string): string {
  return `/opt/node-${node}`
}

async function tryCase(each: Case) {
  const { node, user, folder, test } = each
  const checkout = join(system, folder)
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, checkout])
  execFileSync('chown', ['--recursive', `${USERS[user].id}:${USERS[user].id}`, checkout])
  const readOnly = { isReadOnly: true }
  const row = {
    'Node.js': node,
    user,
    folder,
    'npm ci && npm start': await attempt(() => tryStart(each, 'npm ci && PORT=0 npm start')),
    test: test === ONE_FILE ? 'one file' : test,
    passes: await attempt(() => runToEnd(each, test)),
    // A new database, because a key is printed only once.
    'npm start, read-only node_modules': await attempt(() =>
      tryStart(each, 'PORT=0 DATABASE_URL=sqlite:data/second.db npm start', readOnly),
    ),
    'test passes, read-only node_modules': await attempt(() => runToEnd(each, test, readOnly)),
  }
  rmSync(checkout, { recursive: true })
  return row
}

async function attempt(action: () => Promise<void>): Promise<string> {
  try {
    await action()
    return 'yes'
  } catch (error) {
    console.error(error)
    return 'failed'
  }
}

/** The command must end in a running service whose printed curl line answers []. */
async function tryStart(each: Case, command: string, options = {}): Promise<void> {
  const { printed, stop } = startIn(each, command, options)
  try {
    const [line] = await printed(/curl -H 'Authorization: .+' http:\S+/)
    assert.equal(read('sh', ['-c', line], ROOT), '[]')
  } finally {
    await stop()
  }
}

async function runToEnd(each: Case, command: string, options = {}): Promise<void> {
  const { printed, stop } = startIn(each, `${command} && echo all passed`, options)
  try {
    await printed(/^all passed$/m)
  } finally {
    await stop()
  }
}

/** Starts a command in the checkout. The mounts are private to the command and end with it. */
function startIn({ node, user, folder }: Case, command: string, { isReadOnly = false }) {
  console.log(`${user}, Node.js ${node}${isReadOnly ? ', read-only node_modules' : ''}: ${command}`)
  const { id, home } = USERS[user]
  const script = `mount --bind /proc "$0/proc" && mount --rbind /dev "$0/dev" &&
    ${isReadOnly ? 'mount --bind "$0$1/node_modules" "$0$1/node_modules" && mount -o remount,bind,ro "$0$1/node_modules" &&' : ''}
    exec chroot --userspec=${id}:${id} "$0" sh -c 'cd "$0" && eval "$1"' "$1" "$2"`
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, system, folder, command], {
    env: { ...environment(), HOME: home, PATH: `${binariesOf(node)}:/usr/sbin:/usr/bin:/sbin:/bin` },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  const ended = new Promise<unknown>(resolve => child.once('close', resolve))

  /** Resolves with the first match in its output. */
  function printed(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (text: Buffer) => {
        output += text
        const match = pattern.exec(output)
        if (match !== null) resolve(match)
      }
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      ended.then(code => reject(new Error(`it ended with ${code}:\n${output}`)))
      setTimeout(() => reject(new Error(`it takes too long:\n${output}`)), TIMEOUT_MS).unref()
    })
  }

  async function stop(): Promise<void> {
    // It may have ended already.
    if (child.exitCode === null) process.kill(-Number(child.pid), 'SIGTERM')
    await ended
  }
  return { printed, stop }
}

/** What a program on this machine prints. */
function read(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

/** Passes on how this machine reaches the npm registry, and nothing else. */
function environment(): NodeJS.ProcessEnv {
  const registry = read('npm', ['config', 'get', 'registry'], ROOT).trim()
  const certificates = process.env.NODE_EXTRA_CA_CERTS
  const hasCertificates = certificates !== undefined && existsSync(certificates)
  if (hasCertificates) copyFileSync(certificates, join(system, EXTRA_CERTIFICATES))
  return {
    npm_config_registry: registry,
    ...(hasCertificates && { NODE_EXTRA_CA_CERTS: EXTRA_CERTIFICATES }),
  }
}
