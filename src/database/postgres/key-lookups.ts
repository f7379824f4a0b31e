// Looks up API keys by their digests, in batches. Anyone can make up strings that look like keys, so digests that were
// never found have a queue of their own and take at most one connection: a flood of them delays no known key.

import type { ApiKey } from '../../api-key.ts'
import { type ServiceError, unavailable } from '../../error.ts'
import { createBatcher } from '../batching.ts'
import { toKey } from '../rows.ts'
import type { Pool } from './pool.ts'
import * as sql from './statements.ts'

const BATCH_SIZE = 256
const KNOWN_KEYS_QUEUE_LENGTH = 4_096
const OTHER_KEYS_QUEUE_LENGTH = 1_024

/** Digests of keys that were found are kept, about 100 bytes each. */
const MAX_KNOWN = 10_000

export type FindKey = (digest: string) => Promise<ApiKey | undefined>

export function createKeyLookups(pool: Pool): FindKey {
  /** In order of their last look-up, so that the first one is the oldest. */
  const known = new Set<string>()

  async function run(digests: readonly string[]): Promise<(ApiKey | undefined)[]> {
    // A list of text is cheaper than a list of buffers, and the digests are hexadecimal.
    const list = `{${digests.map(digest => `"\\\\x${digest}"`).join()}}`
    const { rows } = await pool.query(sql.FIND_KEYS_BY_DIGEST, [list])
    const found = new Map(rows.map(toKey).map(key => [key.digest, key]))
    return digests.map(digest => {
      const key = found.get(digest)
      known.delete(digest)
      if (key !== undefined) remember(digest)
      return key
    })
  }

  function remember(digest: string): void {
    const oldest = known.size >= MAX_KNOWN ? known.values().next().value : undefined
    if (oldest !== undefined) known.delete(oldest)
    known.add(digest)
  }

  function batch(queueLength: number, turns: number) {
    const limits = { size: BATCH_SIZE, queueLength, queueTimeoutMs: pool.timeouts.queueMs }
    return createBatcher({ run, limits, turns, overloaded })
  }

  const findKnown = batch(KNOWN_KEYS_QUEUE_LENGTH, 1)
  // Unknown keys wait one turn longer, for larger batches: a client that was just rejected sends its next key then.
  const findOther = batch(OTHER_KEYS_QUEUE_LENGTH, 2)
  return digest => (known.has(digest) ? findKnown(digest) : findOther(digest))
}

function overloaded(): ServiceError {
  return unavailable(undefined, 'The API key could not be checked in time. Try again shortly.')
}
