// The contender: this service without grouping, one insert, and so one commit, for each request.

import { pino } from 'pino'
import { systemClock } from '../../src/clock.ts'
import { buildApp } from '../../src/http/app.ts'
import { openPostgresStore } from '../../src/postgres/store.ts'

const { DATABASE_URL = '', PORT, ANIMAL_STORE_API_KEY } = process.env
const { server } = buildApp({
  store: await openPostgresStore({ url: DATABASE_URL, clock: systemClock }),
  clock: systemClock,
  environment: 'production',
  extraKey: ANIMAL_STORE_API_KEY,
  log: pino({ level: 'silent' }),
  documents: [],
  isAccepting: () => true,
})
server.listen({ host: '127.0.0.1', port: Number(PORT) })
