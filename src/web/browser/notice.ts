// What the page has to say beside the list: that it waits, that the server is away, that an animal was added.

import { find } from './elements.ts'

/** Who waits longer than this is told that the page waits too. */
export const SLOW_MS = 3_000

export interface Saying {
  /** Offers to try again at once. */
  readonly canRetry?: boolean
  /** For how long; where it is not given, until something else happens. */
  readonly forMs?: number
}

export interface Notice {
  say(words: string, saying?: Saying): void
  hide(): void
}

export function noticeBoard(onRetry: () => void): Notice {
  const notice = find('#notice', HTMLElement)
  const retry = find('#retry', HTMLButtonElement)
  let ending: ReturnType<typeof setTimeout> | undefined
  retry.addEventListener('click', onRetry)

  function hide(): void {
    clearTimeout(ending)
    notice.hidden = true
  }

  return {
    say(words, { canRetry = false, forMs } = {}) {
      find('#notice span', HTMLElement).textContent = words
      retry.hidden = !canRetry
      notice.hidden = false
      clearTimeout(ending)
      if (forMs !== undefined) ending = setTimeout(hide, forMs)
    },
    hide,
  }
}
