// The application: the checks that every request passes, in a fixed order, and the routes behind them.

import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import { ServiceError, unavailable } from '../error.ts'
import { type AuthenticatorOptions, createAuthenticator, unauthorized } from './api/authentication.ts'
import {
  ANIMAL_ROUTE,
  ANIMALS_ROUTE,
  createOperations,
  deprecationHeaders,
  INVENTORY_ROUTE,
  type OperationOptions,
} from './api/operations.ts'
import { type RateLimiter, rateLimited } from './api/rate-limit.ts'
import { type Document, documentResource } from './documents.ts'
import { createClientAddress } from './server/client-address.ts'
import { createCors } from './server/cors.ts'
import { createOutageLog, createRequestIds, type RequestKind } from './server/log.ts'
import { internalError, methodNotAllowed, notFound } from './server/protocol-errors.ts'
import { type Exchange, errorReply, jsonReply, type Reply } from './server/reply.ts'
import { checkExpectation, checkMessage, headerValues, isRead } from './server/request.ts'
import { createHttpServer, type HttpServer } from './server/server.ts'

type Operation = 'listPets' | 'createPet' | 'getPet' | 'getInventory' | 'other'

/** What the metrics get to know about each request. `keyId` is the id of the API key, if the request had a valid one. */
type RequestObserver = (
  operation: Operation,
  status: number,
  durationMs: number,
  keyId: string | undefined,
) => void

export interface AppOptions extends AuthenticatorOptions, OperationOptions {
  /** Rejects if requests cannot be served. */
  readonly checkDatabase: () => Promise<void>
  /** For each API key. By default there is no limit. */
  readonly rateLimiter?: RateLimiter | undefined
  /** The origins whose pages may use the API from a browser, in addition to the service's own. `*` allows all. */
  readonly corsOrigins: readonly string[]
  /** How many proxies in front of the service are trusted to report the client's address. The default is none. */
  readonly trustedProxies?: number
  readonly log: Logger
  /** Takes the log line of each request. */
  readonly writeLogLine?: ((line: string) => void) | undefined
  readonly onRequest?: RequestObserver | undefined
  readonly documents: readonly Document[]
  readonly state: () => ServiceState
}

/** While it is starting, it serves requests, but load balancers should wait. */
export type ServiceState = 'starting' | 'ready' | 'stopping'

type Handler = (exchange: Exchange) => Reply | Promise<Reply>

interface Resource {
  /** The path as the documentation writes it. */
  readonly route: string
  readonly get: Handler
  readonly post?: Handler
  /** Headers of every reply to GET and HEAD: alternating names and values. */
  readonly headers?: readonly string[]
}

const LIVENESS = '/livez'
const READINESS = '/readyz'

/** The routes whose successes come from the database. */
const DATABASE_ROUTES = [ANIMALS_ROUTE, ANIMAL_ROUTE, INVENTORY_ROUTE, READINESS]

const OK = jsonReply(200, '{"status":"ok"}')

const UNAUTHORIZED = {
  missing: errorReply(unauthorized(false)),
  invalid: errorReply(unauthorized(true)),
}

