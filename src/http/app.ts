// The application: the checks that every request passes, in a fixed order, and the routes behind them.

import type { Logger } from 'pino'
import { ServiceError, unavailable } from '../error.ts'
import { type AuthenticatorOptions, createAuthenticator, unauthorized } from './api/authentication.ts'
import {
  createHandlers,
  deprecationHeaders,
  type Handler,
  type HandlerOptions,
  type RequestContext,
} from './api/handlers.ts'
import {
  allowedMethods,
  type DatabaseUse,
  isDeprecated,
  OPERATIONS,
  type OperationId,
  withHead,
} from './api/operations.ts'
import { type RateLimiter, rateLimited } from './api/rate-limit.ts'
import { type Document, documentRoute } from './documents.ts'
import { createOutageLog, createRequestIds } from './log.ts'
import { createClientAddress } from './server/client-address.ts'
import { createCors } from './server/cors.ts'
import type { Exchange } from './server/exchange.ts'
import { internalError, methodNotAllowed, notFound } from './server/protocol-errors.ts'
import { errorReply, jsonReply, type Reply } from './server/reply.ts'
import { checkExpectation, checkMessage, headerValues } from './server/request.ts'
import { createHttpServer, type HttpServer } from './server/server.ts'

/** What the metrics get to know about each request. `keyId` is the id of the API key, if the request had a valid one. */
type RequestObserver = (
  operation: OperationId | 'other',
  status: number,
  durationMs: number,
  keyId: string | undefined,
) => void

