// Contender: Platformatic DB, on the same SQLite file.

import { create } from '@platformatic/db'

const app = await create(import.meta.dirname, {
  db: { connectionString: `sqlite://${process.env.DATABASE}`, openapi: true, graphql: false },
  server: { hostname: '127.0.0.1', port: Number(process.env.PORT), logger: { level: 'error' } },
  watch: false,
})
await app.start({ listen: true })
