// The routes: which resource a path names, and which handler of it a method.

import type { IncomingMessage } from 'node:http'
import { methodNotAllowed } from './protocol-errors.ts'
import type { Exchange, Reply } from './reply.ts'
import { isRead } from './request.ts'

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

export function handlerFor({ get, post }: Resource, request: IncomingMessage): Handler {
  if (isRead(request)) return get
  if (request.method === 'POST' && post !== undefined) return post
  throw methodNotAllowed(post === undefined ? 'GET, HEAD' : 'GET, HEAD, POST')
}
