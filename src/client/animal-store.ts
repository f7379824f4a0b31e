// The client that programs and the catalogue page use. It needs `fetch` and nothing else: no package, nothing of Node.

import type { Animal, NewAnimal, Status } from '../animal.ts'
import { canonicalInteger, INT64_MIN } from '../json.ts'
import { type Answer, type Ask, type Patience, read, send } from './requests.ts'

export type { Animal, NewAnimal, Status } from '../animal.ts'
export { AnimalStoreError, type AnimalStoreErrorCode, type AnimalStoreErrorOptions } from './error.ts'

export interface AnimalStoreOptions {
  /** Where the service is, with its version, such as `https://animals.example/v1`. */
  readonly baseUrl: string
  readonly apiKey: string
  /** How long one attempt may take, in milliseconds; 10,000 where it is not given. */
  readonly timeoutMs?: number
  /** How many times a request is sent again that was lost or met 429, 502, 503 or 504; 5 where it is not given. */
  readonly retries?: number
  /** Told once for each operation that the service says will be removed. */
  readonly onDeprecation?: (deprecation: Deprecation) => void
}

export interface Deprecation {
  readonly operation: string
  readonly since: Date | undefined
  readonly removedAt: Date | undefined
}

export interface ListOptions {
  readonly status?: Status | undefined
  /** How many animals a page has at most: 1 to 100, 20 where it is not given. */
  readonly limit?: number | undefined
  /** The page begins with the first animal whose id is larger. */
  readonly after?: bigint | undefined
}

export interface Page {
  readonly animals: readonly Animal[]
  /** What `listAnimals` takes for the next page; undefined if this is the last one. */
  readonly next: ListOptions | undefined
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export interface CreateOptions extends CallOptions {
  /** Of several creations with one key only the first makes an animal. A new key where it is not given. */
  readonly idempotencyKey?: string | undefined
}

const BASE_URL = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?\/v1\/?$/i

/** What a timer can hold, more than three weeks. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

const VISIBLE = /^[!-~]{1,255}$/

const NEXT_PAGE = /<([^>]*)>\s*;\s*rel="?next"?/i

export class AnimalStore {
  readonly #baseUrl: string
  readonly #apiKey: string
  readonly #patience: Patience
  readonly #onDeprecation: ((deprecation: Deprecation) => void) | undefined
  readonly #reported = new Set<string>()

  constructor({ baseUrl, apiKey, timeoutMs = 10_000, retries = 5, onDeprecation }: AnimalStoreOptions) {
    if (!BASE_URL.test(baseUrl) || !URL.canParse(baseUrl)) {
      throw new TypeError('baseUrl must be an http or https address that ends in /v1')
    }
    this.#baseUrl = baseUrl.replace(/\/$/, '')
    this.#apiKey = visible('apiKey', apiKey)
    this.#patience = { timeoutMs: Math.min(timeoutMs, LONGEST_TIMEOUT_MS), retries }
    this.#onDeprecation = onDeprecation
  }

  async listAnimals(options: ListOptions & CallOptions = {}): Promise<Page> {
    const { status, limit, after, signal } = options
    const query = new URLSearchParams()
    if (status !== undefined) query.set('status', status)
    if (limit !== undefined) query.set('limit', String(limit))
    if (after !== undefined) query.set('after', digitsOf('after', after))
    const search = query.toString()
    const path = search === '' ? '/pets' : `/pets?${search}`
    const answer = await this.#send('listAnimals', { method: 'GET', path, signal })
    return read(answer, value => {
      const next = nextAfter(answer, after)
      return {
        animals: toAnimals(value),
        next: next === undefined ? undefined : { status, limit, after: next },
      }
    })
  }

  /** All animals, page by page as they are asked for. */
  async *animals({ status, signal }: Pick<ListOptions, 'status'> & CallOptions = {}): AsyncGenerator<Animal> {
    let next: ListOptions | undefined = { status, limit: 100 }
    while (next !== undefined) {
      const page: Page = await this.listAnimals({ ...next, signal })
      yield* page.animals
      next = page.next
    }
  }

  /** Resolves once the animal is stored for good. However often it is sent, there is one animal. */
  async createAnimal(animal: NewAnimal, options: CreateOptions = {}): Promise<Animal> {
    const { idempotencyKey = newIdempotencyKey(), signal } = options
    const { name, categoryId, status } = animal
    const members = [`"name":${JSON.stringify(name)}`, `"categoryId":${digitsOf('categoryId', categoryId)}`]
    if (status !== undefined) members.push(`"status":${JSON.stringify(status)}`)
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': visible('idempotencyKey', idempotencyKey),
    }
    const body = `{${members.join(',')}}`
    const ask = { method: 'POST', path: '/pets', headers, body, signal } as const
    return read(await this.#send('createAnimal', ask), toAnimal)
  }

  /** @deprecated The service removes this operation on 5 December 2030. Use `listAnimals`. */
  async getAnimal(id: bigint, { signal }: CallOptions = {}): Promise<Animal> {
    const path = `/pets/${digitsOf('id', id)}`
    return read(await this.#send('getAnimal', { method: 'GET', path, signal }), toAnimal)
  }

  async #send(operation: string, { path, headers = {}, signal, ...ask }: Sent): Promise<Answer> {
    const authorization = `Bearer ${this.#apiKey}`
    const url = this.#baseUrl + path
    const answer = await send({ ...ask, url, headers: { authorization, ...headers } }, this.#patience, signal)
    this.#reportDeprecation(operation, answer)
    return answer
  }

  #reportDeprecation(operation: string, { headers }: Answer): void {
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

interface Sent extends Pick<Ask, 'method' | 'body'>, CallOptions {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A key that nobody else has. Not `randomUUID`, which browsers have on secure pages only. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

/** A header that holds anything else could not be sent, and would look like a network that is down. */
function visible(name: string, value: string): string {
  if (typeof value !== 'string' || !VISIBLE.test(value)) {
    throw new TypeError(`${name} must be 1 to 255 visible ASCII characters, without spaces`)
  }
  return value
}

/** A number would have lost digits before anybody could notice. */
function digitsOf(name: string, value: bigint): string {
  if (typeof value !== 'bigint') throw new TypeError(`${name} must be a bigint, such as 7n`)
  return value.toString()
}

function toAnimals(value: unknown): Animal[] {
  if (!Array.isArray(value)) throw new TypeError('a list of animals was expected')
  return value.map(toAnimal)
}

function toAnimal(value: unknown): Animal {
  const { id, name, categoryId, status } = value as Record<string, unknown>
  if (typeof id !== 'bigint' || typeof name !== 'string' || typeof categoryId !== 'bigint') {
    throw new TypeError('an animal was expected')
  }
  if (status === undefined) return { id, name, categoryId }
  if (typeof status !== 'string') throw new TypeError('a status was expected')
  return { id, name, categoryId, status: status as Status }
}

/** Throws unless it leads on: whoever walks through all pages would else never end. */
function nextAfter({ headers }: Answer, after = INT64_MIN): bigint | undefined {
  const target = NEXT_PAGE.exec(headers.get('link') ?? '')?.[1]
  if (target === undefined) return undefined
  const next = canonicalInteger(new URLSearchParams(target.split('?')[1]).get('after') ?? '')
  if (next === undefined || next <= after) throw new TypeError('the link to the next page leads nowhere')
  return next
}

function toDate(ms: number): Date | undefined {
  return Number.isNaN(ms) ? undefined : new Date(ms)
}
