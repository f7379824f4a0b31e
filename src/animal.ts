// What an animal is, and what is accepted as a new one. The OpenAPI document takes its limits from here.

import { invalid } from './error.ts'
import { INT64_MAX, INT64_MIN } from './json.ts'

export const STATUSES = ['available', 'pending', 'sold'] as const
export type Status = (typeof STATUSES)[number]

export interface NewAnimal {
  readonly name: string
  readonly categoryId: bigint
  /** Absent when the client sent none: the specification names no default (docs/decisions/omitted-status.md). */
  readonly status?: Status
}

export interface Animal extends NewAnimal {
  readonly id: bigint
}

export const NAME_MAX_LENGTH = 1000

// White_Space and U+FEFF, spelled out because `\s` means something else in almost every regular expression engine.
const BLANK = '\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'

/** Not blank, and without U+0000, which PostgreSQL cannot keep. Linear: each character is looked at once. */
export const NAME_PATTERN = `^[${BLANK}]*[^${BLANK}\\u0000][^\\u0000]*$`

const namePattern = new RegExp(NAME_PATTERN, 'u')

/** Turns a JSON value into a new animal, or throws `invalid_request`. Unknown members, `id` included, are ignored. */
export function parseNewAnimal(body: unknown): NewAnimal {
  if (!isObject(body)) throw invalid('The body must be a JSON object with name and categoryId.')
  const { name, categoryId, status } = body
  const animal = { name: parseName(name), categoryId: parseCategoryId(categoryId) }
  return status === undefined ? animal : { ...animal, status: parseStatus(status) }
}

export function parseStatus(value: unknown): Status {
  if (!isStatus(value)) throw invalid(`status must be one of ${STATUSES.join(', ')}.`)
  return value
}

export function isStatus(value: unknown): value is Status {
  return (STATUSES as readonly unknown[]).includes(value)
}

export function isSameAnimal(one: NewAnimal, other: NewAnimal): boolean {
  return one.name === other.name && one.categoryId === other.categoryId && one.status === other.status
}

/** An animal whose integers may be the digits that a database has written. */
export interface WrittenAnimal {
  readonly id: bigint | string
  readonly name: string
  readonly categoryId: bigint | string
  readonly status?: Status | undefined
}

/** As JSON, with exact integers. */
export function renderAnimal({ id, name, categoryId, status }: WrittenAnimal): string {
  const ending = status === undefined ? '}' : `,"status":"${status}"}`
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${ending}`
}

export function renderAnimals(animals: readonly WrittenAnimal[]): string {
  return `[${animals.map(renderAnimal).join(',')}]`
}

function parseName(value: unknown): string {
  if (typeof value !== 'string') throw invalid(`name must be a string of 1 to ${NAME_MAX_LENGTH} characters.`)
  // A character has one or two code units: only in between do they need to be counted.
  const units = value.length
  if (units > NAME_MAX_LENGTH && (units > NAME_MAX_LENGTH * 2 || [...value].length > NAME_MAX_LENGTH)) {
    throw invalid(`name must have at most ${NAME_MAX_LENGTH} characters.`)
  }
  if (!value.isWellFormed()) throw invalid('name must be well-formed Unicode, without lone surrogates.')
  if (value.includes('\0')) throw invalid('name must not contain the character U+0000.')
  if (!namePattern.test(value)) throw invalid('name must not be blank.')
  return value
}

function parseCategoryId(value: unknown): bigint {
  if (typeof value !== 'bigint') {
    throw invalid(`categoryId must be an integer from ${INT64_MIN} to ${INT64_MAX}.`)
  }
  return value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
