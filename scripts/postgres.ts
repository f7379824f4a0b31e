// `npm run postgres -- [PORT]`: runs a PostgreSQL server for experiments. Its data is deleted when it ends.

import { startPostgres } from '../test/support/postgres.ts'

const port = process.argv[2] === undefined ? undefined : Number(process.argv[2])
const { url, stop } = await startPostgres([], port)
console.log(`PostgreSQL is listening. Press Ctrl+C to stop it and delete its data.\n\n  ${url}\n`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
