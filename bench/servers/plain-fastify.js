// Contender: a plain service on Fastify and better-sqlite3, with statements that are prepared once.

import Database from 'better-sqlite3'
import Fastify, { LogController } from 'fastify'

const database = new Database(process.env.DATABASE)
database.pragma('journal_mode = wal')
database.pragma('synchronous = full')

const columns = 'id, name, category_id as categoryId, status'
const list = database.prepare(`select ${columns} from animals where id > ? order by id limit ?`)
const listByStatus = database.prepare(
  `select ${columns} from animals where status = ? and id > ? order by id limit ?`,
)
const hasPrevious = database.prepare('select exists (select 1 from animals where id <= ?) as found')
const hasPreviousByStatus = database.prepare(
  'select exists (select 1 from animals where status = ? and id <= ?) as found',
)
const find = database.prepare(`select ${columns} from animals where id = ?`)
const insert = database.prepare('insert into animals (name, category_id, status) values (?, ?, ?)')

const status = { type: 'string', enum: ['available', 'pending', 'sold'] }
const isLogging = process.env.LOG_LEVEL === 'info'
// Fastify would log two lines for each request.
const logController = new LogController({ disableRequestLogging: true })
const app = Fastify({ logger: isLogging, logController })

if (isLogging) {
  app.addHook('onResponse', async (request, reply) => {
    const { method, url } = request
    const { statusCode: status, elapsedTime: durationMs } = reply
    request.log.info({ method, path: url, status, durationMs }, 'request')
  })
}

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${process.env.ANIMAL_STORE_API_KEY}`) {
    return reply
      .code(401)
      .send({ code: 'unauthorized', message: 'A valid API key is required.', status: 401 })
  }
})

app.get('/v1/pets', {
  schema: {
    querystring: {
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        after: { type: 'integer', default: 0 },
        status,
      },
    },
  },
  handler: async (request, reply) => {
    const { limit, after, status } = request.query
    const animals = status ? listByStatus.all(status, after, limit + 1) : list.all(after, limit + 1)
    const rest = status ? `limit=${limit}&status=${status}` : `limit=${limit}`
    const links = []
    if (after !== 0 && animals.length > 0) {
      const { found } = status ? hasPreviousByStatus.get(status, after) : hasPrevious.get(after)
      if (found) links.push(`</v1/pets?${rest}&before=${animals[0].id}>; rel="prev"`)
    }
    if (animals.length > limit) {
      animals.pop()
      links.push(`</v1/pets?${rest}&after=${animals.at(-1).id}>; rel="next"`)
    }
    if (links.length > 0) reply.header('link', links.join(', '))
    return animals
  },
})

app.get('/v1/pets/:id', async (request, reply) => {
  const animal = find.get(request.params.id)
  return (
    animal ?? reply.code(404).send({ code: 'not_found', message: 'The animal does not exist.', status: 404 })
  )
})

app.post('/v1/pets', {
  schema: {
    body: {
      type: 'object',
      required: ['name', 'categoryId'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 1000 },
        categoryId: { type: 'integer' },
        status,
      },
    },
  },
  handler: async (request, reply) => {
    const { name, categoryId, status = null } = request.body
    const { lastInsertRowid: id } = insert.run(name, categoryId, status)
    return reply.code(201).header('location', `/v1/pets/${id}`).send({ id, name, categoryId, status })
  },
})

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
