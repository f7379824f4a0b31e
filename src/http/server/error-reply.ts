// Turns an error into the reply that reports it: the JSON error object, and the error's own headers.

import { ServiceError } from '../../error.ts'
import { internalError } from './http-errors.ts'
import { jsonReply, type Reply } from './reply.ts'

export function errorReply(error: ServiceError): Reply {
  return jsonReply(error.status, renderError(error), error.headers)
}

export function renderError({ code, message, status }: ServiceError): string {
  return JSON.stringify({ code, message, status })
}

/** An unknown failure is reported without detail, which could reveal something internal. */
export function toServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : internalError(error)
}
