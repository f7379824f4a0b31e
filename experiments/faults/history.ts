// Checks the history of an experiment: every request with its times and the animals of its answer. Names are unique: only
// a retry with the same Idempotency-Key sends a name again. One client writes an animal, one write after the other, and no state of
// an animal comes back.

import type { Animal, NewAnimal } from '../../src/animal.ts'
import { INT64_MAX, INT64_MIN } from '../../src/int64.ts'
import { renderJson } from '../../src/json.ts'

type Write =
  | { readonly kind: 'create'; readonly sent: NewAnimal; readonly idempotencyKey?: string | undefined }
  /** `sent` is the whole animal after the change. */
  | { readonly kind: 'change'; readonly id: bigint; readonly sent: NewAnimal }
  | { readonly kind: 'remove'; readonly id: bigint }
type Read =
  | { readonly kind: 'list'; readonly limit: number; readonly after?: bigint; readonly before?: bigint }
  | { readonly kind: 'fetch'; readonly id: bigint }
export type Request = Write | Read

export interface Operation {
  readonly request: Request
  /** Before the request was sent, and after the answer was received. All clients use one clock. */
  readonly start: number
  readonly end: number
  /** None after a 404 or a removal. Undefined if there was no answer or another error: a write may be stored then. */
  readonly animals: readonly Animal[] | undefined
}

/** A state of an animal. */
interface State {
  /** When the first request that asked for it was sent. */
  start: number
  /** When the first request that showed it had its answer. */
  shownAt: number
  /** Known from the beginning for a change, otherwise when it was shown. */
  id: bigint | undefined
}

interface Removal {
  start: number
  /** When it was acknowledged, or a read lacked the animal. */
  end: number
}

/**
 * Returns one line for each contradiction:
 *
 * - an animal is missing in a list or fetch that covers its id, and began after another request had shown the animal, and ended before
 *   its removal was sent
 * - an animal is there after its removal was acknowledged, or as it was before a change that another request had shown
 * - an animal, a name or an idempotency key has two ids, or an id has two animals
 * - an animal differs from what was sent, or is there before it was sent
 * - a list is not by ascending id, longer than its limit, or has an animal outside its range
 */
export function findViolations(history: readonly Operation[]): string[] {
  const violations = new Set<string>()
  const names = new Set<string>()
  const states = new Map<string, State>()
  const statesOf = new Map<bigint, Set<State>>()
  const removals = new Map<bigint, Removal>()
  const idsOfKeys = new Map<string, bigint>()
  /** The name with which an animal was created. */
  const createdAs = new Map<bigint, string>()
  const creations = new Set<State>()

  for (const { request, start, end, animals } of history) {
    if (request.kind === 'remove') {
      const removal = removals.get(request.id) ?? { start, end: Number.POSITIVE_INFINITY }
      removal.start = Math.min(removal.start, start)
      if (animals !== undefined) removal.end = Math.min(removal.end, end)
      removals.set(request.id, removal)
    } else if (request.kind === 'create' || request.kind === 'change') {
      const key = keyOf(request.sent)
      const id = request.kind === 'change' ? request.id : undefined
      const state = states.get(key) ?? { start, shownAt: Number.POSITIVE_INFINITY, id }
      state.start = Math.min(state.start, start)
      states.set(key, state)
      names.add(request.sent.name)
      if (request.kind === 'create') creations.add(state)
    }
  }

  function show(animal: Animal, end: number): void {
    const { id, name } = animal
    const state = states.get(keyOf(animal))
    if (state === undefined && names.has(name)) violations.add(`${name} differs from what was sent`)
    if (state === undefined ? !names.has(name) : end < state.start)
      violations.add(`${name} is there before it was sent`)
    const known = state === undefined ? undefined : (state.id ?? id)
    if (known !== undefined && known !== id) violations.add(`the name ${name} has the ids ${known} and ${id}`)
    if (state !== undefined && creations.has(state)) {
      const before = createdAs.get(id) ?? name
      if (before !== name) violations.add(`the id ${id} has the names ${before} and ${name}`)
      createdAs.set(id, before)
    }
    if (state === undefined || known !== id) return
    state.id = id
    state.shownAt = Math.min(state.shownAt, end)
    statesOf.set(id, (statesOf.get(id) ?? new Set()).add(state))
  }

  for (const { request, end, animals = [] } of history) {
    for (const animal of animals) {
      if (request.kind === 'create' || request.kind === 'change') {
        const { sent } = request
        if (keyOf(animal) !== keyOf(sent))
          violations.add(`the ${request.kind} of ${sent.name} was answered with ${renderJson(animal)}`)
      }
      if (request.kind === 'create' && request.idempotencyKey !== undefined) {
        const known = idsOfKeys.get(request.idempotencyKey) ?? animal.id
        idsOfKeys.set(request.idempotencyKey, known)
        if (known !== animal.id)
          violations.add(`the key ${request.idempotencyKey} has the ids ${known} and ${animal.id}`)
      }
      show(animal, end)
    }
  }

  const sorted = BigInt64Array.from(statesOf.keys()).sort()
  const firstShown = Array.from(sorted, id =>
    Math.min(...Array.from(statesOf.get(id) ?? [], ({ shownAt }) => shownAt)),
  )

  for (const { request, start, end, animals } of history) {
    if (!isRead(request) || animals === undefined) continue
    const what = `the ${request.kind} of ${start} ms`
    if (request.kind === 'list' && animals.length > request.limit)
      violations.add(`${what} has ${animals.length} animals, more than ${request.limit}`)
    const [first, last] = rangeOf(request, animals)
    let previous = first - 1n
    for (const { id } of animals) {
      if (id <= previous || id > last) violations.add(`${what} has ${id} out of order or outside its range`)
      previous = id
    }
    const shown = new Set(animals.map(({ id }) => id))
    const afterLast = rankFrom(sorted, last + 1n)
    for (let rank = rankFrom(sorted, first); rank < afterLast; rank++) {
      const id = sorted[rank] as bigint
      const at = firstShown[rank] as number
      if (shown.has(id) || at >= start) continue
      const removal = removals.get(id)
      if (removal !== undefined && removal.start <= end) removal.end = Math.min(removal.end, end)
      else violations.add(`${what} lacks ${id} (${createdAs.get(id)}), shown at ${at} ms`)
    }
  }

  for (const { request, start, animals = [] } of history) {
    if (!isRead(request)) continue
    const what = `the ${request.kind} of ${start} ms`
    for (const animal of animals) {
      const { id } = animal
      const removedAt = removals.get(id)?.end ?? Number.POSITIVE_INFINITY
      if (removedAt < start) violations.add(`${what} has ${id}, removed at ${removedAt} ms`)
      const state = states.get(keyOf(animal))
      const newer = [...(statesOf.get(id) ?? [])].find(
        other => state !== undefined && other.start > state.start && other.shownAt < start,
      )
      if (newer !== undefined)
        violations.add(`${what} has ${id} as it was before the change that was shown at ${newer.shownAt} ms`)
    }
  }
  return [...violations]
}

function isRead(request: Request): request is Read {
  return request.kind === 'list' || request.kind === 'fetch'
}

function keyOf({ name, categoryId, status }: NewAnimal): string {
  return `${name}\n${categoryId}\n${status}`
}

/** The first and the last id that a list or a fetch covers. A full page ends at its last animal. */
function rangeOf(request: Read, animals: readonly Animal[]): readonly [bigint, bigint] {
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
