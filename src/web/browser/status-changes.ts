// Changes the status of one animal or of several, and takes such changes back. Each change has the status that the person saw as
// its condition, so it never undoes what somebody else has done meanwhile.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { STATUS_NAMES, type StatusName, statusNameOf } from '../../animal.ts'
import { formatNumber } from '../../count.ts'
import { describeFailure } from './failures.ts'
import { shortenName } from './notice.ts'
import type { Session } from './session.ts'
import { applyAnimal, applyRemoval, type ChangeResult, type PageState } from './state.ts'

/** How many times a write is sent again by itself while its answer is lost or the server is busy. */
export const WRITE_RETRIES = 2

const MOST_IN_FLIGHT = 4

/** An animal whose status the user changes, and the status that the user saw. */
export interface Target {
  readonly animal: Animal
  readonly from: StatusName
}

/** It is sent again as it is, so that the service carries it out once. */
interface StatusChange extends Target {
  readonly to: StatusName
  readonly idempotencyKey: string
}

/**
 * `same`: the animal has this status already. `other`: somebody else has given it another one. `busy`: the change before this
 * one is still in flight.
 */
type Result = 'changed' | 'same' | 'other' | 'removed' | 'busy' | 'failed'

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
    const results = new Map(options.results)
    const queue = changes.filter(({ animal }) => !waiting.has(animal.id))
    if ((changes.length > 0 && queue.length === 0) || session.isReadOnly) return
    for (const change of changes) if (waiting.has(change.animal.id)) results.set(change, 'busy')
    let failure: unknown
    for (const { animal, to } of queue) waiting.set(animal.id, to)
    render()
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
    const written = new Map(changed.map(({ animal, to }) => [animal.id, to]))
    const text =
      only === undefined
        ? describeMany(results, isUndo, statusOf, failure)
        : describeOne(...only, isUndo, statusOf(only[0].animal), failure)
    const was = isDone && !isUndo ? describePastStatus(only[0].from) : undefined
    const outcome: ChangeResult = {
      text: was === undefined ? text : `${text}, ${was}`,
      note: was ?? text,
      written,
      undo:
        isUndo || changed.length === 0
          ? undefined
          : () => takeBack(changed.filter(({ animal }) => written.has(animal.id))),
      retry: failed.length === 0 ? undefined : () => run(failed, { isUndo, results }),
    }
    if (isUndo || outcome.undo !== undefined) state.undoable = outcome
    const isKnown = only?.[1] === 'same' && state.note?.written.get(only[0].animal.id) === only[0].to
    if (isKnown) state.note = { ...state.note, note: text } as ChangeResult
    else if (only !== undefined && only[0].animal.id === state.location.animal) state.note = outcome
    else state.outcome = outcome
    session.noteFailure(failure)
    render()
    announce(text)
    onChanged()
  }

  /** Takes back the changes of animals that still have the status that was written. */
  function takeBack(changes: readonly StatusChange[]): void {
    if (changes.length === 0) return
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
        return from === to ? 'same' : 'changed'
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

  /** As far as the page knows. */
  function statusOf(animal: Animal): StatusName {
    const known = [...(state.page?.animals ?? []), state.animal].find(known => known?.id === animal.id)
    return statusNameOf(known ?? animal)
  }

  return {
    /** Gives these animals a status, if they still have the one that the user saw. */
    set(targets: readonly Target[], to: StatusName): void {
      const changes = targets.map(({ animal, from }) => {
        const earlier = lost.get(animal.id)
        const isRetry = earlier?.to === to && [earlier.from, to].includes(from)
        return isRetry ? earlier : createChange(animal, from, to)
      })
      const hasStatus = ({ animal, from }: StatusChange) => from === to && statusNameOf(animal) === to
      const had = changes.filter(hasStatus).map(change => [change, 'same'] as const)
      run(
        changes.filter(change => !hasStatus(change)),
        { results: new Map(had) },
      )
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
  now: StatusName,
  failure: unknown,
): string {
  const name = shortenName(animal.name)
  if (result === 'changed') return `${name} ${describeStatus(to)}${isUndo ? ' again' : ''}`
  if (result === 'same') return `${name} ${describeStatus(to)} already`
  if (result === 'removed') return `${name} was removed meanwhile`
  if (result === 'failed') return describeFailure(failure)
  return `${name} ${describeStatusChange(now)} meanwhile`
}

function describeMany(
  results: ReadonlyMap<StatusChange, Result>,
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
  const had = to === 'none' ? ['had no status', 'had no status'] : [`was ${to}`, `were ${to}`]
  const [one = '', many = ''] = isUndo ? ['is as it was', 'are as they were'] : has
  const parts = [
    count('changed', one, many),
    count('same', `${had[0]} before`, `${had[1]} before`),
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
  ].flat()
  return `${parts.join(', ')}${failure === undefined ? '' : `. ${describeFailure(failure)}`}`
}

export function describeStatusChange(status: StatusName, ofMany = false): string {
  if (status === 'none') return `lost ${ofMany ? 'their' : 'its'} status`
  return status === 'sold' ? `${ofMany ? 'were' : 'was'} sold` : `became ${status}`
}

function describeStatus(status: StatusName): string {
  return status === 'none' ? 'has no status' : `is ${status}`
}

function describePastStatus(status: StatusName): string {
  return status === 'none' ? 'had no status' : `was ${status}`
}
