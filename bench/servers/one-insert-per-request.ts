// Contender: a plain service without checks. Each request is one insert, and therefore one commit.

import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })

createServer(async (request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(405).end()
    return
  }
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { name, categoryId, status = null } = JSON.parse(Buffer.concat(chunks).toString())
  const { rows } = await pool.query(
    'insert into animals (name, category_id, status) values ($1, $2, $3) returning id',
    [name, categoryId, status],
  )
  response.writeHead(201, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ id: rows[0].id, name, categoryId, status }))
}).listen(Number(process.env.PORT), '127.0.0.1')
