// Keyboard shortcuts. They do nothing while the user types, or while a dialog or the menu is open. People who press keys by
// mistake, such as with speech input, can switch off those of one character (WCAG 2.1.4).

import { deviceValue } from './browser-storage.ts'
import { find } from './elements.ts'

/** Actions by `key` of a keyboard event. */
type Shortcuts = Readonly<Record<string, () => void>>

const TYPING = 'input:not([type=radio], [type=checkbox]), textarea, select'

/** These elements use the arrow keys themselves. */
const USES_ARROWS = 'input, pre'

interface ShortcutsOptions {
  readonly shortcuts: Shortcuts
  /** Asked for each key, because the catalogue may be hidden. */
  readonly isEnabled: () => boolean
  /** Called before each shortcut, and without a key when the user goes to a field. A sequence of keys may end. */
  readonly onOther: (key?: string) => void
}

export function enableShortcuts({ shortcuts, isEnabled, onOther }: ShortcutsOptions): void {
  const dialog = find('#shortcuts', HTMLDialogElement)
  const menu = find('#menu', HTMLElement)
  const showDialog = () => {
    // Then the dialog returns the focus to the button of the menu.
    if (menu.matches(':popover-open')) menu.hidePopover()
    dialog.showModal()
  }
  const singleKeys = find('#single-keys', HTMLInputElement)
  const stored = deviceValue('animal-store-single-keys')
  singleKeys.checked = stored.load() !== 'off'
  singleKeys.addEventListener('change', () => stored.save(singleKeys.checked ? 'on' : 'off'))
  find('#show-shortcuts', HTMLButtonElement).addEventListener('click', showDialog)

  addEventListener('keydown', event => {
    const { key, target } = event
    if (event.defaultPrevented || isForBrowser(event) || !isEnabled()) return
    if (!(target instanceof Element) || target.matches(TYPING)) return
    if (key.length === 1 && !singleKeys.checked) return
    if (dialog.open || menu.matches(':popover-open')) return
    if (key.startsWith('Arrow') && target.closest(USES_ARROWS)) return
    const action = key === '?' ? showDialog : Object.hasOwn(shortcuts, key) && shortcuts[key]
    if (!action) return
    // Otherwise the key would also be typed into the field that the action moves to, or scroll the page.
    event.preventDefault()
    onOther(key)
    action()
  })
  addEventListener('focusin', ({ target }) => {
    if (target instanceof Element && target.matches(TYPING)) onOther()
  })
}

/** Many keyboards need Alt, or Ctrl and Alt, for brackets. Other keys with Ctrl, Alt or Command are the browser's. */
function isForBrowser({ key, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
  const isBracket = key === '[' || key === ']'
  return metaKey || (ctrlKey && !(altKey && isBracket)) || (altKey && !isBracket)
}
