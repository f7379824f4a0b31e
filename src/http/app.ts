// The application: what is judged before a request is answered, in which order, and by whom it is.

import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Environment } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import { invalid, ServiceError } from '../error.ts'
import type { Store } from '../store.ts'
import { DEPRECATION_HEADERS, operations } from './animals.ts'
import { authenticator, Unauthorized, type Verdict } from './authentication.ts'
import { crossOrigin } from './cross-origin.ts'
import { asRefusal, errorReply } from './errors.ts'
import type { Exchange } from './exchange.ts'
import { headerValues } from './headers.ts'
import { createNodeServer, type NodeServer } from './node-server.ts'
import { jsonReply, type Reply } from './reply.ts'
import { requestIds } from './request-log.ts'
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
    { route: '/livez', get: () => OK },
    { route: '/readyz', get: readiness },
    ...documents.map(documentResource),
  ])

  async function readiness(): Promise<Reply> {
    if (!isAccepting()) throw new ServiceError('unavailable', 'The service is stopping.')
    await store.ping()
    return OK
  }

  /** What is there already is not waited for: that would cost each request a little. */
  function answer(exchange: Exchange): Reply | Promise<Reply> {
    try {
      const reply = judge(exchange)
      return reply instanceof Promise ? reply.catch(error => refuse(error, exchange)) : reply
    } catch (error) {
      return refuse(error, exchange)
    }
  }

  /** From here to `perform`: the order is part of the interface (docs/decisions/order-of-judgement.md). */
  function judge(exchange: Exchange): Reply | Promise<Reply> {
    const { request, path } = exchange
    const resource = resourceAt(path)
    exchange.route = resource?.route
    const isOfApi = path === '/v1' || path.startsWith('/v1/')
    if (isOfApi) exchange.headers = headersFor(request)
    judgeHost(request)
    if (!isOfApi) return perform(exchange, resource)
    const permission = preflight(request)
    if (permission !== undefined) return permission
    const verdict = authenticate(headerValues(request, 'authorization'))
    return verdict instanceof Promise
      ? verdict.then(settled => admit(exchange, resource, settled))
      : admit(exchange, resource, verdict)
  }

  function admit(
    exchange: Exchange,
    resource: Resource | undefined,
    verdict: Verdict,
  ): Reply | Promise<Reply> {
    if (verdict instanceof Unauthorized) return errorReply(verdict)
    exchange.caller = verdict
    return perform(exchange, resource)
  }

  function perform(exchange: Exchange, resource: Resource | undefined): Reply | Promise<Reply> {
    const { request } = exchange
    if (resource?.headers !== undefined && isRead(request)) {
      exchange.headers = [...exchange.headers, ...resource.headers]
    }
    judgeExpectation(request)
    if (resource === undefined) throw new ServiceError('not_found', 'There is nothing at this path.')
    return handlerFor(resource, request)(exchange)
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

  return createNodeServer({ requestId: requestIds(extraKey), answer, isAccepting, log })
}

/** Rendered when first asked for: by then the server knows its address. */
function documentResource({ path, mediaType, body }: Document): Resource {
  let made: Reply | undefined
  return {
    route: path,
    async get() {
      made ??= documentReply(mediaType, Buffer.from(await body()))
      return made
    },
  }
}

function documentReply(mediaType: string, body: Buffer): Reply {
  const described = ['content-type', mediaType, 'content-length', String(body.length)]
  return { status: 200, headers: [...described, ...PAGE_HEADERS], body }
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
