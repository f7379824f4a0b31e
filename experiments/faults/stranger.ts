// A process that opens many connections, sends requests on all of them and keeps them: it pipelines requests, or never
// reads what it asked for. Prints a line once everything was sent.
//
//   node experiments/faults/stranger.ts ADDRESS CONNECTIONS PATH pipelines|never-reads API_KEY

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const [address = '', connections = '1', path = '/', how = 'pipelines', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(address)
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`

/**
 * The kernel buffers about 4 MB for a client that does not read. What exceeds it stays in the memory of the service. One
 * that pipelines sends as much as fits into the 64 KiB that the service reads at once.
 */
const REPEATED = how === 'never-reads' ? 8 : Math.floor(65_536 / REQUEST.length)

const sockets: Socket[] = []
while (sockets.length < Number(connections)) {
  const socket = connect(Number(port), hostname).on('error', () => {})
  await once(socket, 'connect')
  sockets.push(socket)
}
for (const socket of sockets) {
  if (how === 'pipelines') socket.resume()
  socket.write(REQUEST.repeat(REPEATED))
}
process.stdout.write('sent\n')

// Keeps the process alive when the service has closed every connection.
setInterval(() => {}, 1_000)
