// Changes the status of one animal or of several, and takes such changes back. Each change has the status that the person saw as
// its condition, so it never undoes what somebody else has done meanwhile.

import { type Animal, AnimalStoreError, newIdempotencyKey } from '../../../client/src/animal-store.ts'
import { type StatusName, statusNameOf } from '../../animal.ts'
import { mayBeStored } from './failures.ts'
import type { Session } from './session.ts'
import { applyAnimal, applyRemoval, type ChangeResult, type PageState } from './state.ts'
import { describeMany, describeOne, describePastStatus, type Result } from './status-words.ts'

/** How many times a write is sent again by itself while its answer is lost or the server is busy. */
export const WRITE_RETRIES = 2

const MOST_IN_FLIGHT = 4

/** After this time, a change that waits says so. The server may have asked to wait. */
const SLOW_MS = 1_000

export const BUSY = 'Still waiting for the server …'

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

/** `rejected`: the animal does not have the status of the condition, or does not exist. */
type Answer = 'stored' | 'replayed' | 'rejected'

interface RunOptions {
  readonly isUndo?: boolean
  /** The outcome that is taken back or tried again. */
  readonly replaced?: ChangeResult
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
    const { isUndo = false, replaced } = options
    const { waiting } = state
    const isBusy = changes.some(({ animal }) => waiting.has(animal.id))
    if (session.isReadOnly) return
    if (isBusy) return announce(BUSY)
    const results = new Map(options.results)
    let failure: unknown
    for (const { animal, to } of changes) waiting.set(animal.id, to)
    render()
    const timer = setTimeout(() => {
      state.isSlow = true
      render()
      announce(BUSY)
    }, SLOW_MS)
    const queue = [...changes]
    async function work(): Promise<void> {
      for (let change = queue.shift(); change !== undefined; change = queue.shift()) {
        const { id } = change.animal
        const result = await send(change).catch(error => {
          failure = error
          return mayBeStored(error) ? 'lost' : 'failed'
        })
        results.set(change, result)
        if (result === 'lost') lost.set(id, change)
        else if (result !== 'failed') lost.delete(id)
        waiting.delete(id)
        render()
      }
    }
    await Promise.all(Array.from({ length: MOST_IN_FLIGHT }, work))
    clearTimeout(timer)
    // The user has signed out meanwhile.
    if (state.waiting !== waiting) return
    state.isSlow = state.isSlow && waiting.size > 0
    const having = (wanted: Result) => [...results].filter(([, result]) => result === wanted)
    const changed = having('changed').map(([change]) => change)
    const failed = [...having('failed'), ...having('lost')].map(([change]) => change)
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
          : () =>
              takeBack(
                changed.filter(({ animal }) => written.has(animal.id)),
                outcome,
              ),
      retry: failed.length === 0 ? undefined : () => run(failed, { isUndo, replaced: outcome, results }),
      maybe: only?.[1] === 'lost' ? { id: only[0].animal.id, status: only[0].to } : undefined,
    }
    if (isUndo || outcome.undo !== undefined) state.undoable = outcome
    if (state.outcome === replaced) state.outcome = undefined
    const { note } = state
    // The user has written it: that can still be taken back.
    if (only?.[1] === 'same' && note?.written.get(only[0].animal.id) === only[0].to)
      state.note = { ...note, note: text }
    else if (only !== undefined && only[0].animal.id === state.location.animal) state.note = outcome
    else state.outcome = outcome
    session.noteFailure(failure)
    render()
    announce(text)
    onChanged()
  }

  /** Takes back the changes of animals that still have the status that was written. */
  function takeBack(changes: readonly StatusChange[], replaced: ChangeResult): void {
    if (changes.length === 0) return
    const back = changes.map(({ animal, from, to }) => createChange(animal, to, from))
    run(back, { isUndo: true, replaced })
  }

  async function send(change: StatusChange): Promise<Result> {
    const { animal, from, to } = change
    const { store, signal } = session
    if (store === undefined) throw signal.reason
    const answer = await write(change)
    if (answer === 'stored') return from === to ? 'same' : 'changed'
    // Somebody was faster, or the answer is an old one.
    const now = await store.findAnimal(animal.id, { signal })
    if (now === undefined) {
      applyRemoval(state, animal)
      return 'removed'
    }
    applyAnimal(state, now)
    const status = statusNameOf(now)
    if (status === to) return answer === 'replayed' ? 'changed' : 'same'
    if (answer === 'rejected' && lost.get(animal.id) !== change && (await isOwn(now)))
      return send(createChange(animal, status, to))
    return 'other'
  }

  /** Throws if the request fails in another way. */
  async function write({ animal, from, to, idempotencyKey }: StatusChange): Promise<Answer> {
    const { store, signal } = session
    let isReplayed = false
    const onResponse = (response: { isReplayed: boolean }) => {
      isReplayed = response.isReplayed
    }
    try {
      const changes = { status: to === 'none' ? null : to }
      const call = { ifStatus: from, idempotencyKey, retries: WRITE_RETRIES, signal, onResponse }
      const changed = await store?.updateAnimal(animal.id, changes, call)
      if (isReplayed) return 'replayed'
      if (changed !== undefined) applyAnimal(state, changed)
      return 'stored'
    } catch (error) {
      const code = error instanceof AnimalStoreError ? error.code : undefined
      if (code !== 'conflict' && code !== 'not_found') throw error
      return 'rejected'
    }
  }

  /**
   * Whether the user has given the animal its status with a change whose answer was lost. The service answers the same change
   * again if it has carried it out.
   */
  async function isOwn(animal: Animal): Promise<boolean> {
    const earlier = lost.get(animal.id)
    if (earlier?.to !== statusNameOf(animal)) return false
    const answer = await write(earlier)
    lost.delete(animal.id)
    return answer !== 'rejected'
  }

  /** As far as the page knows. */
  function statusOf(animal: Animal): StatusName {
    const known = [...(state.page?.animals ?? []), state.animal].find(known => known?.id === animal.id)
    return statusNameOf(known ?? animal)
  }

  return {
    isOwn,
    /** Gives these animals a status, if they still have the one that the user saw. */
    set(targets: readonly Target[], to: StatusName): void {
      const changes = targets.map(({ animal, from }) => {
        const earlier = lost.get(animal.id)
        const isRetry = earlier?.to === to && [earlier.from, to].includes(from)
        return isRetry ? earlier : createChange(animal, from, to)
      })
      const open: StatusChange[] = []
      const results = new Map<StatusChange, Result>()
      for (const change of changes) {
        if (state.waiting.has(change.animal.id)) results.set(change, 'busy')
        else if (change.from === to && statusNameOf(change.animal) === to) results.set(change, 'same')
        else open.push(change)
      }
      const isBusy = [...results.values()].every(result => result === 'busy') && open.length === 0
      if (isBusy) announce(BUSY)
      else run(open, { results })
    },
  }
}

function createChange(animal: Animal, from: StatusName, to: StatusName): StatusChange {
  return { animal, from, to, idempotencyKey: newIdempotencyKey() }
}
