// `node scripts/node.js ARGUMENTS`: runs Node.js with these arguments, on the version that comes with the install, or the program
// that TEST_NODE names. npm scripts use it, because plain `node` may be an older one. This file must also run on Node.js 20.

import { existsSync } from 'node:fs'
import { bundledOrOwnRuntime, run } from '../bin/runtime.js'

const args = process.argv.slice(2)
// The service itself needs only the other dependencies.
if (!args.includes('src/main.ts') && !existsSync(new URL('../node_modules/typescript', import.meta.url))) {
  console.error('This script needs the development dependencies. Install them: npm ci')
  process.exit(1)
}
run(process.env.TEST_NODE || bundledOrOwnRuntime(), args)
