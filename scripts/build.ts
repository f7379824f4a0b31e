// Builds dist/, for the published package: JavaScript and types from src/, and the browser's files beside it.

import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'

/** The configuration is one for checking, and is only asked for files here. */
const EMITTING = [
  ...['--noEmit', 'false'],
  ...['--allowImportingTsExtensions', 'false', '--rewriteRelativeImportExtensions', 'true'],
]

rmSync('dist', { recursive: true, force: true })
compile('tsconfig.build.json')
compile('tsconfig.browser.json', ...EMITTING)
cpSync('src/page/browser', 'dist/page/browser', {
  recursive: true,
  filter: file => !/\.ts$|tsconfig\.json$/.test(file),
})

function compile(project: string, ...options: readonly string[]): void {
  execFileSync('tsc', ['-p', project, ...options], { stdio: 'inherit', shell: process.platform === 'win32' })
}
