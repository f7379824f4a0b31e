// Changes the status of one animal or of several, and takes such changes back. Each change has the status that the person saw as
// its condition, so it never undoes what somebody else has done meanwhile.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { type StatusName, statusNameOf } from '../../animal.ts'
import { formatNumber } from '../../count.ts'
import { describeFailure } from './failures.ts'
import { shortenName } from './notice.ts'
import type { Session } from './session.ts'
import { applyAnimal, applyRemoval, type ChangeResult, type PageState } from './state.ts'

/** How many times a write is sent again by itself while its answer is lost or the server is busy. */
export const WRITE_RETRIES = 2

const MOST_IN_FLIGHT = 4

/** It is sent again as it is, so that the service carries it out once. */
interface StatusChange {
  readonly animal: Animal
  readonly from: StatusName
  readonly to: StatusName
  readonly idempotencyKey: string
}

/** `same`: the animal has this status already. `other`: somebody else has given it another one. */
type Result = 'changed' | 'same' | 'other' | 'removed' | 'failed'

interface RunOptions {
  readonly isUndo?: boolean
  /** What is known before: animals that have the status, and those that an attempt before this one has changed. */
  readonly results?: ReadonlyMap<StatusChange, Result>
}

interface StatusChangesOptions {
  readonly state: PageState
  readonly session: Session
  readonly render: () => void
  readonly announce: (text: string) => void
  /** The counts may have changed. */
  readonly onChanged: () => void
}

export type StatusChanges = ReturnType<typeof createStatusChanges>

export function createStatusChanges({ state, session, render, announce, onChanged }: StatusChangesOptions) {
  /** Changes whose answer was lost. */
  const lost = new Map<bigint, StatusChange>()

  async function run(changes: readonly StatusChange[], options: RunOptions = {}): Promise<void> {
    const { isUndo = false } = options
    const { waiting } = state
    const isBusy = changes.some(({ animal }) => waiting.has(animal.id))
    if (isBusy || session.isReadOnly) return
    const results = new Map(options.results)
    let failure: unknown
    for (const { animal, to } of changes) waiting.set(animal.id, to)
    render()
    const queue = [...changes]
    async function work(): Promise<void> {
      for (let change = queue.shift(); change !== undefined; change = queue.shift()) {
        const { id } = change.animal
        lost.set(id, change)
        const result = await send(change).catch(error => {
          failure = error
          return 'failed' as const
        })
        results.set(change, result)
        if (result !== 'failed') lost.delete(id)
        waiting.delete(id)
        render()
      }
    }
    await Promise.all(Array.from({ length: MOST_IN_FLIGHT }, work))
    // The user has signed out meanwhile.
    if (state.waiting !== waiting) return
    const having = (wanted: Result) => [...results].filter(([, result]) => result === wanted)
    const changed = having('changed').map(([change]) => change)
    const failed = having('failed').map(([change]) => change)
    const [only] = results.size === 1 ? results : []
    const isDone = only?.[1] === 'changed'
    const text =
      only === undefined
        ? describeMany(results, isUndo, failure)
        : describeOne(...only, isUndo, findKnown(only[0].animal.id), failure)
    const was = isDone && !isUndo ? describePastStatus(only[0].from) : undefined
    const outcome: ChangeResult = {
      text: was === undefined ? text : `${text}, ${was}`,
      note: was ?? text,
      written: isDone ? only[0].to : undefined,
      undo: isUndo || changed.length === 0 ? undefined : () => takeBack(changed),
      retry: failed.length === 0 ? undefined : () => run(failed, { isUndo, results }),
    }
    if (isUndo || outcome.undo !== undefined) state.undoable = outcome.undo
    if (only !== undefined && only[0].animal.id === state.location.animal) state.note = outcome
    else state.outcome = outcome
    session.noteFailure(failure)
    render()
    announce(text)
    onChanged()
  }

  /** Takes back the changes of animals that still have the status that was written. */
  function takeBack(changes: readonly StatusChange[]): void {
    const back = changes.map(({ animal, from, to }) => createChange(animal, to, from))
    run(back, { isUndo: true })
  }

  async function send({ animal, from, to, idempotencyKey }: StatusChange): Promise<Result> {
    const { store, signal } = session
    if (store === undefined) throw signal.reason
    const { id } = animal
    let isReplayed = false
    const onResponse = (response: { isReplayed: boolean }) => {
      isReplayed = response.isReplayed
    }
    try {
      const changes = { status: to === 'none' ? null : to }
      const call = { ifStatus: from, idempotencyKey, retries: WRITE_RETRIES, signal, onResponse }
      const changed = await store.updateAnimal(id, changes, call)
      if (!isReplayed) {
        applyAnimal(state, changed)
        return 'changed'
      }
    } catch (error) {
      const code = error instanceof AnimalStoreError ? error.code : undefined
      if (code !== 'conflict' && code !== 'not_found') throw error
    }
    // Somebody was faster, or the answer is an old one.
    const now = await store.findAnimal(id, { signal })
    if (now === undefined) {
      applyRemoval(state, animal)
      return 'removed'
    }
    applyAnimal(state, now)
    if (statusNameOf(now) !== to) return 'other'
    return isReplayed ? 'changed' : 'same'
  }

  function findKnown(id: bigint): Animal | undefined {
    return [...(state.page?.animals ?? []), state.animal].find(animal => animal?.id === id)
  }

  return {
    /** Gives these animals a status. */
    set(animals: readonly Animal[], to: StatusName): void {
      const changes = animals.map(animal => {
        const earlier = lost.get(animal.id)
        const isRetry = earlier?.to === to && [earlier.from, to].includes(statusNameOf(animal))
        return isRetry ? earlier : createChange(animal, statusNameOf(animal), to)
      })
      const isOpen = ({ from }: StatusChange) => from !== to
      const had = changes.filter(change => !isOpen(change)).map(change => [change, 'same'] as const)
      const open = changes.filter(isOpen)
      if (open.length > 0 || animals.length > 1) run(open, { results: new Map(had) })
    },
  }
}

