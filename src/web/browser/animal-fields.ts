// The fields of an animal in a form, for a new animal and for one that is edited. A field shows what is wrong with it after
// the user has left it, in words that do not assume any knowledge of the API.

import { NAME_MAX_LENGTH, textProblem } from '../../animal.ts'
import { INT64_MAX, INT64_MIN } from '../../int64.ts'
import { formatNumber } from '../../number-format.ts'
import { find, setText } from './elements.ts'
import { SLOW_MS } from './notice.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

interface AnimalFieldsOptions {
  /** What the button says while it waits. */
  readonly busyLabel: string
  readonly onSubmit: () => void
}

/** Takes the part of the panel with the form. */
export function createAnimalFields(part: string, { busyLabel, onSubmit }: AnimalFieldsOptions) {
  const form = find(`${part} form`, HTMLFormElement)
  const fieldset = find(`${part} fieldset`, HTMLFieldSetElement)
  const submit = find(`${part} [type=submit]`, HTMLButtonElement)
  const problem = find(`${part} .problem`, HTMLElement)
  const name = find(`${part} [name=name]`, HTMLInputElement)
  const category = find(`${part} [name=category]`, HTMLInputElement)
  const label = submit.textContent
  let slowTimer: ReturnType<typeof setTimeout> | undefined

  for (const input of [name, category]) {
    input.addEventListener('blur', () => {
      if (input.value !== '') showProblem(input)
    })
    input.addEventListener('input', () => {
      if (input.ariaInvalid === 'true') showProblem(input)
    })
  }
  form.addEventListener('submit', event => {
    event.preventDefault()
    onSubmit()
  })

  return {
    form,
    name,
    category,
    problem,
    /** While a request is in flight the form cannot be changed or closed: the user must see whether it succeeded. */
    get isSending() {
      return fieldset.disabled
    },
    setSending(isSending: boolean): void {
      // What is disabled loses the focus. The form keeps it in its place, for the keyboard.
      if (isSending) form.focus({ preventScroll: true })
      fieldset.disabled = isSending
      submit.textContent = isSending ? busyLabel : label
      clearTimeout(slowTimer)
      if (!isSending && document.activeElement === form) submit.focus()
      if (!isSending) return
      problem.textContent = ''
      slowTimer = setTimeout(() => {
        problem.textContent = 'The server is slow to answer. Still waiting …'
      }, SLOW_MS)
    },
    /** Returns undefined if a field is invalid, which then has the focus. */
    read(): { name: string; categoryId: bigint } | undefined {
      showProblem(name)
      showProblem(category)
      const invalid = [name, category].find(({ ariaInvalid }) => ariaInvalid === 'true')
      invalid?.focus()
      const categoryId = parseInteger(category.value)
      if (invalid !== undefined || categoryId === undefined) return undefined
      return { name: name.value, categoryId }
    },
    /** Shows the hints again, until the user leaves a field. */
    clearProblems(): void {
      problem.textContent = ''
      for (const input of [name, category]) showHint(input, undefined)
    },
  }
}

function showProblem(input: HTMLInputElement): void {
  showHint(input, input.name === 'name' ? checkName(input.value) : checkCategory(input.value))
}

/** The line below a field shows either its hint or its problem, so that nothing moves. */
function showHint(input: HTMLInputElement, problem: string | undefined): void {
  const hint = find(`#${input.id}-hint`, HTMLElement)
  const text = problem ?? hint.dataset.hint ?? ''
  input.ariaInvalid = String(problem !== undefined)
  setText(hint, text)
}

function checkName(name: string): string | undefined {
  if (name.trim() === '') return 'Enter a name.'
  const length = [...name].length
  if (length > NAME_MAX_LENGTH) {
    return `This name has ${formatNumber(length)} characters. ${formatNumber(NAME_MAX_LENGTH)} are possible.`
  }
  return textProblem(name, NAME_MAX_LENGTH) && 'This name has characters that cannot be stored.'
}

function checkCategory(category: string): string | undefined {
  if (category.trim() === '') return 'Enter the number of the category.'
  if (!isInteger(category)) return 'Enter a whole number, such as 7.'
  if (parseInteger(category) === undefined) return `Enter a number from ${INT64_MIN} to ${INT64_MAX}.`
  return undefined
}
