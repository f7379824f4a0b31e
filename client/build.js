// Builds dist/ for the published package: ES modules in dist/esm, CommonJS in dist/commonjs.

import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

writeVersion()
rmSync('dist', { recursive: true, force: true })
compile('--outDir', 'dist/esm')
compile(
  ...['--outDir', 'dist/commonjs', '--module', 'commonjs', '--moduleResolution', 'bundler'],
  ...['--verbatimModuleSyntax', 'false'],
)
writeFileSync('dist/commonjs/package.json', '{ "type": "commonjs" }\n')

/** The client cannot import its package.json: browsers and CommonJS have no such import. */
function writeVersion() {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const text = `// The version of the client, which build.js copies from package.json.\n\nexport const VERSION = '${version}'\n`
  // Tests import the file while others build the package.
  if (readFileSync('src/version.ts', 'utf8') !== text) writeFileSync('src/version.ts', text)
}

function compile(...options) {
  execFileSync('tsc', ['-p', 'tsconfig.json', ...options], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
}
