// Which path answers to what.

import type { IncomingMessage } from 'node:http'
import { MethodNotAllowed } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

export type Handler = (exchange: Exchange) => Promise<Reply>

export interface Resource {
  /** The path as the documentation writes it; it may end in a parameter, such as `{petId}`. */
  readonly route: string
  readonly get: Handler
  readonly post?: Handler
  /** Sent with every answer to GET. */
  readonly headers?: readonly string[]
}

const PARAMETER = /\/\{\w+\}$/

/** A parameter stands for one more step that is not empty. */
export function routesOf(resources: readonly Resource[]): (path: string) => Resource | undefined {
  const isOpen = ({ route }: Resource) => PARAMETER.test(route)
  const exact = new Map(resources.filter(each => !isOpen(each)).map(each => [each.route, each]))
  const open = new Map(resources.filter(isOpen).map(each => [each.route.replace(PARAMETER, ''), each]))
  return path => {
    const found = exact.get(path)
    if (found !== undefined || path.endsWith('/')) return found
    return open.get(path.slice(0, path.lastIndexOf('/')))
  }
}

/** HEAD is GET whose body is not sent. */
export function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

export function handlerFor({ get, post }: Resource, request: IncomingMessage): Handler {
  if (isRead(request)) return get
  if (request.method === 'POST' && post !== undefined) return post
  throw new MethodNotAllowed(post === undefined ? 'GET, HEAD' : 'GET, HEAD, POST')
}
