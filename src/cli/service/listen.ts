// Makes a server listen, and says in words why it cannot.

import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net'
import { describeSystemError } from '../../system-error.ts'
import { CommandFailed } from '../command.ts'

const FIRST_PORT_FOR_ALL = 1024

/** Throws a CommandFailed if a server cannot listen here. */
export async function checkPort(host: string, port: number): Promise<void> {
  const server = createServer()
  await listen(server, host, port)
  await new Promise(resolve => server.close(resolve))
}

/**
 * Returns the URL that it listens on. Throws a CommandFailed if the address cannot be used. `flag` is the one that sets the
 * port.
 */
export async function listen(server: Server, host: string, port: number, flag = '--port'): Promise<string> {
  try {
    await once(server.listen({ host, port }), 'listening')
  } catch (error) {
    const reason = describeSystemError(error)
    const { code } = error as NodeJS.ErrnoException
    const isForbidden = code === 'EACCES' && port < FIRST_PORT_FOR_ALL
    const rule = isForbidden ? ` Ports below ${FIRST_PORT_FOR_ALL} need a privilege.` : ''
    const hint = isForbidden || code === 'EADDRINUSE' ? `${rule} Choose another one with ${flag}.` : ''
    throw new CommandFailed(`Cannot listen on ${host}, port ${port}: ${reason}.${hint}`, { cause: error })
  }
  const { port: actualPort } = server.address() as AddressInfo
  return `http://${reachableHost(host)}:${actualPort}`
}

/** Returns a host that a program on this machine can connect to. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return isIPv6(host) ? `[${host}]` : host
}
