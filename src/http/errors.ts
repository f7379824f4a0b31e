// The one error object: how a refusal or a failure becomes a response.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../error.ts'
import { Unauthorized } from './authentication.ts'
import { sendJson } from './json-reply.ts'

export const RETRY_AFTER_SECONDS = 1

/** A path that exists, asked with a method it does not have. */
export class MethodNotAllowed extends ServiceError {
  readonly allow: string

  constructor(allow: string) {
    super('method_not_allowed', `This path answers to ${allow} only.`)
    this.allow = allow
  }
}

export function renderError({ code, message, status }: ServiceError): string {
  return JSON.stringify({ code, message, status })
}

/** Unknown failures are logged whole and reported blank. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal =
    error instanceof ServiceError
      ? error
      : new ServiceError(
          'internal_error',
          'Something went wrong on our side. The request id helps to find it.',
        )
  // A refusal without a cause, such as while stopping, is no failure.
  const isFailure = refusal.status >= 500 && (refusal !== error || refusal.cause !== undefined)
  if (isFailure) request.log.error({ err: error }, refusal.code)
  if (refusal instanceof Unauthorized) reply.header('www-authenticate', refusal.challenge)
  if (refusal instanceof MethodNotAllowed) reply.header('allow', refusal.allow)
  if (refusal.code === 'unavailable') reply.header('retry-after', RETRY_AFTER_SECONDS)
  return sendJson(reply, refusal.status, renderError(refusal))
}

export function notFound(): never {
  throw new ServiceError('not_found', 'There is nothing at this path.')
}
