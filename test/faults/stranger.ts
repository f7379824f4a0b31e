// A process that opens many connections and keeps them: idle ones, or ones that never read what they asked for. It does
// not reopen a connection that the service closes. Prints a line once all connections were opened.
//
//   node test/faults/stranger.ts ADDRESS CONNECTIONS PATH reads|never-reads API_KEY

import { connect } from 'node:net'

const [address = '', connections = '1', path = '/', how = 'reads', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(address)
const REQUEST = `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`

/** The kernel buffers about 4 MB for a client that does not read. What exceeds it stays in the memory of the service. */
const REPEATED = how === 'never-reads' ? 8 : 1

/** How many connections are opened at the same time. */
const AT_ONCE = 100

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

for (let index = 0; index < AT_ONCE; index++) open()

// Keeps the process alive when the service has closed every connection.
setInterval(() => {}, 1_000)
