// The workloads, and the check that a response is right.

import { STATUSES, type Status } from '../src/animal.ts'
import { MAX_EXAMINED } from '../src/page.ts'

export const API_KEY = 'bench-key-0123456789-abcdefghij'
export const WRONG_KEY = 'bench-key-that-was-not-created'

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly body?: string
}

/** What a request asks for. */
export type Operation =
  | { readonly kind: 'page'; readonly after: number; readonly status?: Status }
  | { readonly kind: 'search'; readonly after: number }
  | { readonly kind: 'animal'; readonly id: number }
  | { readonly kind: 'inventory' }
  | { readonly kind: 'creation' }
  | { readonly kind: 'change'; readonly id: number; readonly status: Status }

export interface Workload {
  readonly name: string
  /** The requests carry a key that does not exist, and must be rejected. */
  readonly usesWrongKey?: boolean
  /** Measured by `--quick` too, and shown in the chart. */
  readonly isMain?: boolean
  /** Instead of CONNECTIONS. */
  readonly connections?: number
  /** Draws one operation on a catalogue of this size. `random` returns a number from 0 to 1. */
  readonly draw: (size: number, random: () => number) => Operation
}

/** The statuses that animals have in turn. */
const STATUS_CYCLE = [undefined, ...STATUSES] as const
const PAGE_SIZE = 20

/** The catalogue has the ids from 1 to its size. A quarter of its animals have no status. */
export function animalAt(id: number) {
  return {
    id,
    name: `Animal number ${id}`,
    categoryId: id % 50,
    status: STATUS_CYCLE[id % STATUS_CYCLE.length],
  }
}

const NEW_ANIMAL = { name: 'Bella the cat', categoryId: 7, status: 'available' }

/**
 * This service rejects a search that has waited for others for a second, and 64 of them may take as long where the machine is
 * slow.
 */
export const SEARCH_CONNECTIONS = 8

/** No name contains it. The upper-case letter must be folded. */
const SEARCHED_NAME = 'Unicorn'

/** Before the last pages, so that a full page follows, even with a filter. */
function randomPosition(size: number, random: () => number): number {
  return Math.floor(random() * (size - 8 * PAGE_SIZE))
}

export const WORKLOADS: readonly Workload[] = [
  { name: 'first page', isMain: true, draw: () => ({ kind: 'page', after: 0 }) },
  {
    name: 'random page',
    isMain: true,
    draw: (size, random) => ({ kind: 'page', after: 1 + randomPosition(size, random) }),
  },
  {
    name: 'random page, filtered',
    draw: (size, random) => ({ kind: 'page', after: 1 + randomPosition(size, random), status: 'sold' }),
  },
  {
    name: 'one by id',
    isMain: true,
    draw: (size, random) => ({ kind: 'animal', id: 1 + randomPosition(size, random) }),
  },
  // The checks of these two need a catalogue without creations, so they precede those that create.
  {
    name: 'search without a match',
    isMain: true,
    connections: SEARCH_CONNECTIONS,
    // Examines as many animals as a search may, or all of a small catalogue.
    draw: (size, random) => ({
      kind: 'search',
      after: Math.floor(random() * Math.max(0, size - MAX_EXAMINED)),
    }),
  },
  { name: 'inventory', isMain: true, draw: () => ({ kind: 'inventory' }) },
  { name: 'rejected key', usesWrongKey: true, draw: () => ({ kind: 'page', after: 0 }) },
  {
    name: 'nine reads, one write',
    draw: (size, random) =>
      random() < 0.1 ? { kind: 'creation' } : { kind: 'page', after: 1 + randomPosition(size, random) },
  },
  { name: 'creation', isMain: true, draw: () => ({ kind: 'creation' }) },
  // The checks of pages and of single animals need their first statuses, so this comes last.
  {
    name: 'change',
    isMain: true,
    draw: (size, random) => ({ kind: 'change', id: 1 + randomPosition(size, random), status: STATUSES[0] }),
  },
]

/**
 * Returns what is sent in turn for an operation. A change to the status that an animal has already would change nothing, so each one
 * sets another status than the one before.
 */
export function turnsOf(operation: Operation): readonly Operation[] {
  if (operation.kind !== 'change') return [operation]
  return STATUSES.map(status => ({ ...operation, status }))
}

