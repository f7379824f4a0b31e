// What is reported about each request when it has been answered, for the metrics.

import { ANIMAL_ROUTE, ANIMALS_ROUTE } from './api/operations.ts'
import type { Exchange } from './server/reply.ts'
import { isRead } from './server/routes.ts'

export type Operation = 'listPets' | 'createPet' | 'getPet' | 'other'

/** `keyId` is the id of the API key, if the request had a valid one. */
export type RequestObserver = (
  operation: Operation,
  status: number,
  durationMs: number,
  keyId: string | undefined,
) => void

/** There is no exchange if the HTTP parser rejected the request. */
export function operationOf(exchange: Exchange | undefined): Operation {
  if (exchange === undefined) return 'other'
  const { route, request } = exchange
  if (route === ANIMALS_ROUTE) {
    if (isRead(request)) return 'listPets'
    return request.method === 'POST' ? 'createPet' : 'other'
  }
  return route === ANIMAL_ROUTE && isRead(request) ? 'getPet' : 'other'
}