function createChange(animal: Animal, from: StatusName, to: StatusName): StatusChange {
  return { animal, from, to, idempotencyKey: newIdempotencyKey() }
}

function describeOne(
  { animal, to }: StatusChange,
  result: Result,
  isUndo: boolean,
  known: Animal | undefined,
  failure: unknown,
): string {
  const name = shortenName(animal.name)
  if (result === 'changed') return `${name} ${describeStatus(to)}${isUndo ? ' again' : ''}`
  if (result === 'same') return `${name} ${describeStatus(to)} already`
  if (result === 'removed') return `${name} was removed meanwhile`
  if (result === 'failed') return describeFailure(failure)
  return `${name} ${describeStatusChange(statusNameOf(known ?? animal))} meanwhile`
}

function describeMany(results: ReadonlyMap<StatusChange, Result>, isUndo: boolean, failure: unknown): string {
  const to = [...results.keys()][0]?.to ?? 'none'
  const count = (wanted: Result, one: string, many: string) => {
    const { length } = [...results.values()].filter(result => result === wanted)
    return length === 0 ? [] : `${formatNumber(length)} ${length === 1 ? one : many}`
  }
  const has = to === 'none' ? ['has no status', 'have no status'] : [`is ${to}`, `are ${to}`]
  const had = to === 'none' ? ['had no status', 'had no status'] : [`was ${to}`, `were ${to}`]
  const [one = '', many = ''] = isUndo ? ['is as it was', 'are as they were'] : has
  const parts = [
    count('changed', one, many),
    count('same', `${had[0]} before`, `${had[1]} before`),
    count('other', 'was changed by somebody else', 'were changed by somebody else'),
    count('removed', 'was removed', 'were removed'),
    count('failed', 'was not changed', 'were not changed'),
  ].flat()
  return `${parts.join(', ')}${failure === undefined ? '' : `. ${describeFailure(failure)}`}`
}

export function describeStatusChange(status: StatusName): string {
  if (status === 'none') return 'lost its status'
  return status === 'sold' ? 'was sold' : `became ${status}`
}

function describeStatus(status: StatusName): string {
  return status === 'none' ? 'has no status' : `is ${status}`
}

function describePastStatus(status: StatusName): string {
  return status === 'none' ? 'had no status' : `was ${status}`
}
