// A process that opens many connections and keeps them: idle ones, ones that never read what they asked for, or ones that
// pipeline requests, all at the same moment. It does not reopen a connection that the service closes. Prints a line once
// all connections were opened.
//
//   node test/faults/stranger.ts ADDRESS CONNECTIONS PATH reads|never-reads|pipelines API_KEY

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

const [address = '', connections = '1', path = '/', how = 'reads', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(address)
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`

/** The kernel buffers about 4 MB for a client that does not read. What exceeds it stays in the memory of the service. */
const REPEATED = how === 'never-reads' ? 8 : 1

/** How many connections are opened at the same time. */
const AT_ONCE = 100

/** As many as fit into the 64 KiB that the service reads at once. */
const PIPELINED = Math.floor(65_536 / REQUEST.length)

let opened = 0
let sent = 0

function open(): void {
  if (opened === Number(connections)) return
  opened++
  const socket = connect(Number(port), hostname)
  let isNext = false
  const openNext = () => {
    if (isNext) return
    isNext = true
    sent++
    if (sent === Number(connections)) process.stdout.write('opened\n')
    open()
  }
  if (how === 'never-reads') socket.pause()
  else socket.on('data', openNext)
  socket.on('connect', () =>
    socket.write(REQUEST.repeat(REPEATED), how === 'never-reads' ? openNext : undefined),
  )
  socket.on('error', () => {})
  socket.on('close', openNext)
}

async function pipeline(): Promise<void> {
  const sockets: Socket[] = []
  while (sockets.length < Number(connections)) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    await once(socket, 'connect')
    sockets.push(socket)
  }
  for (const socket of sockets) socket.resume().write(REQUEST.repeat(PIPELINED))
  process.stdout.write('opened\n')
}

if (how === 'pipelines') await pipeline()
else for (let index = 0; index < AT_ONCE; index++) open()

// Keeps the process alive when the service has closed every connection.
setInterval(() => {}, 1_000)
