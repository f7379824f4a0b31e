// The reference: a bare node:http server that sends the same bytes as the service, without doing any of its work.

import { createServer } from 'node:http'

let responses = {}

process.on('message', message => {
  if (message.responses === undefined) return
  responses = message.responses
  process.send('ready')
})

createServer({ optimizeEmptyRequests: true }, (request, response) => {
  const { status, headers, body } = responses[request.method] ?? { status: 503, headers: {}, body: '' }
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
