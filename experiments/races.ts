// Races of 2 to 8 clients for one animal, by entity tag and by status, on SQLite and over two instances on PostgreSQL: exactly one
// wins each, and a retry never acts twice. `--races 20000` by default, half of them on each database.

import { Agent } from 'node:http'
import { parseArgs } from 'node:util'
import { parseJson } from '../client/src/json.ts'
import type { Animal } from '../src/animal.ts'
import { serve } from '../test/support/command.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { API_KEY, type Scope, temporaryFolder } from '../test/support/service.ts'
import { type Figure, runExperiments } from './faults/figure.ts'
import { inScope } from './faults/processes.ts'
import { send } from './faults/writes.ts'

const CLIENTS = 8
/** Races that run at the same time, each for another animal. */
const CONCURRENT = 8

const { values } = parseArgs({ options: { races: { type: 'string', default: '20000' } } })
const perDatabase = Number(values.races) / 2
if (!(perDatabase >= CONCURRENT)) throw new Error('usage: node experiments/races.ts [--races 20000]')

await runExperiments(
  {
    'Races on SQLite': () =>
      inScope(scope => race(scope, 'SQLite', `sqlite:${temporaryFolder()}/animals.db`, 1)),
    'Races on PostgreSQL': () =>
      inScope(async scope => {
        const postgres = await startPostgres([])
        scope.after(() => postgres.stop())
        return race(scope, 'PostgreSQL with two instances', postgres.url, 2)
      }),
  },
  { quick: true },
)

async function race(scope: Scope, database: string, url: string, instances: number): Promise<Figure[]> {
  const env = { ANIMAL_STORE_API_KEY: API_KEY, DATABASE_URL: url }
  const addresses: string[] = []
  for (let count = 0; count < instances; count++)
    addresses.push((await serve(scope, ['--log-level', 'warn'], { cwd: temporaryFolder(), env })).address)
  const agents = Array.from(
    { length: CONCURRENT * CLIENTS },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  )
  const address = (client: number) => addresses[client % addresses.length] as string
  const statuses = new Map<string, number>()
  let wrong = 0
  let actedTwice = 0
  let left = perDatabase

  async function runRaces(lane: number): Promise<void> {
    for (let number = 0; left-- > 0; number++) {
      const own = agents.slice(lane * CLIENTS, (lane + 1) * CLIENTS)
      const clients = own.slice(0, 2 + (number % (CLIENTS - 1)))
      const body = JSON.stringify({ name: `${lane}-${number}`, categoryId: 0, status: 'available' })
      const created = await send(address(0), own[0] as Agent, 'POST', '/v1/pets', { body })
      const { id } = parseJson(created?.text ?? '') as Animal
      const isByTag = number % 2 === 0
      const answers = await Promise.all(
        clients.map((agent, client) => {
          const isRemoval = number % 5 === 4
          const idempotencyKey = `race-${lane}-${number}-${client}`
          const path = `/v1/pets/${id}${isByTag ? '' : '?ifStatus=available'}`
          const sent = {
            idempotencyKey,
            ...(isByTag && { ifMatch: created?.etag ?? '' }),
            ...(!isRemoval && { body: JSON.stringify({ categoryId: client + 1, status: 'sold' }) }),
          }
          const write = () => send(address(client), agent, isRemoval ? 'DELETE' : 'PATCH', path, sent)
          // Every third client repeats its request at once, as after a lost answer.
          return client % 3 === 0
            ? Promise.all([
                write(),
                send(address(client + 1), false, isRemoval ? 'DELETE' : 'PATCH', path, sent),
              ])
            : write().then(reply => [reply])
        }),
      )
      const winners = answers.filter(replies =>
        replies.some(reply => (reply?.status ?? 0) < 300 && reply !== undefined),
      )
      for (const replies of answers) {
        for (const reply of replies) count(String(reply?.status ?? 'no answer'))
        const [first, second] = replies
        const isAgain =
          second !== undefined && first !== undefined && first.status < 300 && second.status < 300
        if (isAgain && first.text !== second.text) actedTwice++
      }
      if (winners.length !== 1) wrong++
    }
  }

  function count(status: string): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  await Promise.all(Array.from({ length: CONCURRENT }, (_, lane) => runRaces(lane)))
  for (const agent of agents) agent.destroy()
  const unexpected = [...statuses.keys()].filter(
    status => !['200', '204', '404', '409', '412'].includes(status),
  )
  return [
    {
      promise: `${perDatabase} races of 2 to ${CLIENTS} clients for one animal on ${database}: exactly one wins each, and a retry acts once`,
      measured: `${wrong} without exactly one winner, ${actedTwice} retries that acted twice (${[...statuses].map(([status, times]) => `${status}: ${times}`).join(', ')})`,
      holds: wrong === 0 && actedTwice === 0 && unexpected.length === 0,
    },
  ]
}
