// What is asked of every contender, and what a right answer is.

/** One thing to ask for, in no contender's dialect yet. */
export type Operation =
  | { readonly kind: 'page'; readonly after: number; readonly status?: string }
  | { readonly kind: 'animal'; readonly id: number }
  | { readonly kind: 'creation' }

export interface Workload {
  readonly name: string
  /** A rejected key is asked with; else a valid one. */
  readonly isRejected?: boolean
  /** Whether it reads from the catalogue, and nothing else. */
  readonly isReading?: boolean
  /** Draws one of many operations on a catalogue of this size; `random` gives a number from 0 to 1. */
  readonly draw: (size: number, random: () => number) => Operation
}

export interface Answer {
  readonly status: number
  readonly body: string
}

const STATUSES = [undefined, 'available', 'pending', 'sold'] as const
const PAGE = 20

/** The animals of the catalogue: their ids are 1 to its size, and a quarter of them has no status. */
export function animalAt(id: number) {
  return { id, name: `Animal number ${id}`, categoryId: id % 50, status: STATUSES[id % 4] }
}

export const NEW_ANIMAL = { name: 'Bella the cat', categoryId: 7, status: 'available' }

const somewhere = (size: number, random: () => number) => Math.floor(random() * (size - 8 * PAGE))

export const WORKLOADS: readonly Workload[] = [
  { name: 'first page', isReading: true, draw: () => ({ kind: 'page', after: 0 }) },
  {
    name: 'random page',
    isReading: true,
    draw: (size, random) => ({ kind: 'page', after: 1 + somewhere(size, random) }),
  },
  {
    name: 'random page, filtered',
    isReading: true,
    draw: (size, random) => ({ kind: 'page', after: 1 + somewhere(size, random), status: 'sold' }),
  },
  {
    name: 'one by id',
    isReading: true,
    draw: (size, random) => ({ kind: 'animal', id: 1 + somewhere(size, random) }),
  },
  { name: 'rejected key', isRejected: true, draw: () => ({ kind: 'page', after: 0 }) },
  {
    name: 'nine reads, one write',
    draw: (size, random) =>
      random() < 0.1 ? { kind: 'creation' } : { kind: 'page', after: 1 + somewhere(size, random) },
  },
  { name: 'creation', draw: () => ({ kind: 'creation' }) },
]

/** Throws if the answer to the operation is not the right one. */
export function check(operation: Operation, isRejected: boolean, { status, body }: Answer): void {
  const fail = (expected: string): never => {
    throw new Error(`a wrong answer: ${expected} was expected, not ${status} ${body.slice(0, 200)}`)
  }
  if (isRejected) {
    if (status !== 401) fail('401')
    return
  }
  if (status !== 200 && status !== 201) fail('200 or 201')
  const value = JSON.parse(body)
  switch (operation.kind) {
    case 'page': {
      if (!Array.isArray(value) || value.length !== PAGE) fail(`a page of ${PAGE}`)
      const wanted = STATUSES.indexOf(operation.status as (typeof STATUSES)[number])
      let id = operation.after
      for (const animal of value) {
        do id++
        while (operation.status !== undefined && id % 4 !== wanted)
        if (!isSame(animal, animalAt(id))) fail(`animal ${id} in its place`)
      }
      return
    }
    case 'animal':
      if (!isSame(value, animalAt(operation.id))) fail(`animal ${operation.id}`)
      return
    case 'creation':
      if (!isSame(value, { id: Number(value.id), ...NEW_ANIMAL })) fail('the animal that was sent')
  }
}

interface Plain {
  readonly id: number
  readonly name: string
  readonly categoryId: number
  readonly status?: string | undefined
}

/** Some contenders send ids as strings, or an absent status as null. */
function isSame(animal: Readonly<Record<string, unknown>>, { id, name, categoryId, status }: Plain): boolean {
  return (
    Number(animal.id) === id &&
    animal.name === name &&
    animal.categoryId === categoryId &&
    (animal.status ?? undefined) === status
  )
}
