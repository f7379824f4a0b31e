// The client of the Animal Store API, for programs and for the catalogue page. It needs `fetch` and nothing else.

import {
  checkCount,
  checkFunction,
  checkHeaderValue,
  checkNames,
  checkSignal,
  checkTags,
  checkText,
  checkTimeout,
  toDigits,
} from './arguments.ts'
import { INT64_MAX, INT64_MIN, parseInt64, toJson } from './json.ts'
import {
  type ApiRequest,
  type ApiResponse,
  type ClientSettings,
  type Fetch,
  readResponse,
  requestIdOf,
  send,
} from './requests.ts'
import { VERSION } from './version.ts'

export { AnimalStoreError, type AnimalStoreErrorCode, type AnimalStoreErrorOptions } from './error.ts'
export { parseJson, toJson } from './json.ts'

/** Whether an animal can be sold. */
export type Status = 'available' | 'pending' | 'sold'

/** A status as a condition names it: `none` means that the animal has no status. */
export type StatusName = Status | 'none'

/** An animal to add. */
export interface NewAnimal {
  /** Not blank, and at most 1,000 characters. */
  readonly name: string
  /** Any 64-bit integer. */
  readonly categoryId: bigint
  /** Stays unset if it is undefined. */
  readonly status?: Status | undefined
}

/** An animal as the service stored it when it answered. */
export interface Animal extends NewAnimal {
  /** Chosen by the service. Ids ascend, may have gaps, and are never given again. */
  readonly id: bigint
  /** Absent if the animal has no status. */
  readonly status?: Status
}

/** An animal with its entity tag. */
export interface TaggedAnimal extends Animal {
  /**
   * Stands for this state of the animal, in quotes; the `ifMatch` of a change or a removal. Not enumerable: a copy of the
   * animal and its JSON do not have it. Undefined if the response had no `ETag`.
   */
  readonly etag: string | undefined
}

/** What to change of an animal. A member that is absent or undefined stays as it is. */
export interface AnimalChanges {
  /** Not blank, and at most 1,000 characters. */
  readonly name?: string | undefined
  /** Any 64-bit integer. */
  readonly categoryId?: bigint | undefined
  /** `null` takes the status away. */
  readonly status?: Status | null | undefined
  /** Must be the id of the animal that is changed. So an animal can be sent back whole. */
  readonly id?: bigint | undefined
}

/** Where the service is, and how to send requests to it. */
export interface AnimalStoreOptions {
  /** The base URL of the API, such as `https://animals.example/v1`. */
  readonly baseUrl: string
  /** Sent with every request as `Authorization: Bearer <API key>`. */
  readonly apiKey: string
  /** Time-out for one attempt, in milliseconds. The default is 10,000. At most 24 days, also for `Infinity`. */
  readonly timeoutMs?: number | undefined
  /**
   * How many times a request is retried after a lost connection, a time-out, or status 408, 429, 502, 503 or 504.
   * The default is 5.
   */
  readonly retries?: number | undefined
  /** Sent with every request. Must not contain `authorization`, `content-type`, `if-match` or `idempotency-key`. */
  readonly headers?: RequestInit['headers'] | undefined
  /**
   * Called instead of the global `fetch`, for example to trace requests or to use a proxy. `init.headers` is a plain
   * object. `init.signal` ends an attempt that takes too long.
   */
  readonly fetch?: Fetch | undefined
  /** Called once for each deprecated operation that is used. */
  readonly onDeprecation?: ((deprecation: Deprecation) => void) | undefined
}

/** The announcement that an operation will be removed. A date is undefined if the service does not give it. */
export interface Deprecation {
  /** The method of the client, such as `getAnimal`. */
  readonly operation: string
  /** When the operation was deprecated. */
  readonly since: Date | undefined
  /** From when on the service rejects the operation with the code `gone`. */
  readonly removedAt: Date | undefined
}

