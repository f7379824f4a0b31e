// The key of the first run: without one nobody could ask for anything.

import { type Environment, makeKey } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import type { Store } from '../store.ts'

/** Makes a key if its environment has none, and returns it, to be shown once. */
export async function makeFirstKey(
  store: Store,
  environment: Environment,
  clock: Clock,
): Promise<string | undefined> {
  const { secret, apiKey } = makeKey({ name: 'first run', environment, createdAt: new Date(clock()) })
  return (await store.createFirstKey(apiKey)) ? secret : undefined
}
