// Animals as JSON: how new ones and changes are parsed and validated, and how animals are rendered.

import {
  type AnimalChanges,
  type Inventory,
  isStatus,
  NAME_MAX_LENGTH,
  type NewAnimal,
  STATUSES,
  type Status,
  textProblem,
} from './animal.ts'
import { invalid } from './error.ts'
import { INT64_MAX, INT64_MIN } from './int64.ts'
import { exactInteger, isObject, parseNumbersAsText } from './json.ts'

const UNKNOWN_STATUS = `status must be one of ${STATUSES.join(', ')}`

const FRACTION_OR_EXPONENT = /\d[.eE]/

/**
 * Parses the JSON of an animal, or of changes to one: the given members become a bigint if their exact value is an int64. All other
 * members stay. Throws a `SyntaxError` for malformed text.
 */
export function parseAnimalJson(
  text: string,
  integers: readonly ('id' | 'categoryId')[] = ['id', 'categoryId'],
): unknown {
  const body: unknown = JSON.parse(text)
  if (!isObject(body)) return body
  const numbers = integers.filter(member => typeof body[member] === 'number')
  // Without a fraction or an exponent in the text, a double below 2^53 is exact. This saves the second parse (bench/notes.md).
  const isPlain =
    numbers.every(member => Number.isSafeInteger(body[member])) && !FRACTION_OR_EXPONENT.test(text)
  const texts = isPlain ? undefined : (parseNumbersAsText(text) as Readonly<Record<string, string>>)
  for (const member of numbers) {
    const double = body[member] as number
    body[member] = texts === undefined ? BigInt(double) : (exactInteger(texts[member] ?? '') ?? double)
  }
  return body
}

/**
 * Validates a parsed body, or throws `invalid_request` with a message that names every invalid member. Unknown members,
 * `id` included, are ignored.
 */
export function parseNewAnimal(body: unknown): NewAnimal {
  if (!isObject(body)) throw invalid('The body must be a JSON object with name and categoryId.')
  const problems = findProblems(body)
  if (problems.length > 0) throw invalid(`${problems.map(({ problem }) => problem).join('; ')}.`)
  return toNewAnimal(body)
}

const MAX_SHOWN_LENGTH = 40
const MAX_SHOWN_MEMBERS = 20

/**
 * Validates a parsed merge patch (RFC 7396) of the animal with this id, or throws `invalid_request` with a message that names every
 * invalid member. Unknown members are invalid: a misspelt one must not look like success.
 */
export function parseAnimalChanges(body: unknown, id: bigint | undefined): AnimalChanges {
  if (!isObject(body)) throw invalid('The body must be a JSON object with the members to change.')
  const { id: sentId, name, categoryId, status, ...others } = body
  const problems = [
    sentId === undefined || sentId === id ? undefined : 'id must be the one in the path, or left out',
    name === undefined ? undefined : nameProblem(name),
    categoryId === undefined ? undefined : categoryIdProblem(categoryId),
    status === undefined || status === null || isStatus(status)
      ? undefined
      : `${UNKNOWN_STATUS}, or null to take it away`,
    ...describeUnknown(Object.keys(others)),
  ].filter(problem => problem !== undefined)
  if (problems.length > 0) throw invalid(`${problems.join('; ')}.`)
  return {
    ...(name !== undefined && { name: name as string }),
    ...(categoryId !== undefined && { categoryId: categoryId as bigint }),
    ...(status !== undefined && { status: status as Status | null }),
  }
}

function describeUnknown(members: readonly string[]): string[] {
  const shown = members
    .slice(0, MAX_SHOWN_MEMBERS)
    .map(member => `${JSON.stringify(member.slice(0, MAX_SHOWN_LENGTH))} is not a member of an animal`)
  const more = members.length - shown.length
  return more > 0 ? [...shown, `and neither are ${more} more`] : shown
}

/** Takes a body in which `findProblems` has found none. */
export function toNewAnimal({ name, categoryId, status }: Record<string, unknown>): NewAnimal {
  const animal = { name: name as string, categoryId: categoryId as bigint }
  return status === undefined ? animal : { ...animal, status: status as Status }
}

interface MemberProblem {
  readonly member: keyof NewAnimal
  /** Starts with the name of the member. */
  readonly problem: string
}

/** Returns what is wrong with a new animal, member by member. */
export function findProblems({ name, categoryId, status }: Record<string, unknown>): MemberProblem[] {
  const found: MemberProblem[] = []
  const add = (member: keyof NewAnimal, problem: string | undefined) =>
    problem !== undefined && found.push({ member, problem })
  add('name', nameProblem(name))
  add('categoryId', categoryIdProblem(categoryId))
  add('status', statusProblem(status))
  return found
}

export function parseStatus(value: unknown): Status {
  if (!isStatus(value)) throw invalid(`${UNKNOWN_STATUS}.`)
  return value
}

/** An animal whose integers may still be text, as PostgreSQL sent them. */
export interface AnimalText {
  readonly id: bigint | string
  readonly name: string
  readonly categoryId: bigint | string
  readonly status?: Status | undefined
}

/** Renders JSON with exact integers. */
export function renderAnimal({ id, name, categoryId, status }: AnimalText): string {
  const ending = status === undefined ? '}' : `,"status":"${status}"}`
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${ending}`
}

export function renderAnimals(animals: readonly AnimalText[]): string {
  return `[${animals.map(renderAnimal).join(',')}]`
}

export function renderInventory({ available, pending, sold, none }: Inventory): string {
  return `{"available":${available},"pending":${pending},"sold":${sold},"none":${none}}`
}

/** Returns what is wrong with the member, or undefined. */
function nameProblem(value: unknown): string | undefined {
  if (value === undefined) return 'name is required'
  if (typeof value !== 'string') return `name must be a string of 1 to ${NAME_MAX_LENGTH} characters`
  return textProblem(value, NAME_MAX_LENGTH)
}

function categoryIdProblem(value: unknown): string | undefined {
  if (value === undefined) return 'categoryId is required'
  return typeof value === 'bigint'
    ? undefined
    : `categoryId must be an integer from ${INT64_MIN} to ${INT64_MAX}`
}

function statusProblem(value: unknown): string | undefined {
  if (value === undefined || isStatus(value)) return undefined
  return value === null ? `${UNKNOWN_STATUS}, not null (it may be left out)` : UNKNOWN_STATUS
}
