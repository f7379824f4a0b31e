// The field in the bar that goes to an animal by its id.

import { canonicalInteger } from '../../json.ts'
import { find } from './elements.ts'

export interface GoToId {
  focus(): void
  clear(): void
}

export interface GoToIdOptions {
  readonly onGo: (id: bigint) => void
  readonly onInvalid: () => void
}

export function createGoToId({ onGo, onInvalid }: GoToIdOptions): GoToId {
  const field = find('#go-to-id', HTMLInputElement)

  find('#go-to', HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    const text = field.value.trim()
    if (text === '') return
    const id = canonicalInteger(text)
    field.ariaInvalid = String(id === undefined)
    if (id === undefined) onInvalid()
    else onGo(id)
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
