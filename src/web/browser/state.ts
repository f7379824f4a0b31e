// What the page shows and waits for. The parts of the page share this one object, and render from it.

import type { Animal, Inventory } from '../../../client/src/animal-store.ts'
import { type StatusName, statusNameOf } from '../../animal.ts'
import type { ListPage } from './list-page.ts'
import { parseListLocation } from './location.ts'
import { shortenName } from './notice.ts'
import { describeStatus } from './status-words.ts'

export type PageState = ReturnType<typeof createState>

/** Why a row is muted. It stays until the next navigation. */
export type RowNote = 'removed' | 'no longer in this list'

/** The result of a change in words, and what the user can do about it. */
export interface ChangeResult {
  /** For the bar above the table. */
  readonly text: string
  /** For the panel, which has the name of the animal. */
  readonly note: string
  /** What was written and nobody has been seen to change since, by animal. Only this can be taken back. */
  readonly written: Map<bigint, StatusName>
  readonly undo: (() => void) | undefined
  readonly retry: (() => void) | undefined
  /** The status that the animal may have: the change of one animal has got no answer. */
  readonly maybe?: { readonly id: bigint; readonly status: StatusName } | undefined
}

/** Whether the animal in the panel should be removed. */
export interface Question {
  /** The animal as it was when the page asked. */
  readonly animal: Animal
  readonly text: string
  /** The removal is sent again with the same key. */
  readonly idempotencyKey: string
}

export function createState() {
  return {
    /** The last valid location of the URL. */
    location: parseListLocation(''),
    /** What is wrong with the URL. */
    urlProblem: undefined as string | undefined,
    /** The page of the list on the screen, with the animals as they are now. */
    page: undefined as ListPage | undefined,
    /** The largest id of the page when it was loaded. Animals that others add later have larger ids. */
    largestId: 0n,
    rowNotes: new Map<bigint, RowNote>(),
    /** How many animals wait to be shown where new animals appear. Undefined if there are some and nobody knows how many. */
    newCount: 0 as number | undefined,
    /** The animal in the panel. */
    animal: undefined as Animal | undefined,
    /** The id of the URL if it names no animal, with what the panel says then. */
    missing: undefined as { readonly id: bigint; readonly title: string; readonly hint: string } | undefined,
    /** The form in the panel. */
    form: undefined as 'add-animal' | 'edit-animal' | undefined,
    question: undefined as Question | undefined,
    /** The outcome of the last change of the animal in the panel. */
    note: undefined as ChangeResult | undefined,
    /** The row where the keyboard goes on while no animal is in the panel. */
    cursor: undefined as bigint | undefined,
    /** The marked animals, with the status that each had when it was marked. */
    marked: new Map<bigint, StatusName>(),
    /** The next key chooses a status for these animals. */
    choosing: undefined as ReadonlyMap<bigint, StatusName> | undefined,
    /** The outcome of the last change of what is not in the panel. */
    outcome: undefined as ChangeResult | undefined,
    /** What `z` takes back. */
    undoable: undefined as ChangeResult | undefined,
    /** Animals with a change in flight, and the status that they get, if it is that. */
    waiting: new Map<bigint, StatusName | undefined>(),
    /** They have been in flight for so long that the page says so. */
    isSlow: false,
    /** How many animals there are, as far as the page knows. */
    inventory: undefined as Inventory | undefined,
    /** The user has moved beyond the end of a page in this direction: an animal of the next page gets selected. */
    selectNext: undefined as 1 | -1 | undefined,
    /** The user waits for a page, or for the next attempt to load one. */
    isWaiting: false,
    /** The last request that nobody waits for has failed. A notice says so until a request succeeds. */
    isAway: false,
  }
}

/** Forgets what lasts until the next navigation. */
export function forgetChanges(state: PageState): void {
  state.marked.clear()
  state.choosing = undefined
  state.outcome = undefined
  state.undoable = undefined
  state.newCount = 0
}

/** The animal is like this now. An answer about a page that is no longer that of the state may be older, and does not count. */
export function applyAnimal(state: PageState, animal: Animal): void {
  const { page } = state
  state.rowNotes.delete(animal.id)
  if (state.animal?.id === animal.id) state.animal = animal
  forgetWritten(state, animal.id, statusNameOf(animal))
  const status = statusNameOf(animal)
  const isNow = `${describeStatus(status)} now`
  const settle = (result: ChangeResult | undefined) =>
    result?.maybe?.id === animal.id && result.maybe.status === status
      ? {
          ...result,
          text: `${shortenName(animal.name)} ${isNow}`,
          note: isNow,
          retry: undefined,
          maybe: undefined,
        }
      : result
  state.note = settle(state.note)
  state.outcome = settle(state.outcome)
  if (page !== undefined)
    state.page = {
      ...page,
      animals: page.animals.map(known => (known.id === animal.id ? animal : known)),
    }
}

/** The animal does not exist any more. */
export function applyRemoval(state: PageState, { id, name }: Pick<Animal, 'id' | 'name'>): void {
  state.rowNotes.set(id, 'removed')
  if (state.choosing?.has(id)) state.choosing = undefined
  state.marked.delete(id)
  forgetWritten(state, id)
  if (state.location.animal !== id) return
  state.animal = undefined
  // An open form stays, with what was typed.
  state.question = undefined
  state.missing = { id, title: `${shortenName(name)} was removed`, hint: 'It cannot be brought back.' }
}

/** What somebody else has changed since cannot be taken back any more, also if it becomes again what was written. */
function forgetWritten(state: PageState, id: bigint, now?: StatusName): void {
  for (const result of [state.note, state.outcome, state.undoable]) {
    if (!result?.written.has(id) || result.written.get(id) === now) continue
    result.written.delete(id)
    if (result === state.note) state.note = undefined
  }
}

/** The animal of the open panel, otherwise the row that was last focused or left. */
export function cursorOf({ location, cursor }: PageState): bigint | undefined {
  return location.animal ?? cursor
}

/** The animal that comes next in this direction on the screen, whether the row with the cursor is there or not. */
export function findNext(
  state: PageState,
  animals: readonly Animal[],
  direction: 1 | -1,
): Animal | undefined {
  const cursor = cursorOf(state)
  if (cursor === undefined) return animals[0]
  const isAscending = (state.location.order === 'oldest') === (direction === 1)
  const ordered = direction === 1 ? animals : animals.toReversed()
  return ordered.find(({ id }) => (isAscending ? id > cursor : id < cursor))
}
