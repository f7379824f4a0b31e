// Checks the history of an experiment: every request with its times and the animals of its answer. Names are unique: only
// a retry with the same Idempotency-Key sends a name again.

import type { Animal, NewAnimal } from '../../src/animal.ts'
import { INT64_MAX, INT64_MIN } from '../../src/json.ts'

export type Request =
  | { readonly kind: 'create'; readonly sent: NewAnimal; readonly idempotencyKey?: string | undefined }
  | { readonly kind: 'list'; readonly limit: number; readonly after?: bigint; readonly before?: bigint }
  | { readonly kind: 'fetch'; readonly id: bigint }

export interface Operation {
  readonly request: Request
  /** Before the request was sent, and after the answer was received. All clients use one clock. */
  readonly start: number
  readonly end: number
  /** None after a 404. Undefined if there was no answer or another error: the animal may be stored then. */
  readonly animals: readonly Animal[] | undefined
}

/**
 * Returns one line for each contradiction:
 *
 * - an animal is missing in a list or fetch that covers its id, and began after another request had shown the animal
 * - an animal, a name or an idempotency key has two ids, or an id has two animals
 * - an animal differs from the one that was sent, or is there before it was sent
 * - a list is not by ascending id, longer than its limit, or has an animal outside its range
 */
export function findViolations(history: readonly Operation[]): string[] {
  const violations = new Set<string>()
  const sent = new Map<string, { readonly animal: NewAnimal; start: number }>()
  const ids = { name: new Map<string, bigint>(), key: new Map<string, bigint>() }
  const names = new Map<bigint, string>()
  /** When the first request that showed the animal had its answer. */
  const shownAt = new Map<bigint, number>()

  function checkId(what: keyof typeof ids, of: string, id: bigint): void {
    const known = ids[what].get(of) ?? id
    ids[what].set(of, known)
    if (known !== id) violations.add(`the ${what} ${of} has the ids ${known} and ${id}`)
  }

  for (const { request, start } of history) {
    if (request.kind !== 'create') continue
    const { name } = request.sent
    const earlier = sent.get(name) ?? { animal: request.sent, start }
    sent.set(name, { ...earlier, start: Math.min(earlier.start, start) })
  }
  for (const { request, end, animals = [] } of history) {
    if (request.kind === 'create') {
      for (const { id, name } of animals) {
        if (request.idempotencyKey !== undefined) checkId('key', request.idempotencyKey, id)
        if (name !== request.sent.name)
          violations.add(`the creation of ${request.sent.name} was answered with ${name}`)
      }
    }
    for (const animal of animals) {
      const { id, name } = animal
      checkId('name', name, id)
      const known = names.get(id) ?? name
      names.set(id, known)
      if (known !== name) violations.add(`the id ${id} has the names ${known} and ${name}`)
      const creation = sent.get(name)
      if (creation === undefined || end < creation.start)
        violations.add(`${name} is there before it was sent`)
      else if (animal.categoryId !== creation.animal.categoryId || animal.status !== creation.animal.status)
        violations.add(`${name} differs from what was sent`)
      shownAt.set(id, Math.min(shownAt.get(id) ?? end, end))
    }
  }

  const sorted = BigInt64Array.from(shownAt.keys()).sort()
  const firstBefore = searchTimes(Array.from(sorted, id => shownAt.get(id) as number))
  const ranks = new Map(Array.from(sorted, (id, rank) => [id, rank]))
  for (const { request, start, animals } of history) {
    if (request.kind === 'create' || animals === undefined) continue
    const what = `the ${request.kind} of ${start} ms`
    if (request.kind === 'list' && animals.length > request.limit)
      violations.add(`${what} has ${animals.length} animals, more than ${request.limit}`)
    const [first, last] = rangeOf(request, animals)
    const end = rankFrom(sorted, last + 1n)
    let next = rankFrom(sorted, first)
    let missing: number | undefined
    for (const { id } of animals) {
      const rank = ranks.get(id) as number
      if (rank < next || rank >= end) violations.add(`${what} has ${id} out of order or outside its range`)
      missing ??= firstBefore(start, next, rank)
      next = Math.max(next, rank + 1)
    }
    missing ??= firstBefore(start, next, end)
    if (missing === undefined) continue
    const id = sorted[missing] as bigint
    violations.add(`${what} lacks ${id} (${names.get(id)}), shown at ${shownAt.get(id)} ms`)
  }
  return [...violations]
}

/** The first and the last id that a list or a fetch covers. A full page ends at its last animal. */
function rangeOf(
  request: Exclude<Request, { kind: 'create' }>,
  animals: readonly Animal[],
): readonly [bigint, bigint] {
  if (request.kind === 'fetch') return [request.id, request.id]
  const { limit, after, before } = request
  const full = animals.length >= limit ? animals : []
  if (before !== undefined) return [full[0]?.id ?? INT64_MIN, before - 1n]
  return [after === undefined ? INT64_MIN : after + 1n, full.at(-1)?.id ?? INT64_MAX]
}

/** The position of the first id that is not below the given one. */
function rankFrom(sorted: BigInt64Array, id: bigint): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as bigint) < id) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns a function that finds the first position in [from, to) with a time before the given one, in a tree of minima. */
function searchTimes(times: readonly number[]) {
  const size = 2 ** Math.ceil(Math.log2(times.length + 1))
  const minima = new Float64Array(2 * size).fill(Number.POSITIVE_INFINITY)
  minima.set(times, size)
  for (let node = size - 1; node > 0; node--)
    minima[node] = Math.min(minima[2 * node] as number, minima[2 * node + 1] as number)

  return function find(
    time: number,
    from: number,
    to: number,
    { node, low, width } = { node: 1, low: 0, width: size },
  ): number | undefined {
    if (from >= to || to <= low || low + width <= from || (minima[node] as number) >= time) return undefined
    if (width === 1) return low
    const half = width / 2
    return (
      find(time, from, to, { node: 2 * node, low, width: half }) ??
      find(time, from, to, { node: 2 * node + 1, low: low + half, width: half })
    )
  }
}
