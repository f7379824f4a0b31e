// The panel beside the list. On a small screen it is a sheet that covers the list, and the rest of the page cannot be used
// until it is closed.

import { find } from './elements.ts'
import type { PageState } from './state.ts'

/** The width from which the list can be used while the panel is open, as in panel.css. */
const WIDE = '(width >= 45rem)'

const HEADINGS = {
  details: 'details-name',
  missing: 'missing-title',
  'add-animal': 'add-title',
  'edit-animal': 'edit-title',
} as const

type PanelContent = keyof typeof HEADINGS

export type Panel = ReturnType<typeof createPanel>

/** What the panel shows. Undefined while it is closed. */
export function contentOf({ form, animal, missing }: PageState): PanelContent | undefined {
  if (form !== undefined) return form
  if (animal !== undefined) return 'details'
  return missing === undefined ? undefined : 'missing'
}

/** `onClose` is called when the user closes what is in front, with a button or with the key. */
export function createPanel(state: PageState, onClose: (isKey: boolean) => void) {
  const panel = find('#panel', HTMLElement)
  const backdrop = find('#backdrop', HTMLElement)
  const wide = matchMedia(WIDE)
  const coveredParts = ['#search', '#bar nav', '#tools', '#inventory', '#list', '#pager'].map(selector =>
    find(selector, HTMLElement),
  )

  function render(): void {
    const content = contentOf(state)
    const isSheet = content !== undefined && !wide.matches
    panel.hidden = content === undefined
    backdrop.hidden = !isSheet
    for (const part of coveredParts) part.inert = isSheet
    for (const name of Object.keys(HEADINGS)) find(`#${name}`, HTMLElement).hidden = name !== content
    if (content !== undefined) panel.setAttribute('aria-labelledby', HEADINGS[content])
  }

  for (const button of document.querySelectorAll('#panel .close'))
    button.addEventListener('click', () => onClose(false))
  backdrop.addEventListener('click', () => onClose(false))
  addEventListener('keydown', event => {
    // The same key closes a dialog or the menu, which are in front of the panel.
    const isForOther =
      event.defaultPrevented || document.querySelector('dialog[open], :popover-open') !== null
    if (event.key === 'Escape' && !isForOther) onClose(true)
  })
  wide.addEventListener('change', render)

  return {
    /** False if the panel covers the whole list. */
    get isBesideList() {
      return wide.matches
    },
    render,
  }
}
