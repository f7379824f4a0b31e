// The panel beside the list. On a small screen it is a sheet that covers the list, and the rest of the page cannot be used
// until it is closed.

import { find } from './elements.ts'

/** The width from which the list can be used while the panel is open, as in panel.css. */
const WIDE = '(width >= 45rem)'

const HEADINGS = { details: 'details-name', missing: 'missing-title', 'add-animal': 'add-title' } as const

type PanelContent = keyof typeof HEADINGS

export type Panel = ReturnType<typeof createPanel>

interface PanelOptions {
  /** Asked before the user closes the panel. */
  readonly canClose: () => boolean
  /** The user has closed the panel. */
  readonly onClosed: (content: PanelContent) => void
}

export function createPanel({ canClose, onClosed }: PanelOptions) {
  const panel = find('#panel', HTMLElement)
  const backdrop = find('#backdrop', HTMLElement)
  const wide = matchMedia(WIDE)
  const coveredParts = ['#search', '#bar nav', '#tools', '#stock', '#list'].map(selector =>
    find(selector, HTMLElement),
  )
  let content: PanelContent | undefined

  function show(): void {
    const isSheet = content !== undefined && !wide.matches
    panel.hidden = content === undefined
    backdrop.hidden = !isSheet
    for (const part of coveredParts) part.inert = isSheet
    for (const name of Object.keys(HEADINGS)) find(`#${name}`, HTMLElement).hidden = name !== content
    if (content !== undefined) panel.setAttribute('aria-labelledby', HEADINGS[content])
  }

  /** Hides the panel, and leaves the focus where it is. */
  function hide(): void {
    content = undefined
    show()
  }

  function closeIfAllowed(): void {
    if (content === undefined || !canClose()) return
    const closed = content
    hide()
    onClosed(closed)
  }

  for (const button of document.querySelectorAll('#panel .close'))
    button.addEventListener('click', closeIfAllowed)
  backdrop.addEventListener('click', closeIfAllowed)
  addEventListener('keydown', event => {
    // The same key closes a dialog or the menu, which are in front of the panel.
    const isForOther =
      event.defaultPrevented || document.querySelector('dialog[open], :popover-open') !== null
    if (event.key === 'Escape' && !isForOther) closeIfAllowed()
  })
  wide.addEventListener('change', show)

  return {
    /** What the panel shows. Undefined while it is closed. */
    get content() {
      return content
    },
    /** False if the panel covers the whole list. */
    get isBesideList() {
      return wide.matches
    },
    open(next: PanelContent): void {
      content = next
      show()
    },
    hide,
  }
}
