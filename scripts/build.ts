// Builds dist/ for the published package: JavaScript of the service from src/, and the files of the web pages.

import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
compile('tsconfig.build.json')
// Compiles the scripts of the pages to dist/assets/. The configuration emits no files, because it otherwise only serves
// to check types.
compile('tsconfig.browser.json', '--noEmit', 'false', '--allowImportingTsExtensions', 'false')
cpSync('src/web/browser', 'dist/web/browser', { recursive: true, filter: file => !file.endsWith('.ts') })

function compile(project: string, ...options: readonly string[]): void {
  execFileSync('tsc', ['-p', project, ...options], { stdio: 'inherit', shell: process.platform === 'win32' })
}