export function requestFor(operation: Operation): HttpRequest {
  switch (operation.kind) {
    case 'page': {
      const filter = operation.status === undefined ? '' : `status=${operation.status}&`
      const query = operation.after === 0 ? '' : `?${filter}after=${operation.after}`
      return { method: 'GET', path: `/v1/pets${query}` }
    }
    case 'search': {
      const start = operation.after === 0 ? '' : `&after=${operation.after}`
      return { method: 'GET', path: `/v1/pets?name=${SEARCHED_NAME}${start}` }
    }
    case 'inventory':
      return { method: 'GET', path: '/v1/store/inventory' }
    case 'animal':
      return { method: 'GET', path: `/v1/pets/${operation.id}` }
    case 'creation':
      return { method: 'POST', path: '/v1/pets', body: JSON.stringify(NEW_ANIMAL) }
    case 'change': {
      const body = JSON.stringify({ status: operation.status })
      return { method: 'PATCH', path: `/v1/pets/${operation.id}`, body }
    }
  }
}

/** Throws if the response to the operation on a catalogue of this size is wrong. */
export function checkResponse(
  operation: Operation,
  size: number,
  usesWrongKey: boolean,
  { status, headers, body }: HttpResponse,
): void {
  const fail = (expected: string): never => {
    throw new Error(`wrong response: expected ${expected}, received ${status} ${body.slice(0, 200)}`)
  }
  if (usesWrongKey) {
    if (status !== 401) fail('401')
    return
  }
  if (status !== 200 && status !== 201) fail('200 or 201')
  const value = JSON.parse(body)
  switch (operation.kind) {
    case 'page': {
      if (!Array.isArray(value) || value.length !== PAGE_SIZE) fail(`a page of ${PAGE_SIZE} animals`)
      for (const [index, animal] of expectedPage(operation.after, operation.status).entries()) {
        if (!isSame(value[index], animal)) fail(`animal ${animal.id} at position ${index}`)
      }
      const hasPrevious = STATUS_CYCLE.some((_, index) => isOnPage(operation.after - index, operation.status))
      if ((headers.link ?? '').includes('rel="prev"') !== hasPrevious)
        fail(`${hasPrevious ? 'a' : 'no'} link to the previous page`)
      return
    }
    case 'search': {
      // Go ends JSON with a line break.
      if (body.trimEnd() !== '[]') fail('an empty page')
      const links = searchLinks(operation.after, size)
      if (headers.link !== links) fail(`the link ${links} instead of ${headers.link}`)
      return
    }
    case 'inventory': {
      const inventory = JSON.stringify(inventoryOf(size))
      if (body.trimEnd() !== inventory) fail(inventory)
      return
    }
    case 'animal':
      if (!isSame(value, animalAt(operation.id))) fail(`animal ${operation.id}`)
      return
    case 'creation':
      if (!isSame(value, { id: value.id, ...NEW_ANIMAL })) fail('the animal of the request')
      return
    case 'change':
      if (!isSame(value, { ...animalAt(operation.id), status: operation.status }))
        fail(`animal ${operation.id} with the status ${operation.status}`)
  }
}

interface PlainAnimal {
  readonly id: number
  readonly name: string
  readonly categoryId: number
  readonly status?: string | undefined
}

function expectedPage(after: number, status: Status | undefined): PlainAnimal[] {
  // A filter selects one animal out of every STATUS_CYCLE.length.
  const candidates = Array.from({ length: PAGE_SIZE * STATUS_CYCLE.length }, (_, index) =>
    animalAt(after + 1 + index),
  )
  return candidates.filter(({ id }) => isOnPage(id, status)).slice(0, PAGE_SIZE)
}

/** Returns the `Link` header of a search without a match. */
function searchLinks(after: number, size: number): string | undefined {
  const url = `/v1/pets?limit=${PAGE_SIZE}&name=${SEARCHED_NAME}`
  const last = after + MAX_EXAMINED
  const links = [
    ...(after > 0 ? [`<${url}&before=${after + 1}>; rel="prev"`] : []),
    ...(last < size ? [`<${url}&after=${last}>; rel="next"`] : []),
  ]
  return links.length === 0 ? undefined : links.join(', ')
}

function inventoryOf(size: number) {
  // The statuses take turns, beginning with the second one.
  const [none, available, pending, sold] = STATUS_CYCLE.map((_, index) => {
    const first = index === 0 ? STATUS_CYCLE.length : index
    return Math.floor((size - first) / STATUS_CYCLE.length) + 1
  })
  return { available, pending, sold, none }
}

/** Whether there is an animal with this id, and the filter selects it. */
function isOnPage(id: number, status: Status | undefined): boolean {
  return id > 0 && (status === undefined || animalAt(id).status === status)
}

/** Fastify sends a missing status as null. */
function isSame(
  animal: Readonly<Record<string, unknown>>,
  { id, name, categoryId, status }: PlainAnimal,
): boolean {
  return (
    animal.id === id &&
    animal.name === name &&
    animal.categoryId === categoryId &&
    (animal.status ?? undefined) === status
  )
}
