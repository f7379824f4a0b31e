// The one error that the client throws for a request that failed.

/**
 * The codes of the service, and three of the client's own for requests that got no valid response. Any other string is
 * allowed too, because a later version of the service may have new codes.
 */
export type AnimalStoreErrorCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conflict'
  | 'gone'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'headers_too_large'
  | 'internal_error'
  | 'unavailable'
  | 'network_error'
  | 'timeout'
  | 'unexpected_response'
  | (string & {})

/** What an `AnimalStoreError` is made of. */
export type AnimalStoreErrorOptions = ErrorOptions &
  Pick<AnimalStoreError, 'code'> &
  Partial<Pick<AnimalStoreError, 'status' | 'requestId' | 'retryAfterSeconds' | 'idempotencyKey'>>

/** A request that failed. The message is for people, and its wording may change. */
export class AnimalStoreError extends Error {
  /** Always `AnimalStoreError`. */
  override readonly name = 'AnimalStoreError'
  /** What went wrong, for programs. docs/errors.md in the repository explains the codes of the service. */
  readonly code: AnimalStoreErrorCode
  /** The HTTP status, or undefined if there was no response. */
  readonly status: number | undefined
  /** The request's id in the log of the service, or undefined if the service sent no response. */
  readonly requestId: string | undefined
  /** How long to wait before a retry, or undefined if the response does not say. */
  readonly retryAfterSeconds: number | undefined
  /**
   * The idempotency key of a write, or undefined for a read. The same call with this key is safe: if the write has been
   * carried out nevertheless, it is not carried out again.
   */
  readonly idempotencyKey: string | undefined

  /** For the client itself, and for tests. */
  constructor(message: string, options: AnimalStoreErrorOptions) {
    const { code, status, requestId, retryAfterSeconds, idempotencyKey, ...errorOptions } = options
    super(message, errorOptions)
    this.code = code
    this.status = status
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
    this.idempotencyKey = idempotencyKey
  }
}
