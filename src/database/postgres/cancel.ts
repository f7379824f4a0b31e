// Cancels the statement that a connection is running, with PostgreSQL's CancelRequest message.

import type { Socket } from 'node:net'
import pg from 'pg'

/** Parts of pg that its types do not declare. */
interface ClientInternals {
  readonly host: string
  readonly port: number
  readonly ssl: boolean
  readonly sslNegotiation: 'postgres' | 'direct'
  readonly processID: number | null
  readonly secretKey: number
}

interface ConnectionInternals extends pg.Connection {
  readonly stream: Socket
  connect(portOrPath: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
}

/**
 * Sends the request over a new connection, as the protocol requires, and over TLS if the URL asks for it. Poolers forward
 * it. Does not wait for the result. If the server cannot be reached, the statement cannot be cancelled.
 */
export function cancelQuery(client: pg.ClientBase, timeoutMs: number): void {
  const { host, port, ssl, sslNegotiation, processID, secretKey } = client as unknown as ClientInternals
  if (processID === null) return
  const connection = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as ConnectionInternals
  const send = () => {
    connection.cancel(processID, secretKey)
    connection.stream.end()
  }
  connection.on('error', () => {})
  connection.stream.setTimeout(timeoutMs, () => connection.stream.destroy())
  connection.on('connect', () => {
    if (ssl === false) send()
    else if (sslNegotiation === 'postgres') connection.requestSsl()
  })
  connection.on('sslconnect', send)
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
  else connection.connect(port, host)
}
