// Builds the published package in dist/: JavaScript instead of TypeScript, the same folders as here, the documentation, and
// a package.json without the bundled Node.js and everything else that only a checkout needs.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** The versions that the launcher accepts (bin/runtime.js). */
const NODE_VERSIONS = '^24.15.0 || >=26'

const PUBLISHED_FIELDS = [
  ...['name', 'version', 'description', 'keywords', 'homepage', 'bugs', 'license', 'author', 'repository'],
  ...['type', 'bin', 'exports', 'engines', 'dependencies'],
]

rmSync('dist', { recursive: true, force: true })
run('tsc', '-p', 'tsconfig.build.json')
// The configuration emits no files, because it otherwise only serves to check types.
run('tsc', '-p', 'tsconfig.browser.json', '--noEmit', 'false', '--allowImportingTsExtensions', 'false')
cpSync('src/web/browser', 'dist/src/web/browser', { recursive: true, filter: file => !file.endsWith('.ts') })
// deploy/env has the passwords of whoever has tried Compose here.
for (const path of ['bin', 'deploy', 'docs/openapi.json', '.env.example', 'LICENSE'])
  cpSync(path, `dist/${path}`, { recursive: true, filter: file => file !== join('deploy', 'env') })

const root = { ...JSON.parse(readFileSync('package.json', 'utf8')), engines: { node: NODE_VERSIONS } }
const pages = globSync(['CHANGELOG.md', 'SECURITY.md', 'docs/*.md', 'docs/decisions/*.md'])
for (const page of pages) cpSync(page, join('dist', publishedPath(page)))
for (const page of pages) rewriteLinks(page)

const published = Object.fromEntries(PUBLISHED_FIELDS.map(field => [field, root[field]]))
writeFileSync('dist/package.json', `${JSON.stringify(published, null, 2)}\n`)
// An install from the registry gets the versions that were tested. npm removes all that the package does not need.
cpSync('package-lock.json', 'dist/npm-shrinkwrap.json')
run('npm', 'install', '--prefix', 'dist', '--package-lock-only', '--offline', '--silent')

/** The README of the package describes the package, not a checkout. */
function publishedPath(file: string): string {
  return file === join('docs', 'package.md') ? 'README.md' : file
}

/** A link to a file that the package does not have leads to the repository. */
function rewriteLinks(page: string): void {
  const path = join('dist', publishedPath(page))
  const text = readFileSync(path, 'utf8').replaceAll(/\]\((?!\w+:|#)([^)#]+)/g, (_, target: string) => {
    const file = publishedPath(join(dirname(page), target))
    const link = existsSync(join('dist', file))
      ? relative(dirname(publishedPath(page)), file)
      : `${root.homepage.replace(/#.*/, '')}/blob/HEAD/${file}`
    return `](${link.replaceAll('\\', '/')}`
  })
  writeFileSync(path, text)
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' })
}
