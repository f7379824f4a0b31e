// The one error a client can be given, and the closed table of its codes.

export const STATUS_OF = {
  invalid_request: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  unavailable: 503,
} as const satisfies Record<string, number>

export type ErrorCode = keyof typeof STATUS_OF

/** A refusal or failure that a client is told of. Its message is for the client; its cause is for the log. */
export class ServiceError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ServiceError'
    this.code = code
  }

  get status(): number {
    return STATUS_OF[this.code]
  }
}

export function invalid(message: string): ServiceError {
  return new ServiceError('invalid_request', message)
}

export function unavailable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The catalogue cannot be reached right now. Try again shortly.', {
    cause,
  })
}
