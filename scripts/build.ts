// Builds the published package in dist/: JavaScript instead of TypeScript, the same folders as here, and a package.json
// without the bundled Node.js and everything else that only a checkout needs.

import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The versions that the launcher accepts (bin/runtime.js). */
const NODE_VERSIONS = '^24.15.0 || >=26'

const PUBLISHED_FIELDS = [
  ...['name', 'version', 'description', 'keywords', 'license', 'author', 'repository'],
  ...['type', 'bin', 'exports', 'engines', 'dependencies'],
]

rmSync('dist', { recursive: true, force: true })
run('tsc', '-p', 'tsconfig.build.json')
// The configuration emits no files, because it otherwise only serves to check types.
run('tsc', '-p', 'tsconfig.browser.json', '--noEmit', 'false', '--allowImportingTsExtensions', 'false')
cpSync('src/web/browser', 'dist/src/web/browser', { recursive: true, filter: file => !file.endsWith('.ts') })
for (const path of ['bin', 'docs/openapi.json', 'CHANGELOG.md', 'LICENSE', 'README.md'])
  cpSync(path, `dist/${path}`, { recursive: true })

const root = { ...JSON.parse(readFileSync('package.json', 'utf8')), engines: { node: NODE_VERSIONS } }
const published = Object.fromEntries(PUBLISHED_FIELDS.map(field => [field, root[field]]))
writeFileSync('dist/package.json', `${JSON.stringify(published, null, 2)}\n`)
// An install from the registry gets the versions that were tested. npm removes all that the package does not need.
cpSync('package-lock.json', 'dist/npm-shrinkwrap.json')
run('npm', 'install', '--prefix', 'dist', '--package-lock-only', '--offline', '--silent')

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' })
}
