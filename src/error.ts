// The one error that clients see: its codes, the status of each, and its JSON.

export const HTTP_STATUS_OF = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  unavailable: 503,
} as const satisfies Record<string, number>

export type ErrorCode = keyof typeof HTTP_STATUS_OF

const RETRY_AFTER_SECONDS = 1

interface ServiceErrorOptions extends ErrorOptions {
  /** Headers that belong to this error: alternating names and values. */
  readonly headers?: readonly string[]
  /** It is certain that the write that was rejected stored nothing. */
  readonly isNothingStored?: boolean | undefined
}

/** An error that is reported to the client. The message is for the client, the cause is for the log. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly headers: readonly string[]
  readonly isNothingStored: boolean

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    const { headers = [], isNothingStored = false, ...errorOptions } = options
    super(message, errorOptions)
    this.name = 'ServiceError'
    this.code = code
    this.headers = headers
    this.isNothingStored = isNothingStored
  }

  get status(): number {
    return HTTP_STATUS_OF[this.code]
  }
}

/** Renders the JSON error object of the specification. */
export function renderError({ code, message, status }: ServiceError): string {
  return JSON.stringify({ code, message, status })
}

export function invalid(message: string): ServiceError {
  return new ServiceError('invalid_request', message)
}

interface Unavailability {
  /** An error without a cause is expected, and is not logged as a failure. */
  readonly cause?: unknown
  readonly message?: string
  readonly isNothingStored?: boolean | undefined
}

/** A temporary failure. */
export function unavailable({
  cause,
  message = 'The catalogue cannot be reached right now. Try again shortly.',
  isNothingStored = false,
}: Unavailability = {}): ServiceError {
  const headers = ['retry-after', String(RETRY_AFTER_SECONDS)]
  return new ServiceError('unavailable', message, {
    headers,
    isNothingStored,
    ...(cause !== undefined && { cause }),
  })
}

export function isUnavailable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'unavailable'
}