/** Which animals a page has. All filters combine. */
export interface ListOptions {
  /**
   * Only animals whose name contains this text, whatever its case and accents: `zoe` finds `Zoë`. No character is a
   * wildcard. Not blank, and at most 100 characters.
   */
  readonly name?: string | undefined
  /** Only animals of this category. */
  readonly categoryId?: bigint | undefined
  /** Only animals with this status. */
  readonly status?: Status | undefined
  /** The most animals in a page: 1 to 100. The default is 20. */
  readonly limit?: number | undefined
  /** The first animals with a larger id. */
  readonly after?: bigint | undefined
  /** The last animals with a smaller id. `MAX_ID` gives the last page. Not together with `after`. */
  readonly before?: bigint | undefined
}

/**
 * A part of the list of animals. A page with `name` or `categoryId` may have fewer animals than `limit`, or none, although
 * `next` or `previous` is set: the service examines at most 10,000 animals for one page.
 */
export interface Page {
  /** By ascending id. */
  readonly animals: readonly Animal[]
  /** The options for the previous page, or undefined if there is none. */
  readonly previous: ListOptions | undefined
  /** The options for the next page, or undefined if there is none. */
  readonly next: ListOptions | undefined
}

/** Which animals `animals` yields, and in which order. */
export interface AnimalsOptions extends CallOptions, Pick<ListOptions, 'name' | 'categoryId' | 'status'> {
  /** By descending id instead of ascending. */
  readonly newestFirst?: boolean | undefined
}

/** How many animals there are with each status. */
export interface Inventory {
  /** Animals with the status `available`. */
  readonly available: bigint
  /** Animals with the status `pending`. */
  readonly pending: bigint
  /** Animals with the status `sold`. */
  readonly sold: bigint
  /** Animals without a status. */
  readonly none: bigint
}

/** What every method accepts. */
export interface CallOptions {
  /** Cancels the call and its retries. The promise is rejected with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** For this call, instead of the one of the client. */
  readonly timeoutMs?: number | undefined
  /** For this call, instead of those of the client. */
  readonly retries?: number | undefined
  /** Called when the call has succeeded, before its promise is resolved. `animals` calls it once for each page. */
  readonly onResponse?: ((response: ResponseDetails) => void) | undefined
}

/** What a response says besides its result. */
export interface ResponseDetails {
  /** The request's id in the log of the service. */
  readonly requestId: string | undefined
  /** Whether this is the answer to an earlier request with the same idempotency key, and this one has written nothing. */
  readonly isReplayed: boolean
}

/** What `animals` returns: for `for await`, or for an array. */
export interface Animals extends AsyncGenerator<Animal> {
  /**
   * Resolves with the animals, or with the first `limit` of them, and fetches no more than that. Animals can be read once:
   * afterwards there are none.
   */
  toArray(options?: { readonly limit?: number | undefined }): Promise<Animal[]>
}

/** What `createAnimal` accepts. */
export interface CreateOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters. Of the calls with the same key within 24 hours, only one writes, and the others
   * get its answer. The default is a new key for each call.
   */
  readonly idempotencyKey?: string | undefined
}

/** What `updateAnimal` and `deleteAnimal` accept. Leave out a condition that is not meant: undefined is rejected. */
export interface ConditionalOptions extends CreateOptions {
  /** Only if the animal has this `etag`, or one of a list of them. `*` is any. Otherwise the code is `precondition_failed`. */
  readonly ifMatch?: string
  /** Only if the animal has this status. Otherwise the code is `conflict`. */
  readonly ifStatus?: StatusName
}

/** The largest id that an animal can have. `listAnimals({ before: MAX_ID })` returns the last page. */
export const MAX_ID = INT64_MAX

const BASE_URL = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?\/v1\/?$/i

/** Those that the client itself sends. */
const OWN_HEADERS = ['authorization', 'content-type', 'idempotency-key', 'if-match']

