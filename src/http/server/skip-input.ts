// Makes Node's HTTP parser skip what a connection still sends. Pausing the connection is not enough, because the 64 KiB that
// Node reads at once may contain thousands of requests.

import type { Socket } from 'node:net'

/** Node's parser of a connection. It calls the functions at these indices. */
interface Parser {
  readonly constructor: { readonly [callback: string]: number | undefined }
  [index: number]: unknown
}

const CALLBACKS = ['kOnBody', 'kOnHeaders', 'kOnHeadersComplete', 'kOnMessageComplete']

/**
 * Skips all further requests of a connection. The last request that is served must be complete. Node has no documented way to do
 * this. Without it, the requests that are skipped cost more CPU time and memory than those that are served (bench/notes.md).
 */
export function skipRequests(socket: Socket & { readonly parser?: Parser | null }): void {
  const { parser } = socket
  if (!parser) return
  for (const name of CALLBACKS) {
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
