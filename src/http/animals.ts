// The three operations of the specification.

import { parseNewAnimal, renderAnimal } from '../animal.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../error.ts'
import { canonicalInteger } from '../json.ts'
import type { Outcome, Store } from '../store.ts'
import { readBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { joinedHeader } from './headers.ts'
import { parseIdempotencyKey } from './idempotency-key.ts'
import { nextPage, parseListQuery } from './list-query.ts'
import { pageCache } from './page-cache.ts'
import { jsonReply, type Reply } from './reply.ts'

/** 15 November 2026, as RFC 9745 wants it. */
export const DEPRECATED_SINCE = '@1794700800'
export const REMOVED_AT = new Date('2030-12-05T00:00:00Z')

export const DEPRECATION_HEADERS = [
  ['deprecation', DEPRECATED_SINCE],
  ['sunset', REMOVED_AT.toUTCString()],
  ['link', '</docs#getPet>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"'],
].flat()

export function operations({ store, clock }: { store: Store; clock: Clock }) {
  const firstPages = pageCache()

  async function makePage(query: string, revision: string | undefined): Promise<Reply> {
    const page = parseListQuery(query)
    const { json, next } = await store.renderPage(page)
    const headers = next === undefined ? [] : ['link', `<${nextPage(page, next)}>; rel="next"`]
    const made = jsonReply(200, json, headers)
    if (page.after === undefined) firstPages.keep(query, revision, made)
    return made
  }

  return {
    listPets({ query }: Exchange): Reply | Promise<Reply> {
      const revision = store.revision()
      return firstPages.find(query, revision) ?? makePage(query, revision)
    },

    async createPet(exchange: Exchange): Promise<Reply> {
      const { request, response, caller } = exchange
      const body = await readBody(request, response)
      const key = parseIdempotencyKey(joinedHeader(request, 'idempotency-key'))
      const animal = parseNewAnimal(body.parse())
      const idempotency = caller && key !== undefined ? { scope: caller.scope, key } : undefined
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
      exchange.animalId = id
      const headers = ['location', `/v1/pets/${id}`]
      if (outcome.kind === 'replayed') headers.push('idempotent-replayed', 'true')
      return jsonReply(201, renderAnimal(outcome.animal), headers)
    },

    async getPet(exchange: Exchange): Promise<Reply> {
      if (clock() >= REMOVED_AT.getTime()) {
        throw new ServiceError(
          'gone',
          'This operation was removed on 5 December 2030. Use GET /v1/pets instead.',
        )
      }
      const id = canonicalInteger(exchange.path.slice(exchange.path.lastIndexOf('/') + 1))
      const json = id === undefined ? undefined : await store.renderAnimal(id)
      if (json === undefined) throw new ServiceError('not_found', 'There is no animal with this id.')
      exchange.animalId = id
      return jsonReply(200, json)
    },
  }
}
