// Checks that responses, logs and metrics contain no API key. The test support does so in every test.

import assert from 'node:assert/strict'

/** A key of the usual format. */
const STORED_KEY = /as_(?:live|test)_[0-9A-Za-z]{38}/

/** Keys from the environment variable, which may have any format. */
const environmentKeys = new Set<string>()

export function addEnvironmentKey(key: string | undefined): void {
  if (key !== undefined) environmentKeys.add(key)
}

/** `where` says what was searched. The message of the failure does not repeat the key. */
export function assertNoKey(text: string, where: string): void {
  assert.ok(!STORED_KEY.test(text), `${where} contains an API key`)
  for (const key of environmentKeys) assert.ok(!text.includes(key), `${where} contains the environment's key`)
}
