// The reference: a bare node:http server that sends the same bytes as the service, without doing any of its work. PUT sets
// the response to each method.

import { createServer } from 'node:http'

const isLogging = process.env.LOG_LEVEL === 'info'
let responses = {}

createServer({ optimizeEmptyRequests: true }, (request, response) => {
  if (isLogging) logWhenSent(request, response)
  if (request.method === 'GET') {
    send(request, response)
    return
  }
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString())
    if (request.method === 'PUT') responses = { ...body, PUT: { status: 200, headers: {}, body: '' } }
    send(request, response)
  })
}).listen(Number(process.env.PORT), '127.0.0.1')

function send({ method }, response) {
  const { status, headers, body } = responses[method] ?? { status: 503, headers: {}, body: '' }
  response.writeHead(status, headers)
  response.end(body)
}

function logWhenSent({ method, url }, response) {
  const startedAt = performance.now()
  response.on('finish', () => {
    const durationMs = performance.now() - startedAt
    const line = { level: 30, time: Date.now(), method, path: url, status: response.statusCode, durationMs }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  })
}
