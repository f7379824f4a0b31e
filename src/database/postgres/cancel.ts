// Cancels the statement that a connection is running, with PostgreSQL's CancelRequest message.

import { connect } from 'node:net'
import type pg from 'pg'

const CANCEL_REQUEST_CODE = 80_877_102
const MESSAGE_BYTES = 16

/** Fields of a pg client that its types do not declare. */
interface ClientInternals {
  readonly host: string
  readonly port: number
  readonly processID: unknown
  readonly secretKey: unknown
}

/**
 * Sends the request over a new connection, as the protocol requires. Poolers forward it. Does not wait for the result.
 */
export function cancelQuery(client: pg.PoolClient, timeoutMs: number): void {
  const { host, port, processID, secretKey } = client as unknown as ClientInternals
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const message = Buffer.alloc(MESSAGE_BYTES)
  for (const [index, value] of [MESSAGE_BYTES, CANCEL_REQUEST_CODE, processID, secretKey].entries())
    message.writeInt32BE(value, index * 4)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.setTimeout(timeoutMs, () => socket.destroy())
  // If the server cannot be reached, the statement cannot be cancelled.
  socket.on('error', () => {})
  socket.end(message)
}
