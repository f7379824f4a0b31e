// The measure of all: a bare node:http server that sends the same bytes, and knows nothing.

import { createServer } from 'node:http'

let answers = {}

process.on('message', message => {
  if (message.answers === undefined) return
  answers = message.answers
  process.send('ready')
})

createServer({ optimizeEmptyRequests: true }, (request, response) => {
  const { status, headers, body } = answers[request.method] ?? { status: 503, headers: {}, body: '' }
  if (request.method === 'GET') {
    response.writeHead(status, headers)
    response.end(body)
    return
  }
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString())
    response.writeHead(status, headers)
    response.end(body)
  })
}).listen(Number(process.env.PORT), '127.0.0.1')
