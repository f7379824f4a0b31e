// Errors of the operating system in words, without their codes.

import { isIPv6 } from 'node:net'
import { getSystemErrorMessage } from 'node:util'

interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

/** Errors of the network. All of them may pass. */
const NETWORK_ERRORS: Readonly<Record<string, (error: SystemError) => string>> = {
  EAI_AGAIN: ({ hostname }) => `the host name ${hostname} cannot be looked up`,
  ECONNREFUSED: error => `nothing listens at ${addressOf(error)}`,
  ECONNRESET: () => 'the other side closed the connection',
  EHOSTDOWN: error => `${addressOf(error)} cannot be reached`,
  EHOSTUNREACH: error => `${addressOf(error)} cannot be reached`,
  ENETUNREACH: error => `${addressOf(error)} cannot be reached`,
  // The name of a container resolves only once that container runs.
  ENOTFOUND: ({ hostname }) => `the host name ${hostname} is unknown`,
  EPIPE: () => 'the other side closed it',
  ETIMEDOUT: error => `${addressOf(error)} does not respond`,
}

const OTHER_ERRORS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EEXIST: 'it already exists',
  EISDIR: 'it is a folder',
  ENOENT: 'the file does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  EROFS: 'the file system is read-only',
}

export function isNetworkError({ code = '' }: NodeJS.ErrnoException): boolean {
  return code in NETWORK_ERRORS
}

/** Returns the reason without its code. */
export function describeSystemError(error: unknown): string {
  // A name that has several addresses fails with one error for each.
  if (error instanceof AggregateError && error.errors.length > 0) return describeSystemError(error.errors[0])
  // Some functions of Node.js report the number of the error without its sign.
  const { code = '', errno, message } = error as NodeJS.ErrnoException
  return (
    NETWORK_ERRORS[code]?.(error as SystemError) ??
    OTHER_ERRORS[code] ??
    (errno === undefined ? (message ?? String(error)) : getSystemErrorMessage(-Math.abs(errno)))
  )
}

function addressOf({ address = 'the server', port }: SystemError): string {
  if (port === undefined) return address
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
}
