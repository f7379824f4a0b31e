// `node scripts/node.js ARGUMENTS`: runs Node.js with these arguments, on the version that comes with the install, or the program
// that TEST_NODE names. npm scripts use it, because plain `node` may be an older one. This file must also run on Node.js 20.

import { bundledOrOwnRuntime, run } from '../bin/runtime.js'

run(process.env.TEST_NODE || bundledOrOwnRuntime(), process.argv.slice(2))