const CLIENT_OPTIONS = ['baseUrl', 'apiKey', 'timeoutMs', 'retries', 'headers', 'fetch', 'onDeprecation']
const CALL_OPTIONS = ['signal', 'timeoutMs', 'retries', 'onResponse']
const FILTERS = ['name', 'categoryId', 'status']
const LIST_OPTIONS = [...FILTERS, 'limit', 'after', 'before', ...CALL_OPTIONS]
const ANIMALS_OPTIONS = [...FILTERS, 'newestFirst', ...CALL_OPTIONS]
const CREATE_OPTIONS = ['idempotencyKey', ...CALL_OPTIONS]
const CONDITIONAL_OPTIONS = ['ifMatch', 'ifStatus', ...CREATE_OPTIONS]
const ANIMAL_MEMBERS = ['name', 'categoryId', 'status', 'id']

const LARGEST_PAGE = 100

const LINKS = {
  prev: { target: /<([^>]*)>\s*;\s*rel="?prev"?/i, parameter: 'before' },
  next: { target: /<([^>]*)>\s*;\s*rel="?next"?/i, parameter: 'after' },
}

/**
 * The client of one service. Every method rejects with an `AnimalStoreError` if the request fails, and with a `TypeError`
 * if an argument cannot be sent.
 */
export class AnimalStore {
  readonly #settings: ClientSettings
  readonly #onDeprecation: ((deprecation: Deprecation) => void) | undefined
  readonly #reported = new Set<string>()

