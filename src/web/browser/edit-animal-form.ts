// The form that changes the name and the category of the animal in the panel. It sends only what was changed, and only if the
// animal is still the one that the form began with. Otherwise it keeps what others have changed in other fields, and asks
// about a field that both have changed. Drafts stay until they are saved or dropped, also when the page is reloaded.

import {
  type Animal,
  AnimalStoreError,
  newIdempotencyKey,
  type TaggedAnimal,
} from '../../../client/src/animal-store.ts'
import { createAnimalFields } from './animal-fields.ts'
import { tabValue } from './browser-storage.ts'
import { find, setText } from './elements.ts'
import { describeFailure, describeWriteFailure, mayBeStored } from './failures.ts'
import { shortenName } from './notice.ts'
import type { Session } from './session.ts'
import { applyAnimal, applyRemoval, type PageState } from './state.ts'
import { WRITE_RETRIES } from './status-changes.ts'
import { parseInteger } from './typed-integer.ts'

const FIELDS = ['name', 'category'] as const
type Field = (typeof FIELDS)[number]

/** What the fields have. */
type Texts = Readonly<Record<Field, string>>

interface Draft {
  readonly typed: Texts
  /** The animal that the typed texts are compared with, and its entity tag if the server has confirmed it. */
  readonly base: Texts
  readonly etag?: string | undefined
  /** Fields that somebody else has changed too: the user must choose. `base` has what they are now. */
  readonly conflicts: readonly Field[]
  /** The request whose answer was lost, and its key. The same request is sent again with the same key. */
  readonly sent?: { readonly request: string; readonly idempotencyKey: string } | undefined
}

/** With more, somebody else changes the animal all the time. */
const MAX_ATTEMPTS = 5

const REMOVED = 'was removed meanwhile and cannot be saved.'

const storedDrafts = tabValue('animal-store-drafts')

interface EditAnimalFormOptions {
  readonly state: PageState
  readonly session: Session
  readonly render: () => void
  readonly announce: (text: string) => void
  /** Shows what became of a form that the user has left. */
  readonly report: (id: bigint, text: string) => void
  /** The form opens, but not when it is opened again after a reload. */
  readonly onOpen: () => void
}

