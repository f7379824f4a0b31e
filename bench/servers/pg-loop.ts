// The measure for PostgreSQL: a loop of the query for a random page through pg, with no service around it.

import pg from 'pg'
import { LIST_ANIMALS } from '../../src/database/postgres/statements.ts'

const ROUNDS = 5
const QUERIES = 5_000
const AT_ONCE = 10

const [url, count] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: AT_ONCE })
await ask(QUERIES)
const rounds: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  const before = process.cpuUsage()
  await ask(QUERIES)
  const { user, system } = process.cpuUsage(before)
  rounds.push((user + system) / QUERIES)
}
// As of the contenders, the round that was disturbed least counts.
console.log(Math.min(...rounds))
await pool.end()

async function ask(times: number): Promise<void> {
  let left = times
  const asker = async () => {
    while (left-- > 0) {
      const after = Math.floor(Math.random() * (Number(count) - 100))
      await pool.query({ text: LIST_ANIMALS, values: [after, 21], rowMode: 'array' })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, asker))
}
