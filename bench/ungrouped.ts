// The contender: this service without grouping, one insert, and so one commit, for each request.

import { systemClock } from '../src/clock.ts'
import { buildApp } from '../src/http/app.ts'
import { openPostgresStore } from '../src/postgres/store.ts'

const { DATABASE_URL = '', PORT, ANIMAL_STORE_API_KEY } = process.env
const store = await openPostgresStore({ url: DATABASE_URL, clock: systemClock })
const { app } = buildApp({
  store,
  clock: systemClock,
  environment: 'production',
  extraKey: ANIMAL_STORE_API_KEY,
  log: { level: 'silent', stream: { write() {} } },
  documents: [],
  isAccepting: () => true,
})
await app.listen({ host: '127.0.0.1', port: Number(PORT) })
