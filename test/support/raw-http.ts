// Requests that no HTTP client would send, byte by byte over a socket.

import { connect, type Socket } from 'node:net'

export interface RawConnection {
  readonly socket: Socket
  /** Everything that the server has sent so far. */
  received(): string
  /** Resolves with everything that the server has sent, once the connection is closed. */
  readonly closed: Promise<string>
}

export function connectRaw(address: string): RawConnection {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  const closed = new Promise<string>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
  })
  // A test may end without waiting for it.
  closed.catch(() => {})
  return { socket, received: () => text, closed }
}

/** The request line and the headers, with the empty line that ends them. */
export function requestHead(...lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** The status of each response that a connection received, such as `[201, 400]`. */
export function statusesOf(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
}
