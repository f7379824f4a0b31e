// Errors of the operating system, in words.

import { getSystemErrorMessage } from 'node:util'
import { ServiceError } from '../error.ts'
import { CommandFailed } from './command.ts'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EAI_AGAIN: 'the host name cannot be looked up',
  ECONNREFUSED: 'nothing listens at that address',
  ECONNRESET: 'the connection was closed by the other side',
  EEXIST: 'it already exists',
  EHOSTUNREACH: 'the host cannot be reached',
  EISDIR: 'it is a folder',
  ENOENT: 'the file does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'the host name is unknown',
  EROFS: 'the file system is read-only',
  ETIMEDOUT: 'no answer in time',
}

/** Returns the reason without its code. */
export function describeSystemError(error: unknown): string {
  // A name that has several addresses fails with one error for each.
  if (error instanceof AggregateError && error.errors.length > 0) return describeSystemError(error.errors[0])
  // Some functions of Node.js report the number of the error without its sign.
  const { code = '', errno, message } = error as NodeJS.ErrnoException
  return (
    REASONS[code] ??
    (errno === undefined ? (message ?? String(error)) : getSystemErrorMessage(-Math.abs(errno)))
  )
}

/** Returns why a command failed. A ServiceError has its reason as its cause, because clients must not see it. */
export function reasonOf(error: unknown): string {
  return describeSystemError(error instanceof ServiceError ? (error.cause ?? error) : error)
}

/** Says why a file could not be written. */
export function cannotWrite(file: string, error: unknown): CommandFailed {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  const reason = isMissing ? 'the folder does not exist' : describeSystemError(error)
  return new CommandFailed(`Cannot write ${file}: ${reason}.`, { cause: error })
}
