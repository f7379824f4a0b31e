// The IP address of the client: that of its connection, or the one that trusted proxies report in X-Forwarded-For.

import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { headerValues } from './request.ts'

/** Undefined if the client has already disconnected. */
export type ClientAddress = (socket: Duplex, request?: IncomingMessage) => string | undefined

/** An IPv4 address in the form of IPv6: the client of a socket that accepts both. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** An IPv4 address with a port, or an IPv6 address in brackets with or without one. Some proxies write these. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/

/**
 * Each proxy appends the address that connected to it. A client can write any entries to the left of these. So with N
 * trusted proxies, the client is the N-th entry from the right.
 */
export function createClientAddress(trustedProxies: number): ClientAddress {
  return (socket, request) => {
    const forwarded = trustedProxies > 0 && request && forwardedAddress(request, trustedProxies)
    const address = forwarded || (socket as Socket).remoteAddress
    return address && (MAPPED.exec(address)?.[1] ?? address)
  }
}

/** Returns undefined for anything but an IP address, such as `unknown`, so that no other text gets into the log. */
function forwardedAddress(request: IncomingMessage, trustedProxies: number): string | undefined {
  const entries = headerValues(request, 'x-forwarded-for')
    .join()
    .split(',')
    .map(entry => entry.trim())
    // An empty element of a list does not count (RFC 9110, section 5.6.1).
    .filter(entry => entry !== '')
  const entry = entries.at(-trustedProxies) ?? ''
  const [, v4, v6] = WITH_PORT.exec(entry) ?? []
  const address = v4 ?? v6 ?? entry
  // A zone, such as that of fe80::1%eth0, may be any text.
  return isIP(address) === 0 || address.includes('%') ? undefined : address
}