  /** Throws a `TypeError` for an invalid option. Sends nothing. */
  constructor(options: AnimalStoreOptions) {
    checkNames('the options of AnimalStore', options ?? {}, CLIENT_OPTIONS)
    const { baseUrl, apiKey, timeoutMs = 10_000, retries = 5, headers, fetch, onDeprecation } = options ?? {}
    const missing = Object.entries({ baseUrl, apiKey }).filter(([, value]) => value === undefined)
    if (missing.length > 0)
      throw new TypeError(`AnimalStore needs ${missing.map(([name]) => name).join(' and ')}`)
    if (!BASE_URL.test(baseUrl) || !URL.canParse(baseUrl)) {
      throw new TypeError('baseUrl must be an http or https URL that ends in /v1')
    }
    this.#settings = {
      baseUrl: baseUrl.replace(/\/$/, ''),
      apiKey: checkHeaderValue('apiKey', apiKey),
      headers: { ...userAgent(), ...parseHeaders(headers) },
      fetch: checkFunction('fetch', fetch),
      timeoutMs: checkTimeout(timeoutMs),
      retries: checkCount('retries', retries, 0),
    }
    this.#onDeprecation = checkFunction('onDeprecation', onDeprecation)
  }

  /** Resolves with one page, and the options for the pages before and after it. */
  async listAnimals(options: ListOptions & CallOptions = {}): Promise<Page> {
    checkNames('the options of listAnimals', options, LIST_OPTIONS)
    const { name, categoryId, status, limit, after, before } = options
    const query = new URLSearchParams()
    if (name !== undefined) query.set('name', checkText('name', name))
    if (categoryId !== undefined) query.set('categoryId', toDigits('categoryId', categoryId))
    if (status !== undefined) query.set('status', status)
    if (limit !== undefined) query.set('limit', String(limit))
    if (after !== undefined) query.set('after', toDigits('after', after))
    if (before !== undefined) query.set('before', toDigits('before', before))
    const search = query.toString()
    const path = search === '' ? '/pets' : `/pets?${search}`
    return this.#call('listAnimals', { method: 'GET', path }, options, (value, { headers }) => {
      const links = headers.get('link') ?? ''
      const previous = parseLink(links, 'prev', before)
      const next = parseLink(links, 'next', after)
      const given = Object.entries({ name, categoryId, status, limit }).filter(
        ([, value]) => value !== undefined,
      )
      const filters: ListOptions = Object.fromEntries(given)
      return {
        animals: toAnimals(value),
        previous: previous === undefined ? undefined : { ...filters, before: previous },
        next: next === undefined ? undefined : { ...filters, after: next },
      }
    })
  }

  /**
   * Yields the animals that match the filters: none of them twice, and all that nobody changes or removes meanwhile. Pages
   * are fetched as they are needed.
   */
  animals(options: AnimalsOptions = {}): Animals {
    /** How many more animals are wanted. */
    let wanted = Infinity
    const generator = this.#animals(options, () => Math.min(wanted, LARGEST_PAGE))
    return Object.assign(generator, {
      async toArray(toArrayOptions: { readonly limit?: number | undefined } = {}) {
        checkNames('the options of toArray', toArrayOptions, ['limit'])
        const { limit = Infinity } = toArrayOptions
        if (limit !== Infinity) checkCount('limit', limit, 1)
        wanted = limit
        const found: Animal[] = []
        for await (const animal of generator) {
          found.push(animal)
          wanted--
          if (wanted === 0) break
        }
        return found
      },
    })
  }

  async *#animals(options: AnimalsOptions, pageLimit: () => number): AsyncGenerator<Animal> {
    checkNames('the options of animals', options, ANIMALS_OPTIONS)
    const { newestFirst = false, name, categoryId, status, ...call } = options
    const first = { name, categoryId, status }
    let next: ListOptions | undefined = newestFirst ? { ...first, before: MAX_ID } : first
    // A page of a search may be empty although more animals match.
    while (next !== undefined) {
      const page: Page = await this.listAnimals({ ...next, limit: pageLimit(), ...call })
      yield* newestFirst ? [...page.animals].reverse() : page.animals
      next = newestFirst ? page.previous : page.next
    }
  }

  /** Resolves with the number of animals with each status, and of those without one. */
  async inventory(options: CallOptions = {}): Promise<Inventory> {
    checkNames('the options of inventory', options, CALL_OPTIONS)
    return this.#call('inventory', { method: 'GET', path: '/store/inventory' }, options, toInventory)
  }

  /**
   * Resolves once the animal is stored durably. Retries never add it twice. An `id` is ignored, so that a copy of an animal
   * can be added.
   */
  async createAnimal(animal: NewAnimal, options: CreateOptions = {}): Promise<TaggedAnimal> {
    checkNames('an animal', animal, ANIMAL_MEMBERS)
    checkNames('the options of createAnimal', options, CREATE_OPTIONS)
    const { name, categoryId } = animal
    if (name === undefined || categoryId === undefined)
      throw new TypeError('an animal must have a name and a categoryId')
    const headers = { 'content-type': 'application/json' }
    const request: ApiRequest = { method: 'POST', path: '/pets', headers, body: renderMembers(animal) }
    return this.#write('createAnimal', request, options, toTaggedAnimal)
  }

  /**
   * Resolves with the whole animal once the change is stored durably. Rejects with the code `not_found` if no animal has this
   * id: it never adds one. Without changes, it resolves with the animal as it is.
   */
  async updateAnimal(
    id: bigint,
    changes: AnimalChanges,
    options: ConditionalOptions = {},
  ): Promise<TaggedAnimal> {
    checkNames('the changes of an animal', changes, ANIMAL_MEMBERS)
    checkNames('the options of updateAnimal', options, CONDITIONAL_OPTIONS)
    const path = toPath(id)
    if (changes.id !== undefined && changes.id !== id)
      throw new TypeError('the id of an animal cannot be changed')
    const headers = { 'content-type': 'application/merge-patch+json' }
    const request: ApiRequest = { method: 'PATCH', path, headers, body: renderMembers(changes) }
    return this.#write('updateAnimal', request, options, toTaggedAnimal)
  }

  /**
   * Resolves once the animal is removed for good. Rejects with the code `not_found` if no animal has this id, so also if it
   * was removed before.
   */
  async deleteAnimal(id: bigint, options: ConditionalOptions = {}): Promise<void> {
    checkNames('the options of deleteAnimal', options, CONDITIONAL_OPTIONS)
    return this.#write('deleteAnimal', { method: 'DELETE', path: toPath(id) }, options, toNothing)
  }

  /** Resolves with the animal, or with undefined if no animal has this id. */
  async findAnimal(id: bigint, options: CallOptions = {}): Promise<Animal | undefined> {
    checkNames('the options of findAnimal', options, CALL_OPTIONS)
    // Like the service, which answers 404 to such an id.
    if (parseInt64(toDigits('id', id)) === undefined) return undefined
    // No id precedes the smallest one. Without `after`, the list begins with it.
    const after = id === INT64_MIN ? undefined : id - 1n
    const { animals } = await this.listAnimals({ ...options, after, limit: 1 })
    return animals.find(animal => animal.id === id)
  }

  /**
   * Resolves with the animal. Rejects with the code `not_found` if no animal has this id.
   *
   * @deprecated The service removes this operation on 5 December 2030. Use `findAnimal`.
   */
  async getAnimal(id: bigint, options: CallOptions = {}): Promise<TaggedAnimal> {
    checkNames('the options of getAnimal', options, CALL_OPTIONS)
    return this.#call('getAnimal', { method: 'GET', path: toPath(id) }, options, toTaggedAnimal)
  }

  /** Adds the conditions, and the idempotency key that makes retries safe. */
  async #write<Value>(
    operation: string,
    request: ApiRequest,
    options: ConditionalOptions,
    parse: (value: unknown, response: ApiResponse) => Value,
  ): Promise<Value> {
    // A change of nothing writes nothing, so a retry needs no key.
    const { idempotencyKey = request.body === '{}' ? undefined : newIdempotencyKey() } = options
    // Undefined is rejected: `ifStatus: animal.status` must not lose its condition when the animal has no status.
    const ifMatch = 'ifMatch' in options && { 'if-match': checkTags('ifMatch', options.ifMatch) }
    const ifStatus =
      'ifStatus' in options && new URLSearchParams({ ifStatus: toStatusName(options.ifStatus) })
    const write: ApiRequest = {
      ...request,
      path: ifStatus ? `${request.path}?${ifStatus}` : request.path,
      headers: { ...request.headers, ...ifMatch },
      ...(idempotencyKey !== undefined && {
        idempotencyKey: checkHeaderValue('idempotencyKey', idempotencyKey),
      }),
    }
    return this.#call(operation, write, options, parse)
  }

  async #call<Value>(
    operation: string,
    request: ApiRequest,
    { signal, timeoutMs, retries, onResponse }: CallOptions,
    parse: (value: unknown, response: ApiResponse) => Value,
  ): Promise<Value> {
    checkFunction('onResponse', onResponse)
    const settings = {
      ...this.#settings,
      ...(timeoutMs !== undefined && { timeoutMs: checkTimeout(timeoutMs) }),
      ...(retries !== undefined && { retries: checkCount('retries', retries, 0) }),
    }
    const response = await send(settings, request, checkSignal(signal))
    this.#reportDeprecation(operation, response)
    const result = readResponse(request, response, value => parse(value, response))
    onResponse?.({
      requestId: requestIdOf(response),
      isReplayed: response.headers.get('idempotent-replayed') === 'true',
    })
    return result
  }

  #reportDeprecation(operation: string, { headers }: ApiResponse): void {
    const since = headers.get('deprecation')
    if (since === null || this.#reported.has(operation)) return
    this.#reported.add(operation)
    this.#onDeprecation?.({
      operation,
      since: toDate(Number(since.replace(/^@/, '')) * 1_000),
      removedAt: toDate(Date.parse(headers.get('sunset') ?? '')),
    })
  }
}

