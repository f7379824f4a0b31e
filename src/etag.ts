// Entity tags: what identifies a state of an animal (docs/decisions/entity-tags.md).

import { hash } from 'node:crypto'

/** How many hexadecimal digits of the SHA-256 a tag has. */
export const TAG_DIGITS = 32

/**
 * Returns the tag of an animal, without quotes. It is computed from the animal alone, so the same state has the same tag on every
 * database and instance. Takes what `renderAnimal` returns.
 */
export function tagOf(animalJson: string): string {
  return hash('sha256', animalJson).slice(0, TAG_DIGITS)
}

/** Returns the value of an `ETag` header. */
export function renderTag(tag: string): string {
  return `"${tag}"`
}
