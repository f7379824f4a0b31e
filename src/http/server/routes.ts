// Splits a request target into path and query, and finds the resource of the path and the handler of the method.

import type { IncomingMessage } from 'node:http'
import { methodNotAllowed } from './protocol-errors.ts'
import type { Exchange, Reply } from './reply.ts'

const ORIGIN = /^https?:\/\/[^/?#]*/i

export interface Target {
  readonly path: string
  readonly query: string
}

/** A path with malformed percent-encoding becomes one that no route matches. */
export function parseTarget(target: string): Target {
  const relative = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  const queryAt = relative.indexOf('?')
  const path = queryAt === -1 ? relative : relative.slice(0, queryAt)
  const query = queryAt === -1 ? '' : relative.slice(queryAt + 1)
  return { path: decode(path) || '/', query }
}

function decode(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    // No route except `/` ends in a slash.
    return `${path}/`
  }
}

/** `parameter` is the last segment of the path if the route ends in a parameter, otherwise ''. */
export type Handler = (exchange: Exchange, parameter: string) => Reply | Promise<Reply>

export interface Resource {
  /** The path as the documentation writes it. It may end in a parameter, such as `{petId}`. */
  readonly route: string
  readonly get: Handler
  readonly post?: Handler
  /** Headers of every reply to GET and HEAD: alternating names and values. */
  readonly headers?: readonly string[]
}

export interface Match {
  readonly resource: Resource
  readonly parameter: string
}

const PARAMETER = /\{\w+\}$/

/** A parameter matches one segment that is not empty. */
export function createRouter(resources: readonly Resource[]): (path: string) => Match | undefined {
  const exact = new Map<string, Match>()
  const byPrefix = new Map<string, Resource>()
  for (const resource of resources) {
    const { route } = resource
    if (PARAMETER.test(route)) byPrefix.set(route.replace(PARAMETER, ''), resource)
    else exact.set(route, { resource, parameter: '' })
  }

  return path => {
    const match = exact.get(path)
    if (match !== undefined) return match
    const parameterAt = path.lastIndexOf('/') + 1
    const resource = byPrefix.get(path.slice(0, parameterAt))
    if (resource === undefined || parameterAt === path.length) return undefined
    return { resource, parameter: path.slice(parameterAt) }
  }
}

/** HEAD is answered like GET; Node leaves the body out. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

export function handlerFor({ get, post }: Resource, request: IncomingMessage): Handler {
  if (isRead(request)) return get
  if (request.method === 'POST' && post !== undefined) return post
  throw methodNotAllowed(post === undefined ? 'GET, HEAD' : 'GET, HEAD, POST')
}
