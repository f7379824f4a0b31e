// Builds dist/, for the published package: JavaScript and types from src/, and the browser's files as they are.

import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
execFileSync('tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit', shell: process.platform === 'win32' })
cpSync('src/page/browser', 'dist/page/browser', {
  recursive: true,
  filter: file => !file.endsWith('tsconfig.json'),
})