interface AppOptions extends AuthenticatorOptions, HandlerOptions {
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

/** What is done with requests of one method to one path. */
interface Route {
  /** Undefined for what the API does not describe. */
  readonly id?: OperationId | undefined
  /** GET includes HEAD. */
  readonly method: 'GET' | 'POST'
  /** The path as the documentation writes it. A last part in braces stands for any text. */
  readonly path: string
  readonly handle: Handler
  /** Headers of every reply: alternating names and values. */
  readonly headers?: readonly string[] | undefined
  /** Undefined if its replies do not show whether the database works. */
  readonly needs?: DatabaseUse
}

interface Resource {
  readonly path: string
  readonly allow: string
  /** By method, such as HEAD. */
  readonly routes: ReadonlyMap<string, Route>
}

const LIVENESS = '/livez'
const READINESS = '/readyz'

const API_METHODS = allowedMethods(OPERATIONS.map(({ method }) => method))

const OK = jsonReply(200, '{"status":"ok"}')

const UNAUTHORIZED = {
  missing: errorReply(unauthorized(false)),
  invalid: errorReply(unauthorized(true)),
}

export function createApp(options: AppOptions): HttpServer {
  const { basePath, extraKey, rateLimiter, corsOrigins, log, onRequest, state } = options
  const authenticate = createAuthenticator(options)
  const cors = corsOrigins.length === 0 ? undefined : createCors(corsOrigins, API_METHODS)
  const outageLog = createOutageLog<DatabaseUse>(log)
  const handlers = createHandlers(options)
  const deprecation = deprecationHeaders(basePath)
  const findResource = createRouter([
    ...OPERATIONS.map(operation => ({
      ...operation,
      handle: handlers[operation.id],
      headers: isDeprecated(operation.id) ? deprecation : undefined,
    })),
    { method: 'GET', path: LIVENESS, handle: () => OK },
    { method: 'GET', path: READINESS, handle: checkReadiness, needs: 'readiness' },
    ...options.documents.map(document => ({ method: 'GET', ...documentRoute(document) }) as const),
  ])

  async function checkReadiness(): Promise<Reply> {
    const current = state()
    if (current !== 'ready') throw unavailable(undefined, `The service is ${current}.`)
    await options.checkDatabase()
    return OK
  }

  /** The order of the checks is part of the interface (docs/decisions/errors.md). */
  async function answer(exchange: Exchange<RequestContext>): Promise<Reply> {
    const { request, path } = exchange
    const resource = findResource(path)
    const route = resource?.routes.get(request.method ?? '')
    const context: RequestContext = {
      operation: route?.id,
      parameter: path.slice(path.lastIndexOf('/') + 1),
      apiKey: undefined,
      animalId: undefined,
    }
    exchange.route = resource?.path
    exchange.context = context
    try {
      const isApi = path === '/v1' || path.startsWith('/v1/')
      if (isApi && cors !== undefined) exchange.headers = cors.headersFor(request)
      checkMessage(request)
      if (isApi) {
        const preflightReply = cors?.preflight(request)
        if (preflightReply !== undefined) return preflightReply
        const apiKey = await authenticate(headerValues(request, 'authorization'))
        if (typeof apiKey === 'string') return UNAUTHORIZED[apiKey]
        context.apiKey = apiKey
      }
      if (route?.headers !== undefined) addHeaders(exchange, route.headers)
      if (rateLimiter !== undefined && context.apiKey !== undefined) {
        const { headers, retryAfterSeconds } = await rateLimiter.take(context.apiKey.id)
        addHeaders(exchange, headers)
        if (retryAfterSeconds !== undefined) throw rateLimited(retryAfterSeconds)
      }
      checkExpectation(request)
      if (resource === undefined) throw notFound()
      if (route === undefined) throw methodNotAllowed(resource.allow)
      const reply = await route.handle(exchange, context)
      if (route.needs !== undefined && (reply.status === 200 || reply.status === 201))
        outageLog.succeeded(route.needs)
      return reply
    } catch (error) {
      return reportError(error, exchange.id, route?.needs ?? 'read')
    }
  }

  function reportError(cause: unknown, requestId: string, use: DatabaseUse): Reply {
    // An unknown failure is reported without detail, which could reveal something internal.
    const error = cause instanceof ServiceError ? cause : internalError(cause)
    // An error without a cause is expected, such as 503 while the service stops.
    if (error.status >= 500 && error.cause !== undefined) {
      if (error.code === 'unavailable') outageLog.failed(use, requestId, error)
      else log.error({ requestId, err: cause }, error.code)
    }
    return errorReply(error)
  }

  return createHttpServer<RequestContext>({
    requestId: createRequestIds(extraKey),
    clientAddress: createClientAddress(options.trustedProxies ?? 0),
    answer,
    isAccepting: () => state() !== 'stopping',
    isUrgent: isHealthCheck,
    log,
    renderContext,
    writeLogLine: options.writeLogLine,
    onAnswered:
      onRequest &&
      ((exchange, status, durationMs) =>
        // There is no exchange if the HTTP parser rejected the request.
        onRequest(
          exchange?.context?.operation ?? 'other',
          status,
          durationMs,
          exchange?.context?.apiKey?.id,
        )),
  })
}

/** Returns a function that finds the resource at a path. */
function createRouter(routes: readonly Route[]): (path: string) => Resource | undefined {
  const resources = new Map<string, Resource>()
  for (const [path, ofPath] of Map.groupBy(routes, ({ path }) => path)) {
    const allow = allowedMethods(ofPath.map(({ method }) => method))
    const byMethod = ofPath.flatMap(route => withHead(route.method).map(method => [method, route] as const))
    // A path in braces is found by what precedes them.
    resources.set(path.replace(/\{\w+\}$/, ''), { path, allow, routes: new Map(byMethod) })
  }
  return path => {
    const end = path.lastIndexOf('/') + 1
    const exact = resources.get(path)
    if (exact !== undefined) return exact.path === path ? exact : undefined
    const withParameter = resources.get(path.slice(0, end))
    return withParameter?.path.endsWith('}') ? withParameter : undefined
  }
}

function addHeaders(exchange: Exchange, headers: readonly string[]): void {
  exchange.headers = [...exchange.headers, ...headers]
}

function isHealthCheck(path: string): boolean {
  return path === LIVENESS || path === READINESS
}

function renderContext({ apiKey, animalId }: RequestContext): string {
  const keyId = apiKey === undefined ? '' : `,"keyId":${JSON.stringify(apiKey.id)}`
  return animalId === undefined ? keyId : `${keyId},"animalId":${animalId}`
}
