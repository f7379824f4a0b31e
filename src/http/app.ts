// The application: what is judged before a request is answered, in which order, and by whom it is.

import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Environment } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { invalid, ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { DEPRECATION_HEADERS, operations } from './animals.ts'
import { authenticator, Unauthorized } from './authentication.ts'
import { crossOrigin } from './cross-origin.ts'
import { asRefusal, errorReply } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { headerValues } from './headers.ts'
import { createNodeServer, type NodeServer } from './node-server.ts'
import { jsonReply, type Reply, send } from './reply.ts'
import { logRequest, requestIds } from './request-log.ts'
import { handlerFor, isRead, type Resource, routesOf } from './routes.ts'

/** Something for people, outside `/v1`. */
export interface Document {
  readonly path: string
  readonly mediaType: string
  readonly body: () => string | Promise<string>
}

export interface AppOptions {
  readonly store: Store
  readonly clock: Clock
  readonly environment: Environment
  readonly extraKey: string | undefined
  /** The origins of pages that may use the service from a browser, beside its own; `*` stands for all. */
  readonly corsOrigins: readonly string[]
  readonly log: Logger
  readonly documents: readonly Document[]
  /** False from the moment the service is told to stop. */
  readonly isAccepting: () => boolean
}

const PAGE_HEADERS = Object.entries({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
}).flat()

const OK = jsonReply(200, '{"status":"ok"}')

export function buildApp({
  store,
  clock,
  environment,
  extraKey,
  corsOrigins,
  log,
  documents,
  isAccepting,
}: AppOptions): NodeServer {
  const authenticate = authenticator({ store, clock, environment, extraKey })
  const { headersFor, preflight } = crossOrigin(corsOrigins)
  const { listPets, createPet, getPet } = operations({ store, clock })
  const resourceAt = routesOf([
    { route: '/v1/pets', get: listPets, post: createPet },
    { route: '/v1/pets/{petId}', get: getPet, headers: DEPRECATION_HEADERS },
    { route: '/livez', get: async () => OK },
    { route: '/readyz', get: readiness },
    ...documents.map(documentResource),
  ])

  async function readiness(): Promise<Reply> {
    if (!isAccepting()) throw new ServiceError('unavailable', 'The service is stopping.')
    await store.ping()
    return OK
  }

  /** The order is part of the interface (docs/decisions/order-of-judgement.md). */
  async function answer(exchange: Exchange): Promise<Reply> {
    try {
      const { request, path } = exchange
      const resource = resourceAt(path)
      exchange.route = resource?.route
      const isOfApi = path === '/v1' || path.startsWith('/v1/')
      if (isOfApi) exchange.headers = headersFor(request)
      judgeHost(request)
      if (isOfApi) {
        const permission = preflight(request)
        if (permission !== undefined) return permission
        // To wait for what is there already would cost each request a little.
        const judged = authenticate(headerValues(request, 'authorization'))
        const verdict = judged instanceof Promise ? await judged : judged
        if (verdict instanceof Unauthorized) return errorReply(verdict)
        exchange.caller = verdict
      }
      if (resource?.headers !== undefined && isRead(request)) {
        exchange.headers = [...exchange.headers, ...resource.headers]
      }
      judgeExpectation(request)
      if (resource === undefined) throw new ServiceError('not_found', 'There is nothing at this path.')
      return await handlerFor(resource, request)(exchange)
    } catch (error) {
      return refuse(error, exchange)
    }
  }

  /** Unknown failures are logged whole and reported blank. */
  function refuse(error: unknown, { id }: Exchange): Reply {
    const refusal = asRefusal(error)
    // One without a cause, such as while stopping, is no failure.
    if (refusal.status >= 500 && refusal.cause !== undefined) {
      log.error({ requestId: id, err: error }, refusal.code)
    }
    return errorReply(refusal)
  }

  async function respond(exchange: Exchange): Promise<void> {
    logRequest(exchange, log)
    const reply = await answer(exchange)
    send(exchange, reply, isAccepting())
  }

  return createNodeServer({ requestId: requestIds(extraKey), respond, log })
}

/** Rendered when first asked for: by then the server knows its address. */
function documentResource({ path, mediaType, body }: Document): Resource {
  let reply: Reply | undefined
  return {
    route: path,
    async get() {
      reply ??= { status: 200, mediaType, headers: PAGE_HEADERS, body: Buffer.from(await body()) }
      return reply
    },
  }
}

function judgeHost(request: IncomingMessage): void {
  const hosts = headerValues(request, 'host')
  if (hosts.length > 1 || (hosts.length === 0 && request.httpVersion === '1.1')) {
    throw invalid('The request must have exactly one Host header.')
  }
}

function judgeExpectation(request: IncomingMessage): void {
  for (const expectation of headerValues(request, 'expect')) {
    if (expectation.toLowerCase() !== '100-continue') {
      throw new ServiceError('expectation_failed', 'The only expectation that can be met is 100-continue.')
    }
  }
}
