// The PATH for tests that run curl: the machine's own curl if it has one, otherwise our stand-in (curl.ts).

import { accessSync, constants, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Scope, temporaryFolder } from './service.ts'

const STAND_IN = fileURLToPath(new URL('./curl.ts', import.meta.url))

export function hasCurl(): boolean {
  return (process.env.PATH ?? '').split(delimiter).some(hasCurlIn)
}

export function pathWithCurl(t: Scope): string {
  return hasCurl() ? (process.env.PATH ?? '') : pathWithStandIn(t)
}

/** A PATH in which `curl` is our stand-in, even if the machine has curl. */
export function pathWithStandIn(t: Scope): string {
  const folder = temporaryFolder(t)
  const script = `#!/bin/sh\nexec '${process.execPath}' '${STAND_IN}' "$@"\n`
  writeFileSync(join(folder, 'curl'), script, { mode: 0o755 })
  return `${folder}${delimiter}${process.env.PATH ?? ''}`
}

function hasCurlIn(folder: string): boolean {
  try {
    accessSync(join(folder, 'curl'), constants.X_OK)
    return true
  } catch {
    return false
  }
}