/** Returns a random idempotency key. */
export function newIdempotencyKey(): string {
  // Browsers provide `crypto.randomUUID` only in secure contexts.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

/** Browsers send a name of their own, and some would ask the service whether a page may send another one. */
function userAgent(): Record<string, string> {
  const isBrowser = globalThis.navigator?.userAgent?.startsWith('Mozilla/') === true
  return isBrowser ? {} : { 'user-agent': `animal-store-client/${VERSION}` }
}

/** Throws for the same names and values as `fetch`, which would report them as a network error. */
function parseHeaders(init: RequestInit['headers']): Record<string, string> {
  const headers = new Headers(init)
  const own = OWN_HEADERS.find(name => headers.has(name))
  if (own !== undefined) throw new TypeError(`headers must not contain ${own}, which the client sets itself`)
  return Object.fromEntries(headers)
}

/**
 * Returns the `before` of the previous page or the `after` of the next one, or undefined if there is no such page.
 * `bound` is the `before` or `after` of this page. Throws if the link does not lead beyond it, because `animals` would
 * never end.
 */
function parseLink(
  header: string,
  relation: keyof typeof LINKS,
  bound: bigint | undefined,
): bigint | undefined {
  const { target, parameter } = LINKS[relation]
  const url = target.exec(header)?.[1]
  if (url === undefined) return undefined
  const id = parseInt64(new URLSearchParams(url.split('?')[1]).get(parameter) ?? '')
  const leadsOn = id !== undefined && (bound === undefined || (relation === 'prev' ? id < bound : id > bound))
  if (!leadsOn) throw new TypeError(`the link with rel="${relation}" leads to no other page`)
  return id
}

function toPath(id: bigint): string {
  return `/pets/${toDigits('id', id)}`
}

/** Which names there are is for the service to say. */
function toStatusName(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('ifStatus must be a status, or none for no status')
  return value
}

/** Renders the members of an animal that are set, without its id. */
function renderMembers({ name, categoryId, status }: AnimalChanges): string {
  if (name !== undefined && typeof name !== 'string') throw new TypeError('name must be a string')
  if (categoryId !== undefined) toDigits('categoryId', categoryId)
  // `toJson` writes what JSON cannot express, such as NaN, as null, which would take the status away.
  if (status !== undefined && status !== null && typeof status !== 'string')
    throw new TypeError('status must be a string, or null to take it away')
  return toJson({ name, categoryId, status })
}

function toAnimals(value: unknown): Animal[] {
  if (!Array.isArray(value)) throw new TypeError('expected an array of animals')
  return value.map(toAnimal)
}

function toAnimal(value: unknown): Animal {
  const { id, name, categoryId, status } = value as Record<string, unknown>
  if (typeof id !== 'bigint' || typeof name !== 'string' || typeof categoryId !== 'bigint') {
    throw new TypeError('expected an animal')
  }
  if (status === undefined) return { id, name, categoryId }
  if (typeof status !== 'string') throw new TypeError('expected a status')
  return { id, name, categoryId, status: status as Status }
}

function toTaggedAnimal(value: unknown, { headers }: ApiResponse): TaggedAnimal {
  const etag = { value: headers.get('etag') ?? undefined }
  return Object.defineProperty(toAnimal(value), 'etag', etag) as TaggedAnimal
}

/** The response to a removal has no body. */
function toNothing(value: unknown): void {
  if (value !== undefined) throw new TypeError('expected no body')
}

function toInventory(value: unknown): Inventory {
  const { available, pending, sold, none } = value as Record<string, unknown>
  if (
    typeof available !== 'bigint' ||
    typeof pending !== 'bigint' ||
    typeof sold !== 'bigint' ||
    typeof none !== 'bigint'
  ) {
    throw new TypeError('expected an inventory')
  }
  return { available, pending, sold, none }
}

function toDate(ms: number): Date | undefined {
  return Number.isNaN(ms) ? undefined : new Date(ms)
}
