// The HTTP server below the application: time-outs, malformed requests, and the graceful end of connections.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { invalid, type ServiceError } from '../../error.ts'
import { type ClientAddress, createClientAddress } from './client-address.ts'
import { type Connection, createConnections, inFlight, isDone } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { createServer } from './node-http.ts'
import { skipRequests } from './node-internals.ts'
import { fromParserError, MAX_HEADER_BYTES, TIMEOUT_CODE } from './protocol-errors.ts'
import { isDelivered, type Reply, send, writeRawError } from './reply.ts'
import { isLastRequest, parseTarget } from './request.ts'
import { createThrottledLog, newRequestId, renderRequest, statusOf } from './request-log.ts'

const OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 20_000,
  /** Longer than the usual 60 seconds of load balancers, so that they close idle connections first. */
  keepAliveTimeout: 65_000,
  /** How often Node checks the first two time-outs. Its default is 30 seconds. */
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: MAX_HEADER_BYTES,
  // The application rejects a missing Host, so that the response has the error object.
  requireHostHeader: false,
  // Without a body, Node need not create a stream for it (bench/notes.md).
  optimizeEmptyRequests: true,
}

/** The most that one process keeps for all of its clients together. */
export const SERVER_LIMITS = {
  connections: 10_000,
  /** With this many requests in flight, no further pipelined request is accepted. */
  requests: 2_000,
}

const NO_HEADERS: readonly string[] = []

export interface HttpServerOptions<Context = unknown> {
  /** Must not throw or reject: it must turn a failure into a reply. */
  readonly answer: (exchange: Exchange<Context>) => Reply | Promise<Reply>
  readonly log: Logger
  readonly limits?: Partial<typeof SERVER_LIMITS>
  readonly requestId?: (request: IncomingMessage) => string
  /** For the log. The default is the address of the connection. */
  readonly clientAddress?: ClientAddress
  /** False once the service is stopping. */
  readonly isAccepting?: () => boolean
  /** Renders further members of a log line, such as `,"keyId":"7"`. By default there are none. */
  readonly renderContext?: (context: Context) => string
  /** Takes the log line of each request. */
  readonly writeLogLine?: ((line: string) => void) | undefined
  /** Called for each request that was answered. There is no exchange if the HTTP parser rejected the request. */
  readonly onAnswered?:
    | ((exchange: Exchange<Context> | undefined, status: number, durationMs: number) => void)
    | undefined
}

export interface HttpServer {
  readonly server: Server
  connectionCount(): number
  /** Closes every connection. A request that is still arriving is answered with 408. */
  closeAll(): void
}

