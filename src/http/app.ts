// The application: which path answers to what, and what is judged before it does.

import { METHODS } from 'node:http'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type onRequestAsyncHookHandler,
  type RouteHandlerMethod,
} from 'fastify'
import type { Environment } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { invalid, ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { DEPRECATION_HEADERS, operations } from './animals.ts'
import { authenticator, type Caller } from './authentication.ts'
import { MethodNotAllowed, notFound, sendError } from './errors.ts'
import { sendJson } from './json-reply.ts'
import { createNodeServer, type NodeServer } from './node-server.ts'
import { logRequest, requestIds } from './request-log.ts'
import { normaliseTarget } from './target.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent the request; there once its credential was accepted. */
    caller: Caller
    animalId: bigint | undefined
  }
}

/** Something for people, outside `/v1`. */
export interface Document {
  readonly path: string
  readonly mediaType: string
  readonly body: () => string
}

export interface AppOptions {
  readonly store: Store
  readonly clock: Clock
  readonly environment: Environment
  readonly extraKey: string | undefined
  readonly log: { readonly level: string; readonly stream: { write(line: string): void } }
  readonly documents: readonly Document[]
  /** False from the moment the service is told to stop. */
  readonly isAccepting: () => boolean
}

export interface App {
  readonly app: FastifyInstance
  /** Ends every connection at once. */
  cut(): void
}

const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
}

export function buildApp({
  store,
  clock,
  environment,
  extraKey,
  log,
  documents,
  isAccepting,
}: AppOptions): App {
  const servers: NodeServer[] = []
  const app: FastifyInstance = Fastify({
    logger: { level: log.level, stream: log.stream, base: null },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIds(extraKey),
    serverFactory: onRequest => {
      const made = createNodeServer(onRequest, (): FastifyBaseLogger => app.log)
      servers.push(made)
      return made.server
    },
    // The server answers for itself (node-server.ts), on every address it listens on.
    clientErrorHandler: () => {},
    rewriteUrl: request => normaliseTarget(request.url ?? '/'),
    routerOptions: {
      // URLSearchParams would drop a question mark in front, which here is a second one and part of a name.
      querystringParser: text => new URLSearchParams(text.replace(/^\?/, '%3F')) as never,
      // An id is judged by getPet, however long it is; the limit on headers bounds it.
      maxParamLength: 16 * 1024,
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  })
  // Fastify is to leave all bodies alone: createPet reads its own, after all that must be judged before.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })

  app.decorateRequest('caller')
  app.decorateRequest('animalId')
  app.addHook('onRequest', logRequest)
  app.addHook('onRequest', async request => judgeHost(request))
  app.addHook('preParsing', async request => judgeExpectation(request))
  app.addHook('onSend', async (_request, reply) => {
    // Asks the client to reconnect, elsewhere, before this connection is closed.
    if (!isAccepting()) reply.header('connection', 'close')
  })
  app.setErrorHandler(sendError)
  app.setNotFoundHandler(notFound)

  for (const { path, mediaType, body } of documents) {
    // Rendered when first asked for: by then the server knows its address.
    let bytes: Buffer | undefined
    route(app, path, {
      GET: async (_request, reply) => {
        bytes ??= Buffer.from(body())
        return reply.headers(PAGE_HEADERS).header('content-type', mediaType).send(bytes)
      },
    })
  }
  route(app, '/livez', { GET: async (_request, reply) => sendJson(reply, 200, '{"status":"ok"}') })
  route(app, '/readyz', {
    GET: async (_request, reply) => {
      if (!isAccepting()) throw new ServiceError('unavailable', 'The service is stopping.')
      await store.ping()
      return sendJson(reply, 200, '{"status":"ok"}')
    },
  })

  app.register(
    async v1 => {
      const authenticate = authenticator({ store, clock, environment, extraKey })
      v1.addHook('onRequest', async request => {
        request.caller = await authenticate(request.raw.headersDistinct.authorization ?? [])
      })
      v1.setNotFoundHandler(notFound)
      const { listPets, createPet, getPet } = operations({ store, clock })
      route(v1, '/pets', { GET: listPets, POST: createPet })
      // Once the credential holds, every answer of getPet tells of its end.
      route(v1, '/pets/:petId', { GET: getPet }, async (_request, reply) => {
        reply.headers(DEPRECATION_HEADERS)
      })
      // Else the router would take it for an animal without an id.
      v1.route({ method: METHODS, url: '/pets/', handler: notFound })
    },
    { prefix: '/v1' },
  )
  return {
    app,
    cut() {
      for (const { cut } of servers) cut()
    },
  }
}

/** Registers a path with the methods it has, and 405 for all others. Where there is GET, Fastify adds HEAD. */
function route(
  app: FastifyInstance,
  url: string,
  handlers: Partial<Record<'GET' | 'POST', RouteHandlerMethod>>,
  onRequest: onRequestAsyncHookHandler[] | onRequestAsyncHookHandler = [],
): void {
  const allowed = Object.keys(handlers).flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  for (const [method, handler] of Object.entries(handlers)) app.route({ method, url, onRequest, handler })
  app.route({
    method: METHODS.filter(method => !allowed.includes(method)),
    url,
    handler: () => {
      throw new MethodNotAllowed(allowed.join(', '))
    },
  })
}

function judgeHost({ raw }: FastifyRequest): void {
  const hosts = raw.headersDistinct.host ?? []
  if (hosts.length > 1 || (hosts.length === 0 && raw.httpVersion === '1.1')) {
    throw invalid('The request must have exactly one Host header.')
  }
}

function judgeExpectation({ headers }: FastifyRequest): void {
  const { expect } = headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new ServiceError('expectation_failed', 'The only expectation that can be met is 100-continue.')
  }
}
