// Cancels the statement that a connection is running, with PostgreSQL's CancelRequest message.

import { connect, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type pg from 'pg'

const CANCEL_REQUEST_CODE = 80_877_102
const TLS_REQUEST_CODE = 80_877_103

/** The server answers a request for TLS with this letter if it supports TLS. */
const TLS_ACCEPTED = 'S'

/** Fields of a pg client that its types do not declare. */
interface ClientInternals {
  readonly host: string
  readonly port: number
  readonly ssl: boolean | ConnectionOptions
  readonly processID: unknown
  readonly secretKey: unknown
}

/**
 * Sends the request over a new connection, as the protocol requires, and over TLS if the URL asks for it. Poolers forward it. Does
 * not wait for the result.
 */
export function cancelQuery(client: pg.PoolClient, timeoutMs: number): void {
  const { host, port, ssl, processID, secretKey } = client as unknown as ClientInternals
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const request = message(CANCEL_REQUEST_CODE, processID, secretKey)
  const socket = ignoreErrors(
    host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host),
  )
  socket.setTimeout(timeoutMs, () => socket.destroy())
  if (ssl === false) {
    socket.end(request)
    return
  }
  socket.write(message(TLS_REQUEST_CODE))
  socket.once('data', answer => {
    if (String(answer) !== TLS_ACCEPTED) {
      socket.destroy()
      return
    }
    // pg hides the key of a client certificate from copies.
    const options = {
      socket,
      ...(isIP(host) === 0 && { servername: host }),
      ...(ssl !== true && { ...ssl, key: ssl.key }),
    }
    const secured = ignoreErrors(connectTls(options, () => secured.end(request)))
  })
}

/** A message: its length, then these integers. */
function message(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 + values.length * 4)
  for (const [index, value] of [bytes.length, ...values].entries()) bytes.writeInt32BE(value, index * 4)
  return bytes
}

/** If the server cannot be reached, the statement cannot be cancelled. */
function ignoreErrors<Stream extends Socket>(socket: Stream): Stream {
  return socket.on('error', () => {})
}
