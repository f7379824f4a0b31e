// The HTTP server below the application: time-outs that no client can outwait, and connections that end in good order.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { invalid, type ServiceError } from '../error.ts'
import type { Exchange } from './exchange.ts'
import { answerRaw, refusalFor } from './refusals.ts'
import { isDelivered, type Reply, send } from './reply.ts'
import { logRequest, newRequestId } from './request-log.ts'
import { parseTarget } from './target.ts'

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  /** Longer than the 60 seconds after which load balancers commonly let go, so that they do it first. */
  keepAliveTimeout: 65_000,
  /** The two time-outs above are only noticed this often; Node's default is 30 seconds. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
}

const MAX_CONNECTIONS = 10_000

const NONE: readonly string[] = []

export interface NodeServerOptions {
  readonly requestId: (request: IncomingMessage) => string
  /** Neither throws nor rejects: a failure has an answer too. */
  readonly answer: (exchange: Exchange) => Reply | Promise<Reply>
  /** False from the moment the service is told to stop. */
  readonly isAccepting: () => boolean
  readonly log: Logger
}

export interface NodeServer {
  readonly server: Server
  /** Ends every connection: a request that is still arriving is told that it is too late. */
  cut(): void
}

export function createNodeServer({ requestId, answer, isAccepting, log }: NodeServerOptions): NodeServer {
  /** What is going on on each connection, in order: clients may send before they are answered. */
  const connections = new Map<Duplex, Exchange[]>()
  const broken = new WeakSet<Duplex>()

  async function begin(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request
    const { path, query } = parseTarget(request.url ?? '/')
    const exchange: Exchange = {
      id: requestId(request),
      request,
      response,
      path,
      query,
      route: undefined,
      caller: undefined,
      animalId: undefined,
      headers: NONE,
    }
    const going = connections.get(socket) ?? []
    while (going[0] !== undefined && isOver(going[0])) going.shift()
    going.push(exchange)
    try {
      logRequest(exchange, log)
      // Always waited for: a request without a body is whole once the parser has gone on.
      send(exchange, await answer(exchange), isAccepting())
    } catch (error) {
      log.fatal({ requestId: exchange.id, err: error }, 'an answer could not be sent')
      socket.destroy()
    }
    // Held until the next request, it would grow old, and cost the garbage collector as much as the request itself.
    if (isDelivered(exchange) && going[0] === exchange) going.shift()
  }

  // A missing Host is refused like everything else, with the error object, instead of by Node. And where there is no
  // body, Node need not pretend to read one.
  const server = createServer({ ...LIMITS, requireHostHeader: false, optimizeEmptyRequests: true }, begin)
  server.maxConnections = MAX_CONNECTIONS
  // As many as fit: Node would drop those after the thousandth without a word.
  server.maxHeadersCount = 0
  server.on('connection', socket => {
    connections.set(socket, [])
    socket.once('close', () => connections.delete(socket))
  })
  // Node would answer these two by itself, before the credential was looked at.
  server.on('checkContinue', begin)
  server.on('checkExpectation', begin)
  // Node would close the connection without a word.
  server.on('connect', (_request, socket) =>
    refuseNew(socket, invalid('This service is no proxy.'), 'CONNECT'),
  )

  server.on('clientError', async (error: NodeJS.ErrnoException, socket) => {
    // Node says so again for every further packet.
    if (broken.has(socket)) return
    broken.add(socket)
    const going = (connections.get(socket) ?? []).filter(exchange => !isOver(exchange))
    const last = going.at(-1)
    const current = last?.request.complete ? undefined : last
    // Whole requests are answered first: an animal must not be stored and its sender told 400.
    await Promise.all(going.filter(exchange => exchange !== current).map(({ response }) => closed(response)))
    if (current === undefined) {
      refuseNew(socket, refusalFor(error), error.code)
    } else if (current.response.headersSent) {
      // It was answered without its body, which then broke off: there is nothing more to say.
      await closed(current.response)
      socket.destroy()
    } else {
      // Its body broke off: this is the answer to it, and its log line is to say so.
      const refusal = refusalFor(error)
      const isAnswered = answerRaw(socket, refusal, current.id, current.headers)
      if (isAnswered) current.response.statusCode = refusal.status
    }
  })

  function refuseNew(socket: Duplex, refusal: ServiceError, refused: string | undefined): void {
    const id = newRequestId()
    if (answerRaw(socket, refusal, id)) {
      log.info({ requestId: id, status: refusal.status, refused }, 'request')
    }
  }

  return {
    server,
    cut() {
      const tooLate = Object.assign(new Error('the server stops'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      for (const socket of connections.keys()) server.emit('clientError', tooLate, socket)
      setImmediate(() => server.closeAllConnections())
    },
  }
}

function isOver({ request, response }: Exchange): boolean {
  return response.closed && request.complete
}

function closed(response: ServerResponse): Promise<void> {
  return new Promise(resolve => (response.closed ? resolve() : response.once('close', () => resolve())))
}
