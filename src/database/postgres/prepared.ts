// Prepared statements: the server parses and plans a statement once per connection. The name of a statement is a hash of
// its text, so that clients that share a connection through a pooler cannot use one name for different texts.

import { hash } from 'node:crypto'
import type { QueryConfig } from 'pg'
import type { Warn } from '../../store.ts'
import { isOutdatedPlan, isPreparedStatementRefused } from './errors.ts'

export type Send<Result> = (config: QueryConfig) => Promise<Result>

/** Sends a statement by name as long as the server and the poolers in front of it support that. */
export type SendPrepared = <Result>(config: QueryConfig, send: Send<Result>) => Promise<Result>

export function createPreparedStatements(warn: Warn): SendPrepared {
  /** Statements are constants, so there are only a few. */
  const names = new Map<string, string>()
  let isSupported = true

  function nameOf(text: string): string {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = `animal_store_${hash('sha256', text).slice(0, 32)}`
    names.set(text, name)
    return name
  }

  return async (config, send) => {
    if (!isSupported) return send(config)
    try {
      return await send({ ...config, name: nameOf(config.text) })
    } catch (error) {
      // In both cases nothing ran, so that even a creation can be sent again.
      if (isOutdatedPlan(error)) return send(config)
      if (!isPreparedStatementRefused(error)) throw error
      if (isSupported) {
        warn(
          'Prepared statements do not work, probably because of a connection pooler. Going on without them.',
        )
      }
      isSupported = false
      return send(config)
    }
  }
}
