// Runs the command line of this process.

import { main } from './cli/command-line.ts'

const { stdin, stdout, stderr } = process

// A stream that cannot be written must not end the process. Data is printed with a check, and messages are lost.
for (const stream of [stdout, stderr]) stream.on('error', () => {})

process.exitCode = await main(process.argv.slice(2), process.env, { stdin, stdout, stderr })
