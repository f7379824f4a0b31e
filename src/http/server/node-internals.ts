// What the server relies on although Node.js does not document it. test/node-internals.test.ts fails if Node.js changes it.
//
// One of these is an order of events. Node emits `request` while its parser reads what has arrived, and runs microtasks when the
// parser has read all of it. Before that, a request without a body is not complete yet. So server.ts awaits every reply.

import type { Socket } from 'node:net'

/** Node's parser of a connection. It calls the functions at these indices. */
interface Parser {
  readonly constructor: { readonly [callback: string]: number | undefined }
  [index: number]: unknown
}

const CALLBACKS = ['kOnBody', 'kOnHeaders', 'kOnHeadersComplete', 'kOnMessageComplete']

/**
 * Skips all further requests of a connection. The last request that is served must be complete. Pausing the connection is not
 * enough, because the 64 KiB that Node reads at once may contain thousands of requests, and each would cost more CPU time and
 * memory than one that is served (bench/notes.md).
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
