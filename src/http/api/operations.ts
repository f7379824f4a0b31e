// The three operations of the specification: listPets, createPet, getPet.

import { parseAnimalJson, parseNewAnimal, renderAnimal } from '../../animal.ts'
import type { Clock } from '../../clock.ts'
import { canonicalInteger } from '../../json.ts'
import type { Outcome, Store } from '../../store.ts'
import { parseBody, readBody } from '../server/body.ts'
import { joinedHeader } from '../server/headers.ts'
import { type Exchange, jsonReply, type Reply } from '../server/reply.ts'
import { animalNotFound, gone, idempotencyKeyReused, notStored, overloaded } from './api-errors.ts'
import { REMOVED_AT } from './deprecation.ts'
import { createPageCache } from './page-cache.ts'
import { pageLinks, parseIdempotencyKey, parseListQuery } from './parameters.ts'

export const ANIMALS_ROUTE = '/v1/pets'
export const ANIMAL_ROUTE = '/v1/pets/{petId}'

export interface OperationOptions {
  readonly store: Store
  readonly clock: Clock
  /** The path that `Location` and `Link` begin with, such as `/v1`. */
  readonly basePath: string
  /** The most reads, and the most creations, that wait for the database. */
  readonly maxWaiting: number
}

export function createOperations({ store, clock, basePath, maxWaiting }: OperationOptions) {
  const firstPages = createPageCache()
  // Two counts: while the disk stalls, creations wait, and reads go on.
  const reads = createAdmission(maxWaiting)
  const creations = createAdmission(maxWaiting)

  async function loadPage(query: string, revision: string | undefined): Promise<Reply> {
    const page = parseListQuery(query)
    const animals = await reads.run(() => store.listAnimalsAsJson(page))
    const links = pageLinks(basePath, page, animals)
    const reply = jsonReply(200, animals.json, links === undefined ? [] : ['link', links])
    if (page.after === undefined && page.before === undefined) firstPages.set(query, revision, reply)
    return reply
  }

  return {
    listPets({ query }: Exchange): Reply | Promise<Reply> {
      const revision = store.revision()
      return firstPages.get(query, revision) ?? loadPage(query, revision)
    },

    async createPet(exchange: Exchange): Promise<Reply> {
      const { request, response, apiKey } = exchange
      creations.check()
      const body = await readBody(request, response)
      const key = parseIdempotencyKey(joinedHeader(request, 'idempotency-key'))
      const animal = parseNewAnimal(parseBody(body, parseAnimalJson))
      const idempotency = apiKey && key !== undefined ? { scope: apiKey.idempotencyScope, key } : undefined
      const created = await creations.run(() => store.createAnimals([{ animal, idempotency }]))
      const [outcome] = created as [Outcome]
      if (outcome.kind === 'unavailable') throw notStored(outcome.cause)
      if (outcome.kind === 'key_reused') throw idempotencyKeyReused()
      const { id } = outcome.animal
      exchange.animalId = id
      const headers = ['location', `${basePath}/pets/${id}`]
      if (outcome.kind === 'replayed') headers.push('idempotent-replayed', 'true')
      return jsonReply(201, renderAnimal(outcome.animal), headers)
    },

    async getPet(exchange: Exchange, petId: string): Promise<Reply> {
      if (clock() >= REMOVED_AT.getTime()) throw gone()
      const id = canonicalInteger(petId)
      const json = id === undefined ? undefined : await reads.run(() => store.findAnimalAsJson(id))
      if (json === undefined) throw animalNotFound()
      exchange.animalId = id
      return jsonReply(200, json)
    },
  }
}

interface Admission {
  /** Throws `unavailable` if too many wait. */
  check(): void
  /** Starts the work, and counts it until it is done. Throws `unavailable` if too many wait. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
}

/**
 * Bounds the requests that wait for the database. Requests beyond the limit are refused at once, so that those already waiting
 * are answered in time (docs/decisions/overload.md).
 */
function createAdmission(limit: number): Admission {
  let waiting = 0

  function check(): void {
    if (waiting >= limit) throw overloaded()
  }

  function leave(): void {
    waiting--
  }

  return {
    check,
    run(work) {
      check()
      const result = work()
      waiting++
      result.then(leave, leave)
      return result
    },
  }
}
