// `animal-store keys …`: creates, lists, revokes and rotates API keys, even while the service is running.

import { fstatSync, statSync } from 'node:fs'
import {
  type ApiKey,
  type Environment,
  generateKey,
  isActive,
  successorOf,
  successorsOf,
} from '../../api-key.ts'
import { type DatabaseAddress, nameOf } from '../../database/open.ts'
import { ServiceError } from '../../error.ts'
import type { Store } from '../../store.ts'
import { CommandFailed, command, interruptible, print, type Streams } from '../command.ts'
import { reasonOf, redact } from '../messages.ts'
import { withStore } from '../with-store.ts'

export const createKey = command({
  name: 'keys create',
  summary: 'Create a key and show it once.',
  settings: ['name', 'readOnly', 'expires', 'databaseUrl', 'environment', 'json'],
  examples: [
    'keys create --name "my laptop" --expires 90d',
    'keys create --name "shop window" --read-only',
    'keys create --name ci --json',
  ],
  async run({ name, readOnly, expires, json, databaseUrl, environment }, _operands, streams) {
    await withStore(databaseUrl, { create: true, say: streams.say }, async store => {
      const createdAt = new Date()
      const namesakes = findValid(await store.listKeys(environment), name)
      if (namesakes.length > 0) streams.say(`${describeNamesakes(name, namesakes)} Creating another one.`)
      const expiresAt = expires === undefined ? undefined : later(createdAt, expires)
      const access = readOnly ? 'read' : 'write'
      const { secret, apiKey } = generateKey({ name, environment, access, createdAt, expiresAt })
      const what = readOnly ? ', which may only read,' : ''
      const until = expiresAt ? ` It expires at ${expiresAt.toISOString()}.` : ''
      const message = `Created ${apiKey.id} (${name})${what} for ${environment} in ${nameOf(databaseUrl)}.${until}`
      await showOrRevoke(store, apiKey, async () => {
        await store.createKey(apiKey)
        await printSecret(secret, apiKey, message, { ...streams, json })
      })
    })
  },
})

export const listKeys = command({
  name: 'keys list',
  summary: 'List the keys, including revoked and expired ones.',
  settings: ['databaseUrl', 'environment', 'json'],
  examples: ['keys list', 'keys list --environment staging --json'],
  async run({ json, databaseUrl, environment }, _operands, { stdout, say }) {
    await withStore(databaseUrl, { say }, async store => {
      const keys = await store.listKeys(environment)
      if (json) await print(stdout, JSON.stringify(keys.map(describe), null, 2))
      else if (keys.length === 0) say(`There are no keys for ${environment} in ${nameOf(databaseUrl)}.`)
      else await print(stdout, table(keys))
    })
  },
})

export const revokeKey = command({
  name: 'keys revoke',
  summary: 'Revoke a key. Every running instance rejects it within 5 seconds.',
  settings: ['keyName', 'databaseUrl', 'environment', 'json'],
  examples: ['keys revoke key_3f2a9c51b07d', 'keys revoke --name "my laptop"'],
  operands: ['ID'],
  insteadOfOperands: 'keyName',
  findConflicts: findIdProblems,
  async run({ keyName, json, databaseUrl, environment }, [given], { stdout, say }) {
    await withStore(databaseUrl, { say }, async store => {
      const id = given ?? findId(await store.listKeys(environment), keyName, environment, databaseUrl)
      const key = await store.revokeKey(id, environment, new Date())
      if (key === undefined) throw noSuchKey(id, environment, databaseUrl)
      if (json) return print(stdout, JSON.stringify(describe(key), null, 2))
      say(`Revoked ${key.id} (${key.name}) in ${nameOf(databaseUrl)}.`)
      for (const old of findValidPredecessors(await store.listKeys(environment), key.id))
        say(
          `${old.id}, from which it was rotated, works until ${old.expiresAt?.toISOString()}. To end it now: animal-store keys revoke ${old.id}`,
        )
    })
  },
})

