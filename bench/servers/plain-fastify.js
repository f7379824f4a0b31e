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
// The statement of the service: of the first 10,000 animals after @after, at most @limit of the category @category whose folded
// name contains @text.
const search = database.prepare(`
  select json,
    iif(exists (select 1 from animals where id < first), first, null) as previous,
    iif(exists (select 1 from animals where id > last), last, null) as next
  from (
    select
      json_group_array(iif(status is null,
        json_object('id', id, 'name', name, 'categoryId', category_id),
        json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status))) as json,
      (select id from animals where id > @after order by id limit 1) as first,
      iif(count(*) = @limit, max(id),
        coalesce((select id from animals where id > @after order by id limit 1 offset 9999),
          (select max(id) from animals where id > @after))) as last
    from (
      select id, name, category_id, status
      from (
        select id, name, category_id, status, search_name
        from animals where id > @after order by id limit 10000)
      where (@category is null or category_id = @category)
        and (@text is null or instr(coalesce(search_name, lower(name)), @text) > 0)
      limit @limit + 0))`)
// The statement of the service, too: the inventory counts the animals up to its last id.
const readInventory = database.prepare(`
  select
    available + count(animals.id) filter (where status = 'available') as available,
    pending + count(animals.id) filter (where status = 'pending') as pending,
    sold + count(animals.id) filter (where status = 'sold') as sold,
    none + count(animals.id) filter (where status is null) as none
  from inventory left join animals on animals.id > last_id`)
const find = database.prepare(`select ${columns} from animals where id = ?`)
const update = database.prepare(`update animals set status = ? where id = ? returning ${columns}`)
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
        name: { type: 'string', minLength: 1, maxLength: 100 },
        categoryId: { type: 'integer' },
      },
      // There are no searches among the animals of a status.
      dependencies: {
        name: { not: { required: ['status'] } },
        categoryId: { not: { required: ['status'] } },
      },
    },
  },
  handler: async (request, reply) => {
    const { limit, after, status, name, categoryId } = request.query
    if (name !== undefined || categoryId !== undefined) return searchPets(request.query, reply)
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

function searchPets({ limit, after, name, categoryId }, reply) {
  // Lower case suffices for ASCII.
  const text = name?.toLowerCase() ?? null
  const { json, previous, next } = search.get({ after, limit, category: categoryId ?? null, text })
  let rest = `limit=${limit}`
  if (name !== undefined) rest += `&name=${encodeURIComponent(name)}`
  if (categoryId !== undefined) rest += `&categoryId=${categoryId}`
  const links = []
  if (previous !== null) links.push(`</v1/pets?${rest}&before=${previous}>; rel="prev"`)
  if (next !== null) links.push(`</v1/pets?${rest}&after=${next}>; rel="next"`)
  if (links.length > 0) reply.header('link', links.join(', '))
  return reply.type('application/json').send(json)
}

app.get('/v1/store/inventory', async () => readInventory.get())

app.get('/v1/pets/:id', async (request, reply) => find.get(request.params.id) ?? sendNotFound(reply))

function sendNotFound(reply) {
  return reply.code(404).send({ code: 'not_found', message: 'The animal does not exist.', status: 404 })
}

// Changes only the status.
app.patch('/v1/pets/:id', {
  schema: { body: { type: 'object', required: ['status'], properties: { status } } },
  handler: async (request, reply) =>
    update.get(request.body.status, request.params.id) ?? sendNotFound(reply),
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
