// What an animal is, what its name may be, and how searches compare names. The pages use this file too. The OpenAPI document
// takes its limits from here.

export const STATUSES = ['available', 'pending', 'sold'] as const
export type Status = (typeof STATUSES)[number]

/** `none` stands for an animal without a status. */
export const STATUS_NAMES = [...STATUSES, 'none'] as const
export type StatusName = (typeof STATUS_NAMES)[number]

export interface NewAnimal {
  readonly name: string
  readonly categoryId: bigint
  /** Absent if the client sent none: the specification names no default (docs/decisions/animals.md). */
  readonly status?: Status
}

export interface Animal extends NewAnimal {
  readonly id: bigint
}

export function statusNameOf({ status }: Pick<NewAnimal, 'status'>): StatusName {
  return status ?? 'none'
}

/** The members that a change sets. Those that are absent stay as they are. */
export interface AnimalChanges {
  readonly name?: string
  readonly categoryId?: bigint
  /** Null takes the status away. */
  readonly status?: Status | null
}

/** How many animals there are with each status, and how many without one. */
export type Inventory = Readonly<Record<StatusName, bigint>>

export const NAME_MAX_LENGTH = 1000

// The characters with the Unicode property White_Space, and U+FEFF. JavaScript's `\s` matches all of them except
// U+0085. The pattern must not contain an escape such as `\u2028`: some client generators would write the character
// itself, a line break, into a regular expression.
const BLANK = '\\s\\x85'

/** Not blank, and without U+0000, which PostgreSQL cannot store. Matching takes linear time. */
export const NAME_PATTERN = `^[${BLANK}]*[^${BLANK}\\x00][^\\x00]*$`

const namePattern = new RegExp(NAME_PATTERN, 'u')

/** Takes a text without U+0000. */
export function isBlank(text: string): boolean {
  return !namePattern.test(text)
}

/** Returns the animal after the changes. */
export function applyChanges(animal: Animal, { status, ...changes }: AnimalChanges): Animal {
  const { status: old, ...kept } = { ...animal, ...changes }
  const changed = status === undefined ? old : (status ?? undefined)
  return changed === undefined ? kept : { ...kept, status: changed }
}

export function isStatus(value: unknown): value is Status {
  return (STATUSES as readonly unknown[]).includes(value)
}

/** Accents and other marks of the Latin, Greek and Cyrillic scripts, and the vowel marks of Arabic. */
const DIACRITICS = /[\u0300-\u036f\u064b-\u0652]/g

/** Returns the form in which searches compare names: without marks, and in lower case (docs/decisions/search.md). */
export function foldName(name: string): string {
  return name.normalize('NFD').replace(DIACRITICS, '').toLowerCase().replaceAll('ς', 'σ')
}

/**
 * Returns the folded name that is stored beside a name, or null for a name in ASCII: every database can fold that one itself,
 * and most names need no space for a second one.
 */
export function searchName(name: string): string | null {
  return NOT_ASCII.test(name) ? foldName(name) : null
}

const NOT_ASCII = /\P{ASCII}/u

export function isSameAnimal(one: NewAnimal, other: NewAnimal): boolean {
  return one.name === other.name && one.categoryId === other.categoryId && one.status === other.status
}

/** Returns what is wrong with a name, or with a part of one. */
export function textProblem(text: string, maxLength: number): string | undefined {
  // A code point has one or two UTF-16 units. Counting code points is slow, and only needed if the number of units
  // does not decide.
  const units = text.length
  if (units > maxLength && (units > maxLength * 2 || [...text].length > maxLength)) {
    return `name must have at most ${maxLength} characters`
  }
  if (!text.isWellFormed()) return 'name must be well-formed Unicode, without lone surrogates'
  if (text.includes('\0')) return 'name must not contain the character U+0000'
  return isBlank(text) ? 'name must not be blank' : undefined
}
