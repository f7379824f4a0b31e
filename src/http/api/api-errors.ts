// The errors of the API except those of invalid input, one function for each. The OpenAPI document takes its examples from
// here.

import { ServiceError, unavailable } from '../../error.ts'
import { REMOVAL_DATE } from './deprecation.ts'

/** The message is the same for all causes, so that an attacker cannot find out which keys exist. */
export const unauthorized = (hadToken: boolean) =>
  new ServiceError(
    'unauthorized',
    'A valid API key is required: send it as "Authorization: Bearer <API_KEY>".',
    {
      headers: [
        'www-authenticate',
        `Bearer realm="animal-store"${hadToken ? ', error="invalid_token"' : ''}`,
      ],
    },
  )

export const animalNotFound = () => new ServiceError('not_found', 'There is no animal with this id.')

export const gone = () =>
  new ServiceError('gone', `This operation was removed on ${REMOVAL_DATE}. Use GET /v1/pets instead.`)

export const idempotencyKeyReused = () =>
  new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for another animal.')

export const rateLimited = (retryAfterSeconds: number) =>
  new ServiceError('rate_limited', 'This API key has sent too many requests. Try again later.', {
    headers: ['retry-after', String(retryAfterSeconds)],
  })

export const notStored = (cause: unknown) =>
  unavailable(cause, 'The animal could not be added right now. Try again shortly.')

export const overloaded = () => unavailable(undefined, 'The service has too much to do. Try again shortly.')
