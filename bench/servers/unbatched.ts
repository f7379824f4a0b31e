// Contender: this service without batching. Each creation is one insert, and therefore one commit.

import pg from 'pg'
import { pino } from 'pino'
import { systemClock } from '../../src/clock.ts'
import { BATCH_LIMITS } from '../../src/database/batching.ts'
import { openPostgresStore } from '../../src/database/postgres/store.ts'
import { createApp } from '../../src/http/app.ts'
import type { Creation, Outcome } from '../../src/store.ts'

const { DATABASE_URL = '', PORT, ANIMAL_STORE_API_KEY } = process.env
const store = await openPostgresStore({ url: DATABASE_URL, clock: systemClock })
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })

const { server } = createApp({
  store: { ...store, createAnimals: creations => Promise.all(creations.map(insert)) },
  checkDatabase: store.ping,
  clock: systemClock,
  environment: 'production',
  basePath: '/v1',
  extraKey: ANIMAL_STORE_API_KEY,
  corsOrigins: [],
  log: pino({ level: 'silent' }),
  documents: [],
  state: () => 'ready',
  maxWaiting: BATCH_LIMITS.queueLength,
})
server.listen({ host: '127.0.0.1', port: Number(PORT) })

async function insert({ animal }: Creation): Promise<Outcome> {
  const { rows } = await pool.query(
    'insert into animals (name, category_id, status) values ($1, $2, $3) returning id',
    [animal.name, animal.categoryId, animal.status ?? null],
  )
  return { kind: 'created', animal: { id: BigInt(rows[0].id), ...animal } }
}
