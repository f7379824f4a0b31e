// The fields of the form for a new animal. A field shows what is wrong with it after the user has left it, in words
// that do not assume any knowledge of the API.

import { isStatus, NAME_MAX_LENGTH, type NewAnimal, parseNewAnimal } from '../../animal.ts'
import { INT64_MAX, INT64_MIN } from '../../json.ts'
import { find, formatNumber } from './elements.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

export interface NewAnimalFields {
  /** Returns the animal, or undefined if a field is invalid, which then has the focus. */
  read(): NewAnimal | undefined
  /** Empties the name and moves the focus there. Category and status stay for the next animal. */
  startNext(): void
  /** Shows the hints again, until the user leaves a field. */
  clearProblems(): void
  /** Empties all fields. */
  reset(): void
}

export function createNewAnimalFields(form: HTMLFormElement): NewAnimalFields {
  const name = find('#name', HTMLInputElement)
  const category = find('#category', HTMLInputElement)
  const fields = [
    { input: name, problem: () => nameProblem(name.value) },
    { input: category, problem: () => categoryProblem(category.value) },
  ]

  for (const { input, problem } of fields) {
    input.addEventListener('blur', () => showProblem(input, problem()))
    input.addEventListener('input', () => {
      if (input.ariaInvalid === 'true') showProblem(input, problem())
    })
  }

  function clearProblems(): void {
    for (const { input } of fields) showProblem(input, undefined)
  }

  clearProblems()
  return {
    read() {
      for (const { input, problem } of fields) showProblem(input, problem())
      const invalid = fields.find(({ input }) => input.ariaInvalid === 'true')
      invalid?.input.focus()
      const categoryId = parseInteger(category.value)
      if (invalid !== undefined || categoryId === undefined) return undefined
      const status = new FormData(form).get('status')
      return { name: name.value, categoryId, ...(isStatus(status) && { status }) }
    },
    startNext() {
      name.value = ''
      name.focus()
      clearProblems()
    },
    clearProblems,
    reset() {
      form.reset()
      clearProblems()
    },
  }
}

/** The line below a field shows either its hint or its problem, so that nothing moves. */
function showProblem(input: HTMLInputElement, problem: string | undefined): void {
  const hint = find(`#${input.id}-hint`, HTMLElement)
  const text = problem ?? hint.dataset.hint ?? ''
  input.ariaInvalid = String(problem !== undefined)
  if (hint.textContent !== text) hint.textContent = text
}

function nameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'Enter a name.'
  const length = [...name].length
  if (length > NAME_MAX_LENGTH) {
    return `This name has ${formatNumber(length)} characters. ${formatNumber(NAME_MAX_LENGTH)} are possible.`
  }
  try {
    parseNewAnimal({ name, categoryId: 0n })
    return undefined
  } catch {
    return 'This name has characters that cannot be stored.'
  }
}

function categoryProblem(category: string): string | undefined {
  if (category.trim() === '') return 'Enter the number of the category.'
  if (!isInteger(category)) return 'Enter a whole number, such as 7.'
  if (parseInteger(category) === undefined) return `Enter a number from ${INT64_MIN} to ${INT64_MAX}.`
  return undefined
}