export function createHttpServer<Context>({
  answer,
  log,
  limits: givenLimits,
  requestId = newRequestId,
  clientAddress = createClientAddress(0),
  isAccepting = () => true,
  renderContext = () => '',
  writeLogLine,
  onAnswered,
}: HttpServerOptions<Context>): HttpServer {
  const limits = { ...SERVER_LIMITS, ...givenLimits }
  const connections = createConnections<Context>(limits.connections, log)
  const logPipelined = createThrottledLog(count =>
    log.warn({ closed: count, limit: limits.requests }, 'closed connections that pipeline too many requests'),
  )
  const isObserved = writeLogLine !== undefined || onAnswered !== undefined

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request
    const connection = connections.find(socket)
    // It was closed to make room for another one.
    if (connection === undefined) return
    if (connections.requestCount() >= limits.requests && !connection.isDraining) drainPipeline(connection)
    if (connection.isDraining) {
      // Its response would wait behind the last one, and is never sent.
      skipRequests(socket)
      return
    }
    const isLast = isLastRequest(request)
    if (isLast) connection.isDraining = true
    const { path, query } = parseTarget(request)
    const exchange: Exchange<Context> = {
      id: requestId(request),
      request,
      response,
      path,
      query,
      route: undefined,
      context: undefined,
      // Read now, because Node.js forgets it when the connection closes.
      address: isObserved ? clientAddress(socket, request) : undefined,
      startedAt: isObserved ? performance.now() : 0,
      ignoresBody: false,
      isLast,
      isReported: false,
      headers: NO_HEADERS,
    }
    connections.begin(connection, exchange)
    try {
      // Awaited even if it is not a promise, so that a request without a body is complete (node-internals.ts).
      const reply = await answer(exchange)
      // A request that the parser has rejected meanwhile gets the parser's error.
      if (request.complete || exchange.ignoresBody || !connection.isMalformed)
        send(exchange, reply, isAccepting())
    } catch (error) {
      log.fatal({ requestId: exchange.id, err: error }, 'a response could not be sent')
      socket.destroy()
    }
    if (isDelivered(exchange)) {
      connections.end(connection, exchange)
      report(exchange)
    } else {
      const endIfClosed = () => {
        if (response.closed) report(exchange)
        if (isDone(exchange)) connections.end(connection, exchange)
      }
      endIfClosed()
      response.once('close', endIfClosed)
      request.once('close', endIfClosed)
    }
  }

  /** Called when the response was handed to the operating system, or will never be. */
  function report(exchange: Exchange<Context>): void {
    if (!isObserved || exchange.isReported) return
    exchange.isReported = true
    const status = statusOf(exchange.response)
    const durationMs = performance.now() - exchange.startedAt
    if (status !== null) onAnswered?.(exchange, status, durationMs)
    const members = exchange.context === undefined ? '' : renderContext(exchange.context)
    writeLogLine?.(renderRequest(exchange, status, durationMs, members))
  }

  /** Closes the connection after the requests that are in flight on it, if there are any. */
  function drainPipeline(connection: Connection<Context>): void {
    const last = inFlight(connection).at(-1)
    if (last === undefined) return
    connection.isDraining = true
    closeAfter(last)
    logPipelined()
  }

  const server = createServer(OPTIONS, serve)
  // By default Node silently drops headers after the thousandth.
  server.maxHeadersCount = 0
  server.on('connection', socket => {
    // Requests that are in flight when it closes are abandoned.
    connections.open(socket, connection => connection.exchanges.forEach(report))
  })
  // Without these two listeners Node answers by itself, before the credential is checked.
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  // Without this listener Node closes the connection without a response.
  server.on('connect', async (request, socket) => {
    // Node has removed its own listeners, and reads nothing more.
    socket.on('error', () => {}).on('timeout', () => socket.destroy())
    socket.resume()
    const connection = connections.find(socket)
    if (connection === undefined) return
    connection.isDraining = true
    await waitForAll(inFlight(connection))
    rejectConnection(socket, invalid('This service is not a proxy.'), 'CONNECT', request)
  })

  server.on('clientError', async (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.find(socket)
    // Node emits `clientError` again for every further packet.
    if (connection === undefined || connection.isMalformed) return
    const requests = inFlight(connection)
    const last = requests.at(-1)
    const incomplete = last?.request.complete ? undefined : last
    // What follows the last request is not HTTP. The connection closes after its response.
    if (incomplete === undefined && connection.isDraining) return
    connection.isMalformed = true
    connection.isDraining = true
    // Complete requests are answered first: otherwise a client could get 400 although what it sent was stored.
    await waitForAll(requests.filter(exchange => exchange !== incomplete))
    if (incomplete === undefined) {
      rejectConnection(socket, fromParserError(error), error.code)
    } else if (incomplete.response.headersSent || incomplete.ignoresBody) {
      // The request is answered before its body arrives, so there is nothing left to report.
      await waitForClose(incomplete.response)
      socket.destroy()
    } else {
      const parserError = fromParserError(error)
      const wasSent = writeRawError(socket, parserError, incomplete.id, incomplete)
      // For the log line of this request.
      if (wasSent) incomplete.response.statusCode = parserError.status
    }
  })

  function rejectConnection(
    socket: Duplex,
    error: ServiceError,
    reason: string | undefined,
    request?: IncomingMessage,
  ): void {
    const id = newRequestId()
    const address = clientAddress(socket, request)
    if (writeRawError(socket, error, id)) {
      log.info({ requestId: id, address, status: error.status, reason }, 'request')
      // The parser does not say when the request began.
      onAnswered?.(undefined, error.status, 0)
    }
  }

  return {
    server,
    connectionCount: connections.count,
    closeAll() {
      const timeout = Object.assign(new Error('the server stops'), { code: TIMEOUT_CODE })
      for (const socket of connections.sockets()) server.emit('clientError', timeout, socket)
      setImmediate(() => server.closeAllConnections())
    },
  }
}

/** Closes the connection after this response, which says so if its headers were not sent before. */
function closeAfter(exchange: Exchange): void {
  const { request, response } = exchange
  exchange.isLast = true
  if (response.writableFinished) request.socket.destroySoon()
  else if (response.headersSent) response.once('finish', () => request.socket.destroySoon())
}

async function waitForAll(exchanges: readonly Exchange[]): Promise<void> {
  await Promise.all(exchanges.map(({ response }) => waitForClose(response)))
}

function waitForClose(response: ServerResponse): Promise<void> {
  return new Promise(resolve => (response.closed ? resolve() : response.once('close', () => resolve())))
}
