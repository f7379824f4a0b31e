// The handlers of the operations: listPets, createPet and getPet of the specification, and getInventory.

import { parseAnimalJson, parseNewAnimal, renderAnimal, renderInventory } from '../../animal.ts'
import type { ApiKey } from '../../api-key.ts'
import type { Clock } from '../../clock.ts'
import { invalid, ServiceError, unavailable } from '../../error.ts'
import { canonicalInteger } from '../../json.ts'
import { isSearch } from '../../page.ts'
import type { Outcome, Store } from '../../store.ts'
import { parseBody, readBody } from '../server/body.ts'
import type { Exchange } from '../server/exchange.ts'
import { jsonReply, type Reply } from '../server/reply.ts'
import { joinedHeader } from '../server/request.ts'
import { DEPRECATED_SINCE, type OperationId, REMOVAL_DATE, REMOVED_AT } from './operations.ts'
import { pageLinks, parseIdempotencyKey, parseListQuery } from './parameters.ts'

const MAX_CACHED_BYTES = 8 * 1024 * 1024

/** The memory that a cached page takes besides its text. */
const CACHED_PAGE_BYTES = 1_024

export const animalNotFound = () => new ServiceError('not_found', 'There is no animal with this id.')

export const gone = () =>
  new ServiceError('gone', `This operation was removed on ${REMOVAL_DATE}. Use GET /v1/pets instead.`)

export const idempotencyKeyReused = () =>
  new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for another animal.')

const bodyMissing = () => invalid('The body is missing: send a JSON object with name and categoryId.')

const notStored = (cause: unknown) =>
  unavailable(cause, 'The animal could not be added right now. Try again shortly.')

const overloaded = () => unavailable(undefined, 'The service has too much to do. Try again shortly.')

/** What a handler gets besides the exchange, and what it adds for the log. */
export interface RequestContext {
  /** The operation, or undefined for what the API does not describe. */
  readonly operation: OperationId | undefined
  /** The last part of the path: what the braces of a route stand for. */
  readonly parameter: string
  /** Set once the request is authenticated. */
  apiKey: ApiKey | undefined
  animalId: bigint | undefined
  /** Whether the request has changed what is stored. */
  hasStored: boolean
}

export type Handler = (exchange: Exchange, context: RequestContext) => Reply | Promise<Reply>

export interface HandlerOptions {
  readonly store: Store
  readonly clock: Clock
  /** The path that `Location` and `Link` begin with, such as `/v1`. */
  readonly basePath: string
  /** Whether further creations are refused before their bodies are read (docs/decisions/overload.md). */
  readonly isQueueFull: () => boolean
}

export function createHandlers({ store, clock, basePath, isQueueFull }: HandlerOptions) {
  const firstPages = createPageCache()

  async function loadPage({ query, response }: Exchange, revision: string | undefined): Promise<Reply> {
    const parsed = parseListQuery(query)
    const { page } = parsed
    const animals = await store.listAnimalsAsJson(page, () => response.destroyed)
    const links = pageLinks(basePath, parsed, animals)
    const reply = jsonReply(200, animals.json, links === undefined ? [] : ['link', links])
    // There are as many searches as texts, so they would only push pages out of the cache.
    const isFirstPage = page.after === undefined && page.before === undefined && !isSearch(page)
    if (isFirstPage) firstPages.set(query, revision, reply)
    return reply
  }

  return {
    listPets(exchange: Exchange): Reply | Promise<Reply> {
      const revision = store.revision()
      return firstPages.get(exchange.query, revision) ?? loadPage(exchange, revision)
    },

    async createPet({ request, response }: Exchange, context: RequestContext): Promise<Reply> {
      const { apiKey } = context
      if (isQueueFull()) throw overloaded()
      const body = await readBody(request, response)
      if (body.length === 0) throw bodyMissing()
      const key = parseIdempotencyKey(joinedHeader(request, 'idempotency-key'))
      const animal = parseNewAnimal(parseBody(body, parseAnimalJson))
      const idempotency = apiKey && key !== undefined ? { scope: apiKey.idempotencyScope, key } : undefined
      const [outcome] = (await store.createAnimals([{ animal, idempotency }])) as [Outcome]
      if (outcome.kind === 'unavailable') throw notStored(outcome.cause)
      if (outcome.kind === 'key_reused') throw idempotencyKeyReused()
      const { id } = outcome.animal
      context.animalId = id
      context.hasStored = outcome.kind === 'created'
      const headers = ['location', `${basePath}/pets/${id}`]
      if (outcome.kind === 'replayed') headers.push('idempotent-replayed', 'true')
      return jsonReply(201, renderAnimal(outcome.animal), headers)
    },

    async getPet(_exchange: Exchange, context: RequestContext): Promise<Reply> {
      if (clock() >= REMOVED_AT.getTime()) throw gone()
      const id = canonicalInteger(context.parameter)
      const json = id === undefined ? undefined : await store.findAnimalAsJson(id)
      if (json === undefined) throw animalNotFound()
      context.animalId = id
      return jsonReply(200, json)
    },

    async getInventory(): Promise<Reply> {
      return jsonReply(200, renderInventory(await store.countAnimals()))
    },
  } satisfies Record<OperationId, Handler>
}

/** Returns the headers of every reply of getPet: alternating names and values. `/docs` has the same prefix as `/v1`. */
export function deprecationHeaders(basePath: string): readonly string[] {
  const docs = `${basePath.slice(0, -'/v1'.length)}/docs#getPet`
  return [
    ['deprecation', DEPRECATED_SINCE],
    ['sunset', REMOVED_AT.toUTCString()],
    ['link', `<${docs}>; rel="deprecation"; type="text/html", <${basePath}/pets>; rel="successor-version"`],
  ].flat()
}

/** Caches the replies to first pages while the revision of the database is unchanged. Other pages are rarely requested twice. */
export function createPageCache(maxBytes = MAX_CACHED_BYTES) {
  const replies = new Map<string, Reply>()
  let bytes = 0
  let current: string | undefined

  function clear(): void {
    replies.clear()
    bytes = 0
  }

  return {
    /** Returns the reply to this query if it was cached for this revision of the database. */
    get(query: string, revision: string | undefined): Reply | undefined {
      if (revision !== current) clear()
      current = revision
      return replies.get(query)
    },

    /** `revision` must have been read before the page. If the database changed in between, the next `get` drops the page. */
    set(query: string, revision: string | undefined, reply: Reply): void {
      // V8 takes at most two bytes for a character of a string.
      const size = CACHED_PAGE_BYTES + 2 * (query.length + reply.headers.join('').length + reply.body.length)
      if (revision === undefined || revision !== current || replies.has(query) || size > maxBytes) return
      if (bytes + size > maxBytes) clear()
      replies.set(query, reply)
      bytes += size
    },
  }
}
