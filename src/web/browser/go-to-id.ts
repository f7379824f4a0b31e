// The field in the bar that goes to an animal by its id.

import { find } from './elements.ts'
import { isInteger, parseInteger } from './typed-integer.ts'

export interface GoToId {
  focus(): void
  clear(): void
}

export interface GoToIdOptions {
  readonly onGo: (id: bigint) => void
  /** Called with a message for the user. */
  readonly onInvalid: (problem: string) => void
}

export function createGoToId({ onGo, onInvalid }: GoToIdOptions): GoToId {
  const field = find('#go-to-id', HTMLInputElement)

  find('#go-to', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    // People write "#1204" for an id.
    const text = field.value.trim().replace(/^#\s*/, '')
    if (text === '') return
    const id = parseInteger(text)
    field.ariaInvalid = String(id === undefined)
    if (id !== undefined) onGo(id)
    else if (isInteger(text)) onInvalid('No animal can have this id: the number is out of range.')
    else onInvalid('An id is a whole number, such as 1204. Names cannot be searched.')
  })
  field.addEventListener('input', () => {
    field.ariaInvalid = 'false'
  })
  field.addEventListener('keydown', event => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    field.blur()
  })

  return {
    focus() {
      field.focus()
      field.select()
    },
    clear() {
      field.value = ''
      field.ariaInvalid = 'false'
    },
  }
}