export const rotateKey = command({
  name: 'keys rotate',
  summary: 'Create a successor to a key and let the old one expire.',
  settings: ['keyName', 'overlap', 'databaseUrl', 'environment', 'json'],
  examples: ['keys rotate key_3f2a9c51b07d --overlap 24h', 'keys rotate --name "my laptop"'],
  operands: ['ID'],
  insteadOfOperands: 'keyName',
  findConflicts: findIdProblems,
  async run({ keyName, overlap, json, databaseUrl, environment }, [given], streams) {
    await withStore(databaseUrl, { say: streams.say }, async store => {
      const now = new Date()
      const keys = await store.listKeys(environment)
      const id = given ?? findId(keys, keyName, environment, databaseUrl)
      const old = keys.find(key => key.id === id)
      if (old === undefined) throw noSuchKey(id, environment, databaseUrl)
      if (!isActive(old, now.getTime()))
        throw new CommandFailed(`Key ${id} is ${stateOf(old)}; create a new one instead.`)
      const successor = successorOf(old, keys)
      if (successor !== undefined)
        throw new CommandFailed(
          `Key ${id} was rotated already: its successor is ${successor.id}. If that one is lost, revoke it, and rotate ${id} again. To end ${id} now, revoke it.`,
        )
      // A successor that was revoked has the lifetime that this key had before it was rotated.
      const { createdAt, expiresAt } = successorsOf(old, keys).at(-1) ?? old
      const { secret, apiKey } = generateKey({
        name: old.name,
        environment,
        access: old.access,
        createdAt: now,
        expiresAt: expiresAt && later(now, expiresAt.getTime() - createdAt.getTime()),
        idempotencyScope: old.idempotencyScope,
      })
      const overlapEnd = later(now, overlap)
      const oldEnd = old.expiresAt && old.expiresAt < overlapEnd ? old.expiresAt : overlapEnd
      await interruptible(async () => {
        const message = `The successor of ${id} is ${apiKey.id}.`
        await printSecret(secret, apiKey, message, { ...streams, json })
        const isRotated = await store.rotateKey(id, apiKey, oldEnd).catch(error => {
          const isNothingStored = error instanceof ServiceError && error.isNothingStored
          const unless = isNothingStored ? '' : `, unless \`animal-store keys list\` shows ${apiKey.id}`
          throw new CommandFailed(
            `Key ${id} was not rotated: ${reasonOf(error)}. The key above is not valid${unless}.`,
            { cause: error },
          )
        })
        if (!isRotated)
          throw new CommandFailed(
            `Key ${id} was rotated or revoked at the same moment. The key above is not valid.`,
          )
        if (!json)
          streams.say(
            `Rotated ${id} (${old.name}) for ${environment} in ${nameOf(databaseUrl)}. The old key expires at ${oldEnd.toISOString()}.`,
          )
      })
    })
  },
})

/** Creates a key if the environment has none, and shows it. Returns whether it did. */
export async function showFirstKey(
  store: Store,
  environment: Environment,
  show: (secret: string) => Promise<void>,
): Promise<boolean> {
  const { secret, apiKey } = generateKey({ name: 'first run', environment, createdAt: new Date() })
  return showOrRevoke(store, apiKey, async () => {
    const isFirst = await store.createFirstKey(apiKey)
    if (isFirst) await show(secret)
    return isFirst
  })
}

/**
 * Runs a step that stores a key and then shows it. If it cannot be shown, the key is revoked: nobody knows it. A signal
 * waits until the step has ended.
 */
async function showOrRevoke<Result>(
  store: Store,
  { id, environment }: ApiKey,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await interruptible(step)
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    const revoked = await store.revokeKey(id, environment, new Date())
    if (revoked === undefined) throw error
    throw new CommandFailed(`${error.message} ${id} is revoked now, because nobody has seen the key.`)
  }
}

/** Prints only the key to stdout, so that a script can read it. */
async function printSecret(
  secret: string,
  key: ApiKey,
  message: string,
  { json, stdout, say }: Streams & { json: boolean },
): Promise<void> {
  // A script reads the output, and the person sees nothing after this line.
  const where = stdout.isTTY ? 'The key is shown only once:' : 'The key goes to standard output, only once.'
  if (!json) say(`${message} ${where}`)
  if (isDiscarded(stdout)) throw new CommandFailed('The output is closed or goes to /dev/null.')
  return print(stdout, json ? JSON.stringify({ ...describe(key), key: secret }, null, 2) : secret)
}

