// `npm run postgres -- [PORT]`: runs a PostgreSQL server for experiments. Its data is deleted when it ends.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { startPostgres } from '../test/support/postgres.ts'

const [text, ...others] = process.argv.slice(2)
if (others.length > 0 || (text !== undefined && !isPort(text)))
  end(2, 'Usage: npm run postgres -- [PORT], where PORT is a whole number from 1 to 65535.')
const port = text === undefined ? undefined : Number(text)
if (port !== undefined && !(await isFree(port)))
  end(
    1,
    `Port ${port} cannot be used, perhaps because it is taken. Choose another one: npm run postgres -- PORT`,
  )
const { url, stop } = await startPostgres([], port)
console.log(`PostgreSQL is listening. Press Ctrl+C to stop it and delete its data.\n\n  ${url}\n`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

function isPort(word: string): boolean {
  return /^[1-9]\d{0,4}$/.test(word) && Number(word) <= 65_535
}

async function isFree(wanted: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(wanted, '127.0.0.1'), 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

function end(code: number, message: string): never {
  console.error(message)
  process.exit(code)
}
