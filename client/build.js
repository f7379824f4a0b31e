// Builds dist/ for the published package: ES modules in dist/esm, CommonJS in dist/commonjs.

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
compile('--outDir', 'dist/esm')
compile(
  ...['--outDir', 'dist/commonjs', '--module', 'commonjs', '--moduleResolution', 'bundler'],
  ...['--verbatimModuleSyntax', 'false'],
)
writeFileSync('dist/commonjs/package.json', '{ "type": "commonjs" }\n')

function compile(...options) {
  execFileSync('tsc', ['-p', 'tsconfig.json', ...options], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
}
