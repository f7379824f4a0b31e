// The handlers of the operations: listPets, createPet and getPet of the specification, and updatePet, deletePet and getInventory.

import {
  parseAnimalChanges,
  parseAnimalJson,
  parseNewAnimal,
  renderAnimal,
  renderInventory,
} from '../../animal-json.ts'
import type { ApiKey } from '../../api-key.ts'
import type { Clock } from '../../clock.ts'
import { unavailable } from '../../error.ts'
import { renderTag, tagOf } from '../../etag.ts'
import { requestDigest } from '../../idempotency.ts'
import { canonicalInteger } from '../../int64.ts'
import { isSearch } from '../../page.ts'
import type { Store } from '../../store.ts'
import type { Outcome, Write } from '../../write.ts'
import { type BodyType, JSON_BODY, MERGE_PATCH_BODY, parseBody, readBody } from '../server/body.ts'
import type { Exchange } from '../server/exchange.ts'
import { emptyReply, jsonReply, type Reply } from '../server/reply.ts'
import { joinedHeader } from '../server/request.ts'
import {
  animalNotFound,
  bodyMissing,
  changesMissing,
  gone,
  idempotencyKeyReused,
  overloaded,
  preconditionFailed,
  statusConflict,
} from './api-errors.ts'
import { isUnchanged, parseConditions } from './conditions.ts'
import { DEPRECATED_SINCE, type OperationId, REMOVED_AT } from './operations.ts'
import { pageLinks, parseIdempotencyKey, parseListQuery } from './parameters.ts'

const MAX_CACHED_BYTES = 8 * 1024 * 1024

/** The memory that a cached page takes besides its text. */
const CACHED_PAGE_BYTES = 1_024

const NO_BODY = Buffer.alloc(0)

/** The `id` of a new animal is ignored, so its digits are not looked at. */
const USED_INTEGERS = ['categoryId'] as const

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
  /** Whether further writes are refused before their bodies are read (docs/decisions/overload.md). */
  readonly isQueueFull: () => boolean
}

export function createHandlers({ store, clock, basePath, isQueueFull }: HandlerOptions) {
  const firstPages = createPageCache()

  async function loadPage({ query }: Exchange, revision: string | undefined): Promise<Reply> {
    const parsed = parseListQuery(query)
    const { page } = parsed
    const animals = await store.listAnimalsAsJson(page)
    const links = pageLinks(basePath, parsed, animals)
    const reply = jsonReply(200, animals.json, links === undefined ? [] : ['link', links])
    // There are as many searches as texts, so they would only push pages out of the cache.
    const isFirstPage = page.after === undefined && page.before === undefined && !isSearch(page)
    if (isFirstPage) firstPages.set(query, revision, reply)
    return reply
  }

  /** What all operations that write read first. Without a type, the body is ignored. */
  async function readWrite(
    exchange: Exchange,
    type?: BodyType,
  ): Promise<{ readonly body: Buffer; readonly key: string | undefined }> {
    const { request, response } = exchange
    if (isQueueFull()) throw overloaded()
    exchange.ignoresBody = type === undefined
    const body = type === undefined ? NO_BODY : await readBody(request, response, type)
    return { body, key: parseIdempotencyKey(joinedHeader(request, 'idempotency-key')) }
  }

  /** `asked` is what tells two requests of the operation apart. */
  async function writeAndReply(
    write: Write,
    context: RequestContext,
    key: string | undefined,
    asked: Readonly<Record<string, unknown>>,
  ): Promise<Reply> {
    const { apiKey } = context
    const idempotency = apiKey &&
      key !== undefined && {
        scope: apiKey.idempotencyScope,
        key,
        request: requestDigest({ kind: write.kind, ...asked }),
      }
    const [outcome] = (await store.write([idempotency ? { ...write, idempotency } : write])) as [Outcome]
    return replyTo(write, outcome, context)
  }

  function replyTo(write: Write, outcome: Outcome, context: RequestContext): Reply {
    switch (outcome.kind) {
      case 'created':
      case 'updated':
      case 'unchanged':
        context.hasStored = outcome.kind !== 'unchanged'
        return animalReply(write, outcome.animal.id, renderAnimal(outcome.animal), context)
      case 'deleted':
        context.hasStored = true
        return animalReply(write, outcome.id, '', context)
      case 'replayed':
        return animalReply(write, outcome.id, outcome.json, context, ['idempotent-replayed', 'true'])
      case 'key_reused':
        throw idempotencyKeyReused()
      case 'missing':
        throw animalNotFound()
      case 'other_tag':
        throw preconditionFailed()
      case 'other_status':
        throw statusConflict(outcome.status)
      case 'unavailable':
        throw unavailable({ cause: outcome.cause })
    }
  }

  /** Takes the animal as JSON, which is empty after a removal. */
  function animalReply(
    { kind }: Write,
    id: bigint,
    json: string,
    context: RequestContext,
    headers: readonly string[] = [],
  ): Reply {
    context.animalId = id
    if (kind === 'delete') return emptyReply(204, headers)
    const all = ['etag', renderTag(tagOf(json)), ...headers]
    return kind === 'create'
      ? jsonReply(201, json, ['location', `${basePath}/pets/${id}`, ...all])
      : jsonReply(200, json, all)
  }

  return {
    listPets(exchange: Exchange): Reply | Promise<Reply> {
      const revision = store.revision()
      return firstPages.get(exchange.query, revision) ?? loadPage(exchange, revision)
    },

    async createPet(exchange: Exchange, context: RequestContext): Promise<Reply> {
      const { body, key } = await readWrite(exchange, JSON_BODY)
      if (body.length === 0) throw bodyMissing()
      const animal = parseNewAnimal(parseBody(body, text => parseAnimalJson(text, USED_INTEGERS)))
      const { name, categoryId, status } = animal
      return writeAndReply({ kind: 'create', animal }, context, key, { name, categoryId, status })
    },

    async getPet({ request }: Exchange, context: RequestContext): Promise<Reply> {
      if (clock() >= REMOVED_AT.getTime()) throw gone()
      const id = canonicalInteger(context.parameter)
      const json = id === undefined ? undefined : await store.findAnimalAsJson(id)
      if (json === undefined) throw animalNotFound()
      context.animalId = id
      const tag = tagOf(json)
      const headers = ['etag', renderTag(tag)]
      return isUnchanged(request, tag) ? emptyReply(304, headers) : jsonReply(200, json, headers)
    },

    async updatePet(exchange: Exchange, context: RequestContext): Promise<Reply> {
      const { body, key } = await readWrite(exchange, MERGE_PATCH_BODY)
      const { conditions, sent } = parseConditions(exchange.request, exchange.query)
      if (body.length === 0) throw changesMissing()
      const id = canonicalInteger(context.parameter)
      const changes = parseAnimalChanges(
        parseBody(body, text => parseAnimalJson(text)),
        id,
      )
      if (id === undefined) throw animalNotFound()
      const { name, categoryId, status } = changes
      const asked = { id, name, categoryId, status, ...sent }
      return writeAndReply({ kind: 'update', id, changes, conditions }, context, key, asked)
    },

    /** A body is ignored. */
    async deletePet(exchange: Exchange, context: RequestContext): Promise<Reply> {
      const { key } = await readWrite(exchange)
      const { conditions, sent } = parseConditions(exchange.request, exchange.query)
      const id = canonicalInteger(context.parameter)
      if (id === undefined) throw animalNotFound()
      return writeAndReply({ kind: 'delete', id, conditions }, context, key, { id, ...sent })
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
