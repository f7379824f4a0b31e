// The errors of the operations, one function for each. Those of HTTP itself are in ../server/protocol-errors.ts. The OpenAPI document
// takes its examples from here.

import type { Status } from '../../animal.ts'
import { invalid, ServiceError, unavailable } from '../../error.ts'
import { REMOVAL_DATE } from './operations.ts'

export const animalNotFound = () => new ServiceError('not_found', 'There is no animal with this id.')

export const gone = () =>
  new ServiceError('gone', `This operation was removed on ${REMOVAL_DATE}. Use GET /v1/pets instead.`)

export const idempotencyKeyReused = () =>
  new ServiceError('idempotency_key_reused', 'This Idempotency-Key was used for another request.')

export const preconditionFailed = () =>
  new ServiceError(
    'precondition_failed',
    'The ETag of the animal is not one that If-Match or If-None-Match allows: it may have changed. Nothing was done.',
  )

export const statusConflict = (status: Status | undefined) =>
  new ServiceError(
    'conflict',
    `The animal ${status === undefined ? 'has no status' : `is ${status}`}, which is not the ifStatus of the request. Nothing was done.`,
  )

export const bodyMissing = () => invalid('The body is missing: send a JSON object with name and categoryId.')

export const changesMissing = () =>
  invalid('The body is missing: send a JSON object with the members to change.')

export const overloaded = () => unavailable({ message: 'The service has too much to do. Try again shortly.' })