export function createApp(options: AppOptions): HttpServer {
  const { basePath, extraKey, rateLimiter, corsOrigins, log, onRequest, state } = options
  const authenticate = createAuthenticator(options)
  const cors = corsOrigins.length === 0 ? undefined : createCors(corsOrigins)
  const outageLog = createOutageLog(log)
  const { listPets, createPet, getPet, getInventory } = createOperations(options)
  const headersOfGetPet = deprecationHeaders(basePath)
  const resources: readonly Resource[] = [
    { route: ANIMALS_ROUTE, get: listPets, post: createPet },
    { route: INVENTORY_ROUTE, get: getInventory },
    { route: LIVENESS, get: () => OK },
    { route: READINESS, get: checkReadiness },
    ...options.documents.map(documentResource),
  ]
  const resourceAt = new Map(resources.map(resource => [resource.route, resource]))

  function findResource(path: string): Resource | undefined {
    const petId = path.startsWith(`${ANIMALS_ROUTE}/`) ? path.slice(ANIMALS_ROUTE.length + 1) : ''
    if (petId === '' || petId.includes('/')) return resourceAt.get(path)
    return { route: ANIMAL_ROUTE, get: exchange => getPet(exchange, petId), headers: headersOfGetPet }
  }

  async function checkReadiness(): Promise<Reply> {
    const current = state()
    if (current !== 'ready') throw unavailable(undefined, `The service is ${current}.`)
    await options.checkDatabase()
    return OK
  }

  /** The order of the checks is part of the interface (docs/decisions/errors.md). */
  async function answer(exchange: Exchange): Promise<Reply> {
    try {
      const { request, path } = exchange
      const resource = findResource(path)
      exchange.route = resource?.route
      const isApi = path === '/v1' || path.startsWith('/v1/')
      if (isApi && cors !== undefined) exchange.headers = cors.headersFor(request)
      checkMessage(request)
      if (isApi) {
        const preflightReply = cors?.preflight(request)
        if (preflightReply !== undefined) return preflightReply
        const apiKey = await authenticate(headerValues(request, 'authorization'))
        if (typeof apiKey === 'string') return UNAUTHORIZED[apiKey]
        exchange.apiKey = apiKey
      }
      if (resource?.headers !== undefined && isRead(request)) addHeaders(exchange, resource.headers)
      if (rateLimiter !== undefined && exchange.apiKey !== undefined) {
        const { headers, retryAfterSeconds } = await rateLimiter.take(exchange.apiKey.id)
        addHeaders(exchange, headers)
        if (retryAfterSeconds !== undefined) throw rateLimited(retryAfterSeconds)
      }
      checkExpectation(request)
      if (resource === undefined) throw notFound()
      const reply = await handlerFor(resource, request)(exchange)
      if (isFromDatabase(exchange, reply)) outageLog.succeeded(kindOf(exchange))
      return reply
    } catch (error) {
      return reportError(error, exchange)
    }
  }

  function reportError(cause: unknown, exchange: Exchange): Reply {
    const { id } = exchange
    // An unknown failure is reported without detail, which could reveal something internal.
    const error = cause instanceof ServiceError ? cause : internalError(cause)
    // An error without a cause is expected, such as 503 while the service stops.
    if (error.status >= 500 && error.cause !== undefined) {
      if (error.code === 'unavailable') outageLog.failed(kindOf(exchange), id, error)
      else log.error({ requestId: id, err: cause }, error.code)
    }
    return errorReply(error)
  }

  return createHttpServer({
    requestId: createRequestIds(extraKey),
    clientAddress: createClientAddress(options.trustedProxies ?? 0),
    answer,
    isAccepting: () => state() !== 'stopping',
    isUrgent: isHealthCheck,
    log,
    writeLogLine: options.writeLogLine,
    onAnswered:
      onRequest &&
      ((exchange, status, durationMs) =>
        onRequest(operationOf(exchange), status, durationMs, exchange?.apiKey?.id)),
  })
}

function handlerFor({ get, post }: Resource, request: IncomingMessage): Handler {
  if (isRead(request)) return get
  if (request.method === 'POST' && post !== undefined) return post
  throw methodNotAllowed(post === undefined ? 'GET, HEAD' : 'GET, HEAD, POST')
}

function addHeaders(exchange: Exchange, headers: readonly string[]): void {
  exchange.headers = [...exchange.headers, ...headers]
}

function kindOf({ request, route }: Exchange): RequestKind {
  if (route === READINESS) return 'readiness'
  return request.method === 'POST' ? 'creation' : 'read'
}

function isHealthCheck(path: string): boolean {
  return path === LIVENESS || path === READINESS
}

/** Other replies, such as 401 and those of `/livez`, do not show that the database works. */
function isFromDatabase({ route = '' }: Exchange, { status }: Reply): boolean {
  const isSuccess = status === 200 || status === 201
  return isSuccess && DATABASE_ROUTES.includes(route)
}

/** There is no exchange if the HTTP parser rejected the request. */
function operationOf(exchange: Exchange | undefined): Operation {
  if (exchange === undefined) return 'other'
  const { route, request } = exchange
  if (route === ANIMALS_ROUTE) {
    if (isRead(request)) return 'listPets'
    return request.method === 'POST' ? 'createPet' : 'other'
  }
  if (!isRead(request)) return 'other'
  if (route === INVENTORY_ROUTE) return 'getInventory'
  return route === ANIMAL_ROUTE ? 'getPet' : 'other'
}
