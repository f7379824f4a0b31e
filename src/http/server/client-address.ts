// The IP address of the client: that of its connection, or the one that trusted proxies report in X-Forwarded-For.

import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { headerValues } from './headers.ts'

/** Undefined if the client has already disconnected. */
export type ClientAddress = (socket: Duplex, request?: IncomingMessage) => string | undefined

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
const MAPPED_HEXADECIMAL = /^::ffff:([\da-f]+):([\da-f]+)$/

/** An IPv4 address with a port, or an IPv6 address in brackets with or without one. Some proxies write these. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/

/**
 * Each proxy appends the address that connected to it. A client can write any entries to the left of these. So with N
 * trusted proxies, the client is the N-th entry from the right.
 */
export function createClientAddress(trustedProxies: number): ClientAddress {
  return (socket, request) => {
    const forwarded = trustedProxies > 0 && request && forwardedAddress(request, trustedProxies)
    return forwarded || socketAddress(socket as Socket)
  }
}

function forwardedAddress(request: IncomingMessage, trustedProxies: number): string | undefined {
  const entries = headerValues(request, 'x-forwarded-for')
    .join()
    .split(',')
    .map(entry => entry.trim())
    // An empty element of a list does not count (RFC 9110, section 5.6.1).
    .filter(entry => entry !== '')
  return parseAddress(entries.at(-trustedProxies) ?? '')
}

/** Returns undefined for anything but an IP address, such as `unknown`, so that no other text gets into the log. */
function parseAddress(entry: string): string | undefined {
  const [, v4, v6] = WITH_PORT.exec(entry) ?? []
  const address = v4 ?? v6 ?? entry
  switch (isIP(address)) {
    case 4:
      return address
    case 6:
      return compactIpv6(address)
    default:
      return undefined
  }
}

/** Returns the shortest form. An IPv4 address in the form of IPv6 becomes IPv4. */
function compactIpv6(address: string): string | undefined {
  const url = `http://[${address}]`
  // An address with a zone, such as fe80::1%eth0, means something only to the machine that wrote it.
  if (!URL.canParse(url)) return undefined
  const compact = new URL(url).hostname.slice(1, -1)
  const [, high = '', low = ''] = MAPPED_HEXADECIMAL.exec(compact) ?? []
  if (low === '') return compact
  return [high, low]
    .map(part => Number.parseInt(part, 16))
    .flatMap(part => [part >> 8, part & 255])
    .join('.')
}

function socketAddress({ remoteAddress }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : (MAPPED.exec(remoteAddress)?.[1] ?? remoteAddress)
}
