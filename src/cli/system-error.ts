// Errors of the operating system, in words.

import { getSystemErrorMessage } from 'node:util'

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EISDIR: 'it is a folder',
  ENOENT: 'the file does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTFOUND: 'the host name is unknown',
}

/** Returns the reason without its code. */
export function describeSystemError(error: unknown): string {
  const { code = '', errno, message } = error as NodeJS.ErrnoException
  return REASONS[code] ?? (errno === undefined ? (message ?? String(error)) : getSystemErrorMessage(errno))
}
