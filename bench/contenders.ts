// The contenders: how each is started, and the request that each needs for an operation.

import { fileURLToPath } from 'node:url'
import type { HttpRequest } from './http.ts'
import { NEW_ANIMAL, type Operation } from './workloads.ts'

export const API_KEY = 'bench-key-0123456789-abcdefghij'
export const WRONG_KEY = 'bench-key-that-was-not-created'

export interface Contender {
  readonly name: string
  /** A script for Node.js, or a program (bench/native.ts). */
  readonly file: string
  readonly isProgram?: boolean
  readonly nodeFlags?: readonly string[]
  readonly args?: readonly string[]
  /** The format of its catalogue. The bare server has none. */
  readonly catalogue?: 'sqlite' | 'json'
  /** It can also use PostgreSQL. */
  readonly supportsPostgres?: boolean
  /** The largest catalogue that it takes part with. */
  readonly maxAnimals?: number
  readonly checksKeys: boolean
  readonly requestFor: (operation: Operation) => HttpRequest
}

export const BARE: Contender = {
  name: 'bare node:http',
  file: serverPath('bare.js'),
  checksKeys: true,
  requestFor: animalStoreRequest,
}

export const ANIMAL_STORE: Contender = {
  name: 'animal-store',
  file: fileURLToPath(new URL('../bin/animal-store.js', import.meta.url)),
  // Those of bin/animal-store.js, which would otherwise start the process again.
  nodeFlags: ['--max-semi-space-size=4', '--no-allocation-site-pretenuring'],
  args: ['serve', '--log-level', 'warn'],
  catalogue: 'sqlite',
  supportsPostgres: true,
  checksKeys: true,
  requestFor: animalStoreRequest,
}

export const OTHERS: readonly Contender[] = [
  {
    name: 'Fastify + better-sqlite3',
    file: serverPath('plain-fastify.js'),
    catalogue: 'sqlite',
    checksKeys: true,
    requestFor: animalStoreRequest,
  },
  {
    name: 'Platformatic DB',
    file: serverPath('platformatic.js'),
    catalogue: 'sqlite',
    checksKeys: false,
    requestFor: operation => {
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
    file: serverPath('json-server.js'),
    catalogue: 'json',
    // It writes the whole catalogue for each creation.
    maxAnimals: 1_000,
    checksKeys: false,
    requestFor: operation => {
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

export function animalStoreRequest(operation: Operation): HttpRequest {
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

function get(path: string): HttpRequest {
  return { method: 'GET', path }
}

function post(path: string): HttpRequest {
  return { method: 'POST', path, body: JSON.stringify(NEW_ANIMAL) }
}

/** Returns the path of a file or folder in servers/. */
export function serverPath(name: string): string {
  return fileURLToPath(new URL(`servers/${name}`, import.meta.url))
}
