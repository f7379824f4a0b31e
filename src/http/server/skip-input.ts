// Makes Node's HTTP parser skip what a connection still sends. Pausing the connection is not enough, because the 64 KiB
// that Node reads at once may contain thousands of requests or chunks.

import type { Socket } from 'node:net'

/** Node's parser of a connection. It calls the functions at these indices. */
interface Parser {
  readonly constructor: { readonly [callback: string]: number | undefined }
  [index: number]: unknown
}

/** Skips the rest of the body, but not its end, and all further requests. */
export function skipBody(socket: Socket): void {
  skip(socket, ['kOnBody', 'kOnHeaders', 'kOnHeadersComplete'])
}

/** Skips all further requests. The last request that is served must be complete. */
export function skipRequests(socket: Socket): void {
  skip(socket, ['kOnBody', 'kOnHeaders', 'kOnHeadersComplete', 'kOnMessageComplete'])
}

/** Node has no documented way to do this. Without it, what is skipped costs more CPU time and memory. */
function skip(socket: Socket & { readonly parser?: Parser | null }, callbacks: readonly string[]): void {
  const { parser } = socket
  if (!parser) return
  for (const name of callbacks) {
    const index = parser.constructor[name]
    const callback = index === undefined ? undefined : parser[index]
    if (index === undefined || callback === undefined) continue
    parser[index] = undefined
    // Node gives the parser to another connection then. After a CONNECT it would do so earlier, but that is skipped too.
    socket.once('close', () => {
      parser[index] = callback
    })
  }
}
