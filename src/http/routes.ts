// Which path answers to what.

import type { IncomingMessage } from 'node:http'
import { MethodNotAllowed } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

/** The answer may be there at once. */
export type Handler = (exchange: Exchange) => Reply | Promise<Reply>

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
  const open = resources.filter(isOpen).map(each => ({ start: each.route.replace(PARAMETER, '/'), each }))
  return path => {
    // First, since to look up a path that was never seen before takes longer. No other route begins like an open one.
    for (const { start, each } of open) {
      if (path.startsWith(start) && path.length > start.length && !path.includes('/', start.length))
        return each
    }
    return exact.get(path)
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
