// `npm run postgres -- [PORT]`: a PostgreSQL to try things on. Its programs came with the install; it and all that is in
// it are gone when it ends.

import { startPostgres } from '../test/support/postgres.ts'

const port = process.argv[2] === undefined ? undefined : Number(process.argv[2])
const { url, stop } = await startPostgres([], port)
console.log(`PostgreSQL is listening until you press Ctrl+C, and then forgets everything.\n\n  ${url}\n`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
