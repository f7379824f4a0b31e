// The three operations of the specification.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Animal, parseNewAnimal } from '../animal.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import { canonicalInteger } from '../json.ts'
import type { Outcome, Store } from '../store.ts'
import { readBody } from './body.ts'
import { parseIdempotencyKey } from './idempotency-key.ts'
import { sendJson } from './json-reply.ts'
import { nextPage, parseListQuery } from './list-query.ts'

/** 15 November 2026, as RFC 9745 wants it. */
export const DEPRECATED_SINCE = '@1794700800'
export const REMOVED_AT = new Date('2030-12-05T00:00:00Z')

export const DEPRECATION_HEADERS = {
  deprecation: DEPRECATED_SINCE,
  sunset: REMOVED_AT.toUTCString(),
  link: '</docs#getPet>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
}

export type Operations = ReturnType<typeof operations>

export function operations({ store, clock }: { store: Store; clock: Clock }) {
  return {
    async listPets(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const page = parseListQuery(request.query as URLSearchParams)
      // One more than asked for tells whether another page follows.
      const animals = await store.listAnimals({ ...page, limit: page.limit + 1 })
      const shown = animals.slice(0, page.limit)
      const last = shown.at(-1)
      if (last !== undefined && animals.length > shown.length) {
        reply.header('link', `<${nextPage(page, last.id)}>; rel="next"`)
      }
      return sendJson(reply, 200, `[${shown.map(renderAnimal).join(',')}]`)
    },

    async createPet(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const body = await readBody(request.raw, reply.raw)
      const key = parseIdempotencyKey(request.headers['idempotency-key'] as string | undefined)
      const animal = parseNewAnimal(body.parse())
      const idempotency = key === undefined ? undefined : { scope: request.caller.scope, key }
      const [outcome] = (await store.createAnimals([{ animal, idempotency }])) as [Outcome]
      if (outcome.kind === 'unavailable') {
        throw new ServiceError(
          'unavailable',
          'The animal could not be added right now. Try again shortly.',
          outcome,
        )
      }
      if (outcome.kind === 'key_reused') {
        throw new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for another animal.')
      }
      const { id } = outcome.animal
      request.animalId = id
      if (outcome.kind === 'replayed') reply.header('idempotent-replayed', 'true')
      reply.header('location', `/v1/pets/${id}`)
      return sendJson(reply, 201, renderAnimal(outcome.animal))
    },

    async getPet(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      if (clock() >= REMOVED_AT) {
        throw new ServiceError(
          'gone',
          'This operation was removed on 5 December 2030. Use GET /v1/pets instead.',
        )
      }
      const { petId } = request.params as { petId: string }
      const id = canonicalInteger(petId)
      const animal = id === undefined ? undefined : await store.findAnimal(id)
      if (animal === undefined) throw new ServiceError('not_found', 'There is no animal with this id.')
      request.animalId = animal.id
      return sendJson(reply, 200, renderAnimal(animal))
    },
  }
}

export function renderAnimal({ id, name, categoryId, status }: Animal): string {
  const ending = status === undefined ? '}' : `,"status":"${status}"}`
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${ending}`
}