export function createEditAnimalForm(options: EditAnimalFormOptions) {
  const { state, session, render, announce, report, onOpen } = options
  const fields = createAnimalFields('#edit-animal', { busyLabel: 'Saving …', onSubmit: save })
  const { problem } = fields
  const drafts = loadDrafts()
  const note = find('#edit-note', HTMLElement)
  const editButton = find('#edit', HTMLButtonElement)
  let opener: Element | null = null
  /** The form of this animal is open, or was open last. */
  let id = 0n
  /** Why the newest values could not be read when the form was opened. */
  let unread: string | undefined
  let isUnanswered = false

  function isOpen(): boolean {
    return state.form === 'edit-animal' && (state.animal ?? state.missing)?.id === id
  }

  function isRemoved(): boolean {
    return isOpen() && state.animal === undefined
  }

  function draftOf(animalId: bigint): Draft | undefined {
    return drafts.get(String(animalId))
  }

  function update(changes: Partial<Draft>): void {
    const draft = draftOf(id)
    if (draft === undefined) return
    drafts.set(String(id), { ...draft, ...changes })
    saveDrafts()
    renderForm()
  }

  function saveDrafts(): void {
    // A form that was only opened is no draft.
    const edited = [...drafts].filter(([, draft]) => isEdited(draft))
    if (edited.length === 0) storedDrafts.clear()
    else storedDrafts.save(JSON.stringify(edited))
  }

  /** Opens the form for the animal in the panel. */
  function open(isResumed = false): void {
    const { animal } = state
    if (animal === undefined || session.isReadOnly || state.form === 'edit-animal' || fields.isSending) return
    opener = document.activeElement
    id = animal.id
    const texts = textsOf(animal)
    if (!draftOf(id)) drafts.set(String(id), { typed: texts, base: texts, conflicts: [] })
    if (!isResumed) onOpen()
    state.form = 'edit-animal'
    state.question = undefined
    isUnanswered = false
    fields.clearProblems()
    render()
    fields.name.focus()
    readNewest()
  }

  /** What was typed can wait for this. */
  async function readNewest(): Promise<void> {
    const readId = id
    const shown = unread
    unread = undefined
    try {
      await readAnimal()
      if (problem.textContent === shown) problem.textContent = ''
    } catch (error) {
      // The user has closed this form, or has opened another one.
      if (readId !== id || !isOpen()) return
      if (isNotFound(error)) {
        showRemoval()
        return
      }
      session.noteFailure(error)
      if (session.signal.aborted) return
      unread = `The newest values cannot be read right now. ${describeFailure(error)}`
      setText(problem, unread)
    }
  }

  /** Reads the animal as it is now, and merges it with what was typed. */
  async function readAnimal(): Promise<void> {
    const readId = id
    const now = await session.store?.updateAnimal(readId, {}, { signal: session.signal })
    if (now !== undefined && readId === id) merge(now)
  }

  function merge(now: TaggedAnimal): void {
    applyAnimal(state, now)
    const draft = draftOf(id)
    if (draft === undefined) return
    const theirs = textsOf(now)
    const isMine = (field: Field) => !isSame(field, draft.typed[field], draft.base[field])
    const isTheirs = (field: Field) =>
      draft.conflicts.includes(field) || !isSame(field, theirs[field], draft.base[field])
    const typed = Object.fromEntries(
      FIELDS.map(field => [field, isMine(field) ? draft.typed[field] : theirs[field]]),
    ) as Texts
    const conflicts = FIELDS.filter(
      field => isMine(field) && isTheirs(field) && !isSame(field, draft.typed[field], theirs[field]),
    )
    update({ typed, base: theirs, etag: now.etag, conflicts })
    render()
  }

  async function save(): Promise<void> {
    const typed = fields.read()
    if (typed === undefined || session.store === undefined || fields.isSending) return
    if (isRemoved()) return announce(`This animal ${REMOVED}`)
    const [conflict] = draftOf(id)?.conflicts ?? []
    if (conflict !== undefined) return find(`#edit-${conflict}-conflict button`, HTMLElement).focus()
    fields.setSending(true)
    try {
      const saved = await send(typed)
      fields.setSending(false)
      if (saved) finish()
      else if (!isOpen())
        report(id, `${nameOf()} was not saved: somebody has changed the same. Edit it to choose.`)
      else find('#edit-animal .conflict:not([hidden]) button', HTMLElement).focus()
    } catch (error) {
      fields.setSending(false)
      showFailure(error)
    }
  }

  /** The name without what the user has typed. */
  function nameOf(): string {
    return shortenName(draftOf(id)?.base.name ?? '')
  }

  /** Returns false if the user has to choose first. */
  async function send({ name, categoryId }: { name: string; categoryId: bigint }): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      if (draftOf(id)?.etag === undefined) await readAnimal()
      const { base, typed, etag, conflicts, sent } = draftOf(id) as Draft
      if (conflicts.length > 0) return false
      const changes = {
        ...(!isSame('name', typed.name, base.name) && { name }),
        ...(!isSame('category', typed.category, base.category) && { categoryId }),
      }
      if (Object.keys(changes).length === 0) return true
      if (etag === undefined) throw new Error('the animal was answered without an ETag')
      const request = [etag, changes.name ?? '', String(changes.categoryId)].join('\n')
      const idempotencyKey = sent?.request === request ? sent.idempotencyKey : newIdempotencyKey()
      update({ sent: { request, idempotencyKey } })
      const { store, signal } = session
      let isReplayed = false
      const onResponse = (response: { isReplayed: boolean }) => {
        isReplayed = response.isReplayed
      }
      const call = { ifMatch: etag, idempotencyKey, retries: WRITE_RETRIES, signal, onResponse }
      try {
        const saved = await store?.updateAnimal(id, changes, call)
        // The answer may be an old one.
        const now = isReplayed ? await store?.findAnimal(id, { signal }) : saved
        if (now !== undefined) applyAnimal(state, now)
        else if (isReplayed) applyRemoval(state, { id, name: nameOf() })
        return true
      } catch (error) {
        const isOutdated = error instanceof AnimalStoreError && error.code === 'precondition_failed'
        if (!isOutdated || attempt === MAX_ATTEMPTS) throw error
        update({ etag: undefined })
      }
    }
  }

  function finish(): void {
    const name = shortenName(fields.name.value)
    drop()
    announce(`Saved ${name}`)
  }

  function showRemoval(): void {
    const name = nameOf()
    applyRemoval(state, { id, name })
    render()
    if (isOpen()) return
    report(id, `${name} ${REMOVED}`)
    drafts.delete(String(id))
    saveDrafts()
  }

  function showFailure(error: unknown): void {
    if (isNotFound(error)) {
      showRemoval()
      return
    }
    const text = describeWriteFailure(error, 'saved')
    session.noteFailure(error)
    if (session.signal.aborted || session.isReadOnly) return
    isUnanswered = mayBeStored(error)
    if (isOpen()) problem.textContent = text
    else report(id, `${nameOf()}: ${text}`)
  }

  /** Forgets what was typed. */
  function drop(): void {
    drafts.delete(String(id))
    close()
  }

  /** Closes the form and keeps what was typed. */
  function close(): void {
    const draft = draftOf(id)
    if (draft !== undefined && (!isEdited(draft) || isRemoved())) drafts.delete(String(id))
    saveDrafts()
    if (state.form !== 'edit-animal') return
    state.form = undefined
    render()
    const isReachable = opener?.checkVisibility() && opener.closest('[inert]') === null
    const target =
      state.missing !== undefined ? find('#missing-title', HTMLElement) : isReachable ? opener : editButton
    if (target instanceof HTMLElement) target.focus({ preventScroll: true })
  }

  function renderForm(): void {
    const { animal, form } = state
    const shownDraft = animal && draftOf(animal.id)
    editButton.textContent = shownDraft && isEdited(shownDraft) ? 'Continue editing' : 'Edit'
    const draft = draftOf(id)
    if (isRemoved()) setText(note, `This animal ${REMOVED}`)
    if (form !== 'edit-animal' || draft === undefined || animal?.id !== id) return
    find('#edit-title', HTMLElement).textContent = `Edit ${shortenName(animal.name)}`
    for (const field of FIELDS) {
      const input = fields[field]
      // Setting the same value would move the cursor.
      if (input.value !== draft.typed[field]) input.value = draft.typed[field]
      const isConflict = draft.conflicts.includes(field)
      find(`#edit-${field}-conflict`, HTMLElement).hidden = !isConflict
      const text = isConflict ? `Meanwhile somebody has changed it to “${draft.base[field]}”.` : ''
      setText(find(`#edit-${field}-conflict span`, HTMLElement), text)
    }
    const now = textsOf(animal)
    const isOutdated = FIELDS.some(
      field =>
        !isSame(field, now[field], draft.base[field]) && !isSame(field, now[field], draft.typed[field]),
    )
    setText(
      note,
      isOutdated
        ? 'Somebody has changed this animal meanwhile. Save keeps both changes. Where you both changed the same field, it asks.'
        : '',
    )
    const isAsTyped = FIELDS.every(field => isSame(field, now[field], draft.typed[field]))
    // A change that got no answer turns out to be stored.
    if (!isUnanswered || !isAsTyped || fields.isSending) return
    isUnanswered = false
    problem.textContent = ''
  }

  fields.form.addEventListener('input', () =>
    update({ typed: { name: fields.name.value, category: fields.category.value } }),
  )
  find('#cancel-edit', HTMLButtonElement).addEventListener('click', drop)
  editButton.addEventListener('click', () => open())
  for (const field of FIELDS) {
    const settle = (typed: (draft: Draft) => Texts) => {
      const draft = draftOf(id)
      if (draft === undefined) return
      update({ typed: typed(draft), conflicts: draft.conflicts.filter(other => other !== field) })
      fields[field].focus()
    }
    const [mine, theirs] = document.querySelectorAll(`#edit-${field}-conflict button`)
    mine?.addEventListener('click', () => {
      settle(({ typed }) => typed)
      save()
    })
    theirs?.addEventListener('click', () => settle(({ typed, base }) => ({ ...typed, [field]: base[field] })))
  }

  return {
    get isSending() {
      return fields.isSending
    },
    open,
    close,
    render(): void {
      renderForm()
      // The page is rendered when the server has answered.
      if (unread !== undefined && isOpen() && !fields.isSending) readNewest()
    },
    /** Opens the form again if the animal in the panel has a draft: the page was reloaded. */
    resume(): void {
      if (state.animal !== undefined && draftOf(state.animal.id) !== undefined) open(true)
    },
    /** Forgets all drafts. */
    reset(): void {
      drafts.clear()
      saveDrafts()
    },
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof AnimalStoreError && error.code === 'not_found'
}

/** A field has one line only. */
function textsOf({ name, categoryId }: Animal): Texts {
  return { name: name.replace(/[\r\n]/g, ''), category: String(categoryId) }
}

function isSame(field: Field, one: string, other: string): boolean {
  return one === other || (field === 'category' && parseInteger(one) === parseInteger(other))
}

function isEdited({ typed, base }: Draft): boolean {
  return FIELDS.some(field => !isSame(field, typed[field], base[field]))
}

function loadDrafts(): Map<string, Draft> {
  try {
    return new Map<string, Draft>(JSON.parse(storedDrafts.load() ?? '[]'))
  } catch {
    return new Map()
  }
}
