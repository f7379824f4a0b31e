// Why requests fail, in words that do not assume any knowledge of the API.

import { AnimalStoreError } from '../../../client/src/animal-store.ts'

export function isServerUnavailable({ status }: AnimalStoreError): boolean {
  return status === undefined || status >= 500
}

export function isTemporary(error: AnimalStoreError): boolean {
  return isServerUnavailable(error) || error.status === 429
}

export function describeOutage({ status }: AnimalStoreError): string {
  if (status === undefined) return 'The server cannot be reached.'
  if (status === 429) return 'This key has sent too many requests.'
  return 'The server cannot answer right now.'
}

/** For the place where somebody waits for the answer. It may stand there when the server is back. */
export function describeFailure(error: unknown): string {
  if (error instanceof DOMException) return 'The request was interrupted.'
  if (!(error instanceof AnimalStoreError)) return `Something went wrong on this page: ${error}`
  if (error.status === undefined) return 'The server could not be reached.'
  if (isServerUnavailable(error)) return 'The server could not answer.'
  if (isTemporary(error)) return describeOutage(error)
  return `${error.message}${error.requestId === undefined ? '' : ` (request ${error.requestId})`}`
}

/** Nobody knows whether a write without an answer is stored. An answer such as 404 or 429 says that it is not. */
export function mayBeStored(error: unknown): boolean {
  return !(error instanceof AnimalStoreError) || isServerUnavailable(error)
}

/** For the place where somebody waits for a write. `done` says what it does, such as "saved". */
export function describeWriteFailure(error: unknown, done: string): string {
  const failure = describeFailure(error)
  if (!mayBeStored(error)) return `Not ${done}. ${failure}`
  return `${failure} The animal may be ${done} nevertheless. Try again: nothing is done twice.`
}