/** Node.js opens /dev/null in place of an output that is closed. */
function isDiscarded(stream: object): boolean {
  if (!('fd' in stream) || process.platform === 'win32') return false
  return fstatSync(Number(stream.fd)).rdev === statSync('/dev/null').rdev
}

/** Returns what `--json` prints. */
function describe(key: ApiKey) {
  const { id, name, environment, access, createdAt } = key
  const { expiresAt = null, revokedAt = null, lastUsed = null } = key
  return { id, name, environment, access, state: stateOf(key), createdAt, expiresAt, revokedAt, lastUsed }
}

function stateOf(key: ApiKey): 'active' | 'expired' | 'revoked' {
  if (key.revokedAt !== undefined) return 'revoked'
  return isActive(key, Date.now()) ? 'active' : 'expired'
}

/** The widths of the columns, except the last one. */
const WIDTHS = [16, 7, 6, 17, 17, 10]

function table(keys: readonly ApiKey[]): string {
  const rows = keys.map(key => {
    const { id, name, access, createdAt, expiresAt, lastUsed = 'never' } = key
    const expires = expiresAt ? minute(expiresAt) : 'never'
    return [id, stateOf(key), access, minute(createdAt), expires, lastUsed, name]
  })
  return [['ID', 'STATE', 'ACCESS', 'CREATED', 'EXPIRES', 'LAST USED', 'NAME'], ...rows]
    .map(row => row.map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0)).join('  '))
    .join('\n')
}

function minute(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`
}

function later(time: Date, duration: number): Date {
  return new Date(time.getTime() + duration)
}

/** Returns the valid keys with this name. One that was rotated runs out, and its successor has the same name. */
function findValid(keys: readonly ApiKey[], name: string): ApiKey[] {
  const now = Date.now()
  return keys.filter(key => key.name === name && isActive(key, now) && successorOf(key, keys) === undefined)
}

/** Returns the keys that are still valid and that were rotated to this one. */
function findValidPredecessors(keys: readonly ApiKey[], id: string): ApiKey[] {
  const now = Date.now()
  return keys.filter(
    key => isActive(key, now) && successorsOf(key, keys).some(successor => successor.id === id),
  )
}

function describeNamesakes(name: string, keys: readonly ApiKey[]): string {
  const list = keys.map(({ id, createdAt }) => `${id} (created ${minute(createdAt)})`).join(', ')
  const verb = keys.length === 1 ? 'valid key has' : 'valid keys have'
  return `${keys.length} ${verb} the name ${redact(name)}: ${list}.`
}

/** Returns the id of the one valid key with this name. Throws a CommandFailed if there is none, or more than one. */
function findId(
  keys: readonly ApiKey[],
  name = '',
  environment: Environment,
  database: DatabaseAddress,
): string {
  const found = findValid(keys, name)
  const [only] = found
  if (only === undefined)
    throw new CommandFailed(
      `No valid key has the name ${redact(name)} in ${environment} (${nameOf(database)}). \`animal-store keys list\`, with the same database URL and environment, shows the names.`,
    )
  if (found.length > 1)
    throw new CommandFailed(`${describeNamesakes(name, found)} Give the ID of one of them.`)
  return only.id
}

function findIdProblems(
  { keyName }: { readonly keyName: string | undefined },
  [id]: readonly string[],
): string[] {
  const isTwice = id !== undefined && keyName !== undefined
  return isTwice ? ['ID and --name name a key each: give one of them'] : []
}

function noSuchKey(id: string, environment: Environment, database: DatabaseAddress): CommandFailed {
  // A person may have typed the key itself.
  return new CommandFailed(
    `There is no key ${redact(id)} in ${environment} (${nameOf(database)}). \`animal-store keys list\`, with the same database URL and environment, shows the ids.`,
  )
}
