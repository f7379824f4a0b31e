// The reference for PostgreSQL: runs the query of a random page through pg in a loop, without a service around it.
// `query-loop.ts URL SIZE` prints the CPU time per query, in microseconds.

import pg from 'pg'
import { LIST_ANIMALS } from '../src/database/postgres/statements.ts'

const ROUNDS = 5
const QUERIES = 5_000
const CONCURRENCY = 10

const [url, size] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: CONCURRENCY })
// The first run is the warm-up.
await runQueries(QUERIES)
const rounds: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const before = process.cpuUsage()
  await runQueries(QUERIES)
  const { user, system } = process.cpuUsage(before)
  rounds.push((user + system) / QUERIES)
}
// As with the contenders, the best round counts.
console.log(Math.min(...rounds))
await pool.end()

async function runQueries(count: number): Promise<void> {
  let remaining = count
  const client = async () => {
    while (remaining-- > 0) {
      const after = Math.floor(Math.random() * (Number(size) - 100))
      await pool.query({ text: LIST_ANIMALS.forward, values: [after, 21], rowMode: 'array' })
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, client))
}
