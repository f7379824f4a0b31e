// Who takes part, how each is started, and in what words each is asked.

import { fileURLToPath } from 'node:url'
import { NEW_ANIMAL, type Operation } from './workloads.ts'

export const API_KEY = 'bench-key-0123456789-abcdefghij'
export const WRONG_KEY = 'bench-key-that-nobody-gave-out'

export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export interface Contender {
  readonly name: string
  readonly file: string
  readonly args?: readonly string[]
  /** What it keeps its catalogue in; the bare server has none. */
  readonly catalogue?: 'sqlite' | 'json'
  /** The largest catalogue it can hold. */
  readonly most?: number
  readonly hasKeys: boolean
  readonly ask: (operation: Operation) => Ask
}

export const BARE: Contender = {
  name: 'bare node:http',
  file: server('bare.js'),
  hasKeys: true,
  ask: ours,
}

export const ANIMAL_STORE: Contender = {
  name: 'animal-store',
  file: fileURLToPath(new URL('../bin/animal-store.js', import.meta.url)),
  args: ['serve', '--log-level', 'warn'],
  catalogue: 'sqlite',
  hasKeys: true,
  ask: ours,
}

export const OTHERS: readonly Contender[] = [
  {
    name: 'Fastify + better-sqlite3',
    file: server('plain-fastify.js'),
    catalogue: 'sqlite',
    hasKeys: true,
    ask: ours,
  },
  {
    name: 'Platformatic DB',
    file: server('platformatic.js'),
    catalogue: 'sqlite',
    hasKeys: false,
    ask: operation => {
      switch (operation.kind) {
        case 'page': {
          const filter = operation.status === undefined ? '' : `&where.status.eq=${operation.status}`
          return get(`/animals/?limit=20&orderby.id=asc&where.id.gt=${operation.after}${filter}`)
        }
        case 'animal':
          return get(`/animals/${operation.id}`)
        case 'creation':
          return post('/animals/')
      }
    },
  },
  {
    name: 'json-server',
    file: server('json-server.js'),
    catalogue: 'json',
    // It writes the whole catalogue for each creation.
    most: 1_000,
    hasKeys: false,
    ask: operation => {
      switch (operation.kind) {
        case 'page': {
          const filter = operation.status === undefined ? '' : `&status=${operation.status}`
          return get(`/animals?_limit=20&id_gte=${operation.after + 1}${filter}`)
        }
        case 'animal':
          return get(`/animals/${operation.id}`)
        case 'creation':
          return post('/animals')
      }
    },
  },
]

function ours(operation: Operation): Ask {
  switch (operation.kind) {
    case 'page': {
      const filter = operation.status === undefined ? '' : `status=${operation.status}&`
      return get(operation.after === 0 ? '/v1/pets' : `/v1/pets?${filter}after=${operation.after}`)
    }
    case 'animal':
      return get(`/v1/pets/${operation.id}`)
    case 'creation':
      return post('/v1/pets')
  }
}

function get(path: string): Ask {
  return { method: 'GET', path }
}

function post(path: string): Ask {
  return { method: 'POST', path, body: JSON.stringify(NEW_ANIMAL) }
}

function server(name: string): string {
  return fileURLToPath(new URL(`servers/${name}`, import.meta.url))
}
