// The application: the checks that every request passes, in a fixed order, and the routes behind them.

import type { Logger } from 'pino'
import { ServiceError } from '../error.ts'
import {
  type AuthenticatorOptions,
  createAuthenticator,
  forbidden,
  unauthorized,
} from './api/authentication.ts'
import {
  createHandlers,
  deprecationHeaders,
  type Handler,
  type HandlerOptions,
  type RequestContext,
} from './api/handlers.ts'
import { allowedMethods, isDeprecated, OPERATIONS, type OperationId, withHead } from './api/operations.ts'
import { type RateLimiter, rateLimited } from './api/rate-limit.ts'
import { type Document, documentRoute } from './documents.ts'
import type { OutageLog } from './outage-log.ts'
import { createRequestIds } from './request-ids.ts'
import { createClientAddress } from './server/client-address.ts'
import { createCors } from './server/cors.ts'
import type { Exchange } from './server/exchange.ts'
import { internalError, methodNotAllowed, notFound } from './server/protocol-errors.ts'
import { errorReply, OK_REPLY, type Reply } from './server/reply.ts'
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
  readonly outages: OutageLog
  /** Rejects with `unavailable` if the service should get no requests. */
  readonly checkReadiness: () => Promise<void>
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
  /** False once the service is stopping. */
  readonly isAccepting: () => boolean
}

/** What is done with requests of one method to one path. */
interface Route {
  /** Undefined for what the API does not describe. */
  readonly id?: OperationId | undefined
  /** GET includes HEAD. */
  readonly method: (typeof OPERATIONS)[number]['method']
  /** The path as the documentation writes it. A last part in braces stands for any text. */
  readonly path: string
  readonly handle: Handler
  /** Headers of every reply: alternating names and values. */
  readonly headers?: readonly string[] | undefined
  /** Whether it changes what is stored. */
  readonly isWrite?: boolean | undefined
}

interface Resource {
  readonly path: string
  readonly allow: string
  /** By method, such as HEAD. */
  readonly routes: ReadonlyMap<string, Route>
}

const API_METHODS = allowedMethods(OPERATIONS.map(({ method }) => method))

const UNAUTHORIZED = {
  missing: errorReply(unauthorized(false)),
  invalid: errorReply(unauthorized(true)),
}

export function createApp(options: AppOptions): HttpServer {
  const { basePath, extraKey, rateLimiter, corsOrigins, log, onRequest, outages } = options
  const authenticate = createAuthenticator(options)
  const cors = corsOrigins.length === 0 ? undefined : createCors(corsOrigins, API_METHODS)
  const handlers = createHandlers(options)
  const deprecation = deprecationHeaders(basePath)
  const findResource = createRouter([
    ...OPERATIONS.map(operation => ({
      ...operation,
      handle: handlers[operation.id],
      headers: isDeprecated(operation.id) ? deprecation : undefined,
    })),
    { method: 'GET', path: '/livez', handle: () => OK_REPLY },
    { method: 'GET', path: '/readyz', handle: () => options.checkReadiness().then(() => OK_REPLY) },
    ...options.documents.map(document => ({ method: 'GET', ...documentRoute(document) }) as const),
  ])

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
      hasStored: false,
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
      if (route.isWrite && context.apiKey?.access !== 'write') throw forbidden()
      const reply = await route.handle(exchange, context)
      if (context.hasStored) outages.stored()
      return reply
    } catch (error) {
      // While no key can be looked up, it is unknown whether writes work.
      const isWrite = context.apiKey !== undefined && route?.isWrite === true
      return reportError(error, exchange.id, isWrite)
    }
  }

  function reportError(cause: unknown, requestId: string, isWrite: boolean): Reply {
    // An unknown failure is reported without detail, which could reveal something internal.
    const error = cause instanceof ServiceError ? cause : internalError(cause)
    // An error without a cause is expected, such as 503 while the service stops.
    if (error.status >= 500 && error.cause !== undefined) {
      if (error.code === 'unavailable') outages.failed(error, { requestId, isWrite })
      else log.error({ requestId, err: cause }, error.code)
    }
    return errorReply(error)
  }

  return createHttpServer<RequestContext>({
    requestId: createRequestIds(extraKey),
    clientAddress: createClientAddress(options.trustedProxies ?? 0),
    answer,
    isAccepting: options.isAccepting,
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

function renderContext({ apiKey, animalId }: RequestContext): string {
  const keyId = apiKey === undefined ? '' : `,"keyId":${JSON.stringify(apiKey.id)}`
  return animalId === undefined ? keyId : `${keyId},"animalId":${animalId}`
}
