// The one error object: how a refusal or a failure becomes an answer.

import { ServiceError } from '../error.ts'
import { Unauthorized } from './authentication.ts'
import { jsonReply, type Reply } from './reply.ts'

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

/** Says nothing of a failure that is not one of ours: it may tell of what is inside. */
export function asRefusal(error: unknown): ServiceError {
  return error instanceof ServiceError
    ? error
    : new ServiceError(
        'internal_error',
        'Something went wrong on our side. The request id helps to find it.',
        { cause: error },
      )
}

/** Refusals of the commonest kinds are made once, and so are their answers. */
const replies = new WeakMap<ServiceError, Reply>()

export function errorReply(refusal: ServiceError): Reply {
  const known = replies.get(refusal)
  if (known !== undefined) return known
  const made = makeReply(refusal)
  replies.set(refusal, made)
  return made
}

function makeReply(refusal: ServiceError): Reply {
  const headers: string[] = []
  if (refusal instanceof Unauthorized) headers.push('www-authenticate', refusal.challenge)
  if (refusal instanceof MethodNotAllowed) headers.push('allow', refusal.allow)
  if (refusal.code === 'unavailable') headers.push('retry-after', String(RETRY_AFTER_SECONDS))
  return jsonReply(refusal.status, renderError(refusal), headers)
}
