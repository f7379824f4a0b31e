// The one error of the client: what the service refused, or why it could not be asked.

import type { ErrorCode } from '../error.ts'

/** A code of the service, or one of the client's own for what never became an answer of the service. */
export type AnimalStoreErrorCode = ErrorCode | 'network_error' | 'timeout' | 'unexpected_response'

export interface AnimalStoreErrorOptions extends ErrorOptions {
  readonly code: AnimalStoreErrorCode
  readonly status?: number | undefined
  readonly requestId?: string | undefined
}

export class AnimalStoreError extends Error {
  override readonly name = 'AnimalStoreError'
  readonly code: AnimalStoreErrorCode
  /** The HTTP status; undefined where no answer came. */
  readonly status: number | undefined
  /** Finds the request in the log of the service; undefined where no answer came. */
  readonly requestId: string | undefined

  constructor(message: string, { code, status, requestId, ...options }: AnimalStoreErrorOptions) {
    super(message, options)
    this.code = code
    this.status = status
    this.requestId = requestId
  }
}
