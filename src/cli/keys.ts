// `animal-store keys …`: creates, lists, revokes and rotates API keys, even while the service is running.

import { type ApiKey, type Environment, generateKey, isActive } from '../api-key.ts'
import { CommandFailed, command, type Streams } from './command.ts'
import { withStore } from './open-store.ts'
import { redact } from './redact.ts'

export const createKey = command({
  name: 'keys create',
  summary: 'Create a key and show it once.',
  settings: ['name', 'expires', 'databaseUrl', 'environment', 'json'],
  examples: ['keys create --name "my laptop" --expires 90d', 'keys create --name ci --json'],
  async run({ name = '', expires, json, ...target }, _operands, streams) {
    await withStore({ ...target, create: true, say: streams.say }, async (store, environment) => {
      const createdAt = new Date()
      const expiresAt = expires === undefined ? undefined : later(createdAt, expires)
      const { secret, apiKey } = generateKey({ name, environment, createdAt, expiresAt })
      await store.createKey(apiKey)
      showSecret(secret, apiKey, json, streams)
    })
  },
})

export const listKeys = command({
  name: 'keys list',
  summary: 'List the keys, including revoked and expired ones.',
  settings: ['databaseUrl', 'environment', 'json'],
  examples: ['keys list', 'keys list --environment staging --json'],
  async run({ json, ...target }, _operands, { out, say }) {
    await withStore({ ...target, say }, async (store, environment) => {
      const keys = await store.listKeys(environment)
      if (json) out(JSON.stringify(keys.map(describe), null, 2))
      else if (keys.length === 0) say(`There are no keys in ${environment}.`)
      else out(table(keys))
    })
  },
})

export const revokeKey = command({
  name: 'keys revoke',
  summary: 'Revoke a key. Every running instance rejects it within 5 seconds.',
  settings: ['databaseUrl', 'environment', 'json'],
  examples: ['keys revoke key_3f2a9c51b07d'],
  operands: ['ID'],
  async run({ json, ...target }, [id = ''], { out, say }) {
    await withStore({ ...target, say }, async (store, environment) => {
      const key = await store.revokeKey(id, environment, new Date())
      if (key === undefined) throw noSuchKey(id, environment)
      if (json) out(JSON.stringify(describe(key), null, 2))
      else say(`Revoked ${key.id} (${key.name}).`)
    })
  },
})

export const rotateKey = command({
  name: 'keys rotate',
  summary: 'Create a successor to a key and let the old one expire.',
  settings: ['overlap', 'databaseUrl', 'environment', 'json'],
  examples: ['keys rotate key_3f2a9c51b07d --overlap 24h'],
  operands: ['ID'],
  async run({ overlap, json, ...target }, [id = ''], streams) {
    await withStore({ ...target, say: streams.say }, async (store, environment) => {
      const now = new Date()
      const keys = await store.listKeys(environment)
      const old = keys.find(key => key.id === id)
      if (old === undefined) throw noSuchKey(id, environment)
      if (!isActive(old, now.getTime()))
        throw new CommandFailed(`Key ${id} is ${stateOf(old)}; create a new one instead.`)
      // An earlier rotation may have shortened the lifetime of this key, but not that of its newest successor.
      const newest = keys.findLast(key => key.idempotencyScope === old.idempotencyScope) ?? old
      const lifetime = newest.expiresAt && newest.expiresAt.getTime() - newest.createdAt.getTime()
      const { secret, apiKey } = generateKey({
        name: old.name,
        environment,
        createdAt: now,
        expiresAt: lifetime === undefined ? undefined : later(now, lifetime),
        idempotencyScope: old.idempotencyScope,
      })
      const isRotated = await store.rotateKey(id, apiKey, later(now, overlap))
      if (!isRotated) throw new CommandFailed(`Key ${id} is no longer active; create a new one instead.`)
      showSecret(secret, apiKey, json, streams)
    })
  },
})

/** Prints only the key to stdout, so that a script can read it. The message goes to stderr. */
function showSecret(secret: string, key: ApiKey, json: boolean, { out, say }: Streams): void {
  if (json) {
    out(JSON.stringify({ ...describe(key), key: secret }, null, 2))
    return
  }
  const until = key.expiresAt ? `It expires at ${key.expiresAt.toISOString()}. ` : ''
  say(`Created ${key.id} (${key.name}) for ${key.environment}. ${until}The key is shown only once:`)
  out(secret)
}

function describe(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    environment: key.environment,
    state: stateOf(key),
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  }
}

function stateOf(key: ApiKey): 'active' | 'expired' | 'revoked' {
  if (key.revokedAt !== undefined) return 'revoked'
  return isActive(key, Date.now()) ? 'active' : 'expired'
}

function table(keys: readonly ApiKey[]): string {
  const rows = [
    ['ID', 'STATE', 'CREATED', 'EXPIRES', 'NAME'],
    ...keys.map(key => [
      key.id,
      stateOf(key),
      minute(key.createdAt),
      key.expiresAt ? minute(key.expiresAt) : 'never',
      key.name,
    ]),
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0))) ?? []
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function minute(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`
}

function later(time: Date, duration: number): Date {
  return new Date(time.getTime() + duration)
}

function noSuchKey(id: string, environment: Environment): CommandFailed {
  // A person may have typed the key itself.
  const typed = redact(id)
  return new CommandFailed(
    `There is no key ${typed} in ${environment}: \`animal-store keys list\` shows the ids of all keys.`,
  )
}
