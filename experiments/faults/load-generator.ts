// A process that keeps many connections busy: each sends a request, and the next one as soon as it was answered. A
// connection that is closed is opened again after a short pause. Prints the number of answers per status, and of
// connections that were opened, answered and closed.
//
//   node experiments/faults/load-generator.ts ADDRESS CONNECTIONS SECONDS mixed|unknown-keys|no-key API_KEY
//
// Of `mixed`, every other connection creates animals, and the others list them.

import { connect } from 'node:net'
import { generateKey } from '../../src/api-key.ts'

const [address = '', connections = '1', seconds = '1', kind = 'mixed', apiKey = ''] = process.argv.slice(2)
const { hostname, port } = new URL(address)

const body = '{"name":"Bella","categoryId":7,"status":"available"}'

function headers(key: string): string {
  return `Host: ${hostname}\r\nAuthorization: Bearer ${key}\r\n`
}

function nextRequest(index: number): string {
  switch (kind) {
    case 'mixed':
      if (index % 2 === 0) return `GET /v1/pets HTTP/1.1\r\n${headers(apiKey)}\r\n`
      return `POST /v1/pets HTTP/1.1\r\n${headers(apiKey)}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    case 'unknown-keys':
      return `GET /v1/pets HTTP/1.1\r\n${headers(nextKey())}\r\n`
    default:
      return `GET /v1/pets HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`
  }
}

/**
 * Anyone can make keys with a valid checksum. This process makes them in advance: if it made them between requests, the
 * service would sleep and wake up for each request. There are far more of them than the service caches.
 */
const UNKNOWN_KEYS = Array.from(
  { length: kind === 'unknown-keys' ? 50_000 : 0 },
  () => generateKey({ name: 'x', environment: 'production', createdAt: new Date() }).secret,
)
let keysSent = 0

function nextKey(): string {
  return UNKNOWN_KEYS[keysSent++ % UNKNOWN_KEYS.length] ?? ''
}

/** The pause before a connection is opened again: without one, refused connections would keep this process busy. */
const RECONNECT_MS = 10

const counts: Record<string, number> = { opened: 0, answered: 0, closed: 0 }
let isRunning = true

function count(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

function open(index: number): void {
  const socket = connect(Number(port), hostname)
  let text = ''
  let isAnswered = false
  socket.setNoDelay().setEncoding('latin1')
  socket.on('connect', () => {
    count('opened')
    socket.write(nextRequest(index))
  })
  socket.on('data', chunk => {
    text += chunk
    const bodyAt = text.indexOf('\r\n\r\n') + 4
    if (bodyAt < 4) return
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
    if (text.length < bodyAt + length) return
    count(text.slice(9, 12))
    text = ''
    if (!isAnswered) count('answered')
    isAnswered = true
    if (isRunning) socket.write(nextRequest(index))
    else socket.destroy()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    count('closed')
    if (isRunning) setTimeout(open, RECONNECT_MS, index)
  })
}

for (let opened = 0; opened < Number(connections); opened++) open(opened)

setTimeout(() => {
  isRunning = false
  process.stdout.write(JSON.stringify(counts), () => process.exit())
}, Number(seconds) * 1_000)
