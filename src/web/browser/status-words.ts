// What became of a change of status, in words: for the bar above the list, for the panel, and for screen readers.

import { type Animal, STATUS_NAMES, type StatusName } from '../../animal.ts'
import { formatNumber } from '../../number-format.ts'
import { describeFailure, describeWriteFailure } from './failures.ts'
import { shortenName } from './notice.ts'

interface Change {
  readonly animal: Animal
  readonly to: StatusName
}

/**
 * `same`: the animal has this status already. `other`: somebody else has given it another one. `busy`: the change before this
 * one is still in flight. `lost`: there was no answer, so it may be changed.
 */
export type Result = 'changed' | 'same' | 'other' | 'removed' | 'busy' | 'failed' | 'lost'

export function describeOne(
  { animal, to }: Change,
  result: Result,
  isUndo: boolean,
  now: StatusName,
  failure: unknown,
): string {
  const name = shortenName(animal.name)
  if (result === 'changed') return `${name} ${describeStatus(to)}${isUndo ? ' again' : ''}`
  if (result === 'same') return `${name} ${describeStatus(to)} already`
  if (result === 'removed') return `${name} was removed meanwhile`
  if (result === 'failed' || result === 'lost') return describeWriteFailure(failure, 'changed')
  return `${name} ${describeStatusChange(now)} meanwhile`
}

export function describeMany(
  results: ReadonlyMap<Change, Result>,
  isUndo: boolean,
  statusOf: (animal: Animal) => StatusName,
  failure: unknown,
): string {
  const to = [...results.keys()][0]?.to ?? 'none'
  const describeCount = (length: number, one: string, many: string) =>
    length === 0 ? [] : `${formatNumber(length)} ${length === 1 ? one : many}`
  const count = (wanted: Result, one: string, many: string) =>
    describeCount([...results.values()].filter(result => result === wanted).length, one, many)
  const others = [...results].flatMap(([{ animal }, result]) => (result === 'other' ? statusOf(animal) : []))
  const has = to === 'none' ? ['has no status', 'have no status'] : [`is ${to}`, `are ${to}`]
  const had =
    to === 'none'
      ? ['already had no status', 'already had no status']
      : [`was already ${to}`, `were already ${to}`]
  const [one = '', many = ''] = isUndo ? ['is back as it was', 'are back as they were'] : has
  const parts = [
    count('changed', one, many),
    count('same', had[0] ?? '', had[1] ?? ''),
    STATUS_NAMES.flatMap(status =>
      describeCount(
        others.filter(other => other === status).length,
        `${describeStatusChange(status)} meanwhile`,
        `${describeStatusChange(status, true)} meanwhile`,
      ),
    ),
    count('removed', 'was removed', 'were removed'),
    count('busy', 'still waits', 'still wait'),
    count('failed', 'was not changed', 'were not changed'),
    count('lost', 'got no answer', 'got no answer'),
  ].flat()
  const advice = [...results.values()].includes('lost') ? ' Try again: nothing is done twice.' : ''
  return `${parts.join(', ')}${failure === undefined ? '' : `. ${describeFailure(failure)}${advice}`}`
}

export function describeStatusChange(status: StatusName, ofMany = false): string {
  if (status === 'none') return `lost ${ofMany ? 'their' : 'its'} status`
  return status === 'sold' ? `${ofMany ? 'were' : 'was'} sold` : `became ${status}`
}

export function describeStatus(status: StatusName): string {
  return status === 'none' ? 'has no status' : `is ${status}`
}

export function describePastStatus(status: StatusName): string {
  return status === 'none' ? 'had no status' : `was ${status}`
}
