// The notices at the bottom of the page: the server cannot be reached, a list is being saved, an animal was added.

import { find, keepFocus, setText } from './elements.ts'

/** After this time the page says that it is still waiting. */
export const SLOW_MS = 3_000

/** How long a message stays that needs no answer. */
export const MESSAGE_MS = 8_000

const LONGEST_NAME = 60

export function shortenName(name: string): string {
  const shown = [...name].slice(0, LONGEST_NAME).join('')
  return shown === name ? name : `${shown}…`
}

interface NoticeAction {
  readonly label: string
  readonly run: () => void
}

interface NoticeOptions {
  /** Follows the text, and screen readers do not announce it. */
  readonly seconds?: string | undefined
  readonly action?: NoticeAction
  /** Hides the notice after this time. By default it stays until it is replaced or hidden. */
  readonly forMs?: number
}

export type Notice = ReturnType<typeof createNotice>

/** Each name has its own place, so that one notice does not replace another. */
export function createNotice(name: 'connection' | 'export' | 'message') {
  const notice = find(`#${name}-notice`, HTMLElement)
  const textElement = find(`#${name}-notice span`, HTMLElement)
  const secondsElement = find(`#${name}-notice b`, HTMLElement)
  const button = find(`#${name}-notice button`, HTMLButtonElement)
  let timer: ReturnType<typeof setTimeout> | undefined
  let current: NoticeAction | undefined

  function hide(): void {
    clearTimeout(timer)
    keepFocus(button)
    notice.hidden = true
  }

  /** A notice does not disappear while somebody is about to use its button. */
  function hideLater(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => (notice.matches(':hover, :focus-within') ? hideLater(ms) : hide()), ms)
  }

  button.addEventListener('click', () => current?.run())

  return {
    show(text: string, { seconds, action, forMs }: NoticeOptions = {}): void {
      clearTimeout(timer)
      current = action
      setText(textElement, text)
      secondsElement.textContent = seconds ?? ''
      setText(button, action?.label ?? '')
      button.hidden = action === undefined
      notice.hidden = false
      if (forMs !== undefined) hideLater(forMs)
    },
    hide,
  }
}
