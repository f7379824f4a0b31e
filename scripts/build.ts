// Builds dist/ for the published package: JavaScript from src/, and in dist/assets/ what browsers load.

import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
compile('tsconfig.build.json')
// This configuration is for type checking, and emits files only here.
compile('tsconfig.browser.json', '--noEmit', 'false', '--allowImportingTsExtensions', 'false')
cpSync('src/web/browser', 'dist/web/browser', { recursive: true, filter: file => !file.endsWith('.ts') })

function compile(project: string, ...options: readonly string[]): void {
  execFileSync('tsc', ['-p', project, ...options], { stdio: 'inherit', shell: process.platform === 'win32' })
}
