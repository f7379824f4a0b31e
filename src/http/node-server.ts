// The HTTP server below Fastify: time-outs that no client can outwait, and connections that end in good order.

import { randomUUID } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { answerRaw, refusalFor } from './refusals.ts'

const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  /** Longer than the 60 seconds after which load balancers commonly let go, so that they do it first. */
  keepAliveTimeout: 65_000,
  /** The two time-outs above are only noticed this often; Node's default is 30 seconds. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16 * 1024,
}

/** A client that takes nothing of its answer for this long is let go. */
const IDLE_MS = 60_000

const MAX_CONNECTIONS = 10_000

/** How long a client may go on sending a body after its request was answered. */
const LINGER_MS = 1_000

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export function createNodeServer(onRequest: RequestListener, log: () => FastifyBaseLogger): Server {
  const exchanges = new WeakMap<Duplex, Exchange>()

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const exchange = { request, response }
    exchanges.set(socket, exchange)
    response.once('finish', () => linger(request))
    response.once('close', () => {
      if (exchanges.get(socket) === exchange) exchanges.delete(socket)
    })
    onRequest(request, response)
  }

  // A missing Host is refused like everything else, with the error object, instead of by Node.
  const server = createServer({ ...LIMITS, requireHostHeader: false }, begin)
  server.timeout = IDLE_MS
  server.maxConnections = MAX_CONNECTIONS
  // Node would answer these two by itself, before the credential was looked at.
  server.on('checkContinue', begin)
  server.on('checkExpectation', begin)

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const refusal = refusalFor(error)
    const exchange = exchanges.get(socket)
    const refuseNew = () => {
      const requestId = randomUUID()
      if (answerRaw(socket, refusal, requestId)) {
        log().info({ requestId, status: refusal.status, refused: error.code }, 'request')
      }
    }
    if (exchange === undefined) {
      refuseNew()
    } else if (exchange.request.complete) {
      // A whole request, then a broken one: an animal must not be stored and its sender told 400.
      exchange.response.once('close', refuseNew)
    } else if (exchange.response.headersSent) {
      exchange.response.once('close', () => socket.destroy())
    } else {
      // Its body broke off: this is the answer to it, and its log line is to say so.
      exchange.response.statusCode = refusal.status
      answerRaw(socket, refusal, String(exchange.response.getHeader('x-request-id')))
    }
  })
  return server
}

/** Closing while the client still sends would reset the connection, and it might never see its answer. */
function linger(request: IncomingMessage): void {
  if (request.complete) return
  const timer = setTimeout(() => request.complete || request.socket.destroy(), LINGER_MS)
  request.once('close', () => clearTimeout(timer))
}
