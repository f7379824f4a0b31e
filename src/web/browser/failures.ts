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

/** For the place where somebody waits for the answer. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof AnimalStoreError)) return `Something went wrong on this page: ${error}`
  if (error.status === undefined || isTemporary(error)) return describeOutage(error)
  return `${error.message}${error.requestId === undefined ? '' : ` (request ${error.requestId})`}`
}
