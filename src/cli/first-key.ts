// Creates the API key of the first run: without one nobody could use the service.

import { type Environment, generateKey } from '../api-key.ts'
import type { Clock } from '../clock.ts'
import type { Store } from '../store.ts'

/** Creates a key if the environment has none. Returns the secret, to be shown once, or undefined. */
export async function createFirstKey(
  store: Store,
  environment: Environment,
  clock: Clock,
): Promise<string | undefined> {
  const { secret, apiKey } = generateKey({ name: 'first run', environment, createdAt: new Date(clock()) })
  return (await store.createFirstKey(apiKey)) ? secret : undefined
}
