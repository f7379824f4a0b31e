// The notice at the bottom of the page: the page is waiting, the server cannot be reached, an animal was added.

import { find } from './elements.ts'

/** After this time the page says that it is still waiting. */
export const SLOW_MS = 3_000

export interface NoticeOptions {
  /** Shows the button that retries immediately. */
  readonly canRetry?: boolean
  /** Hides the notice after this time. By default it stays until it is replaced or hidden. */
  readonly forMs?: number
}

export interface Notice {
  show(text: string, options?: NoticeOptions): void
  hide(): void
}

export function createNotice(onRetry: () => void): Notice {
  const notice = find('#notice', HTMLElement)
  const retry = find('#retry', HTMLButtonElement)
  let timer: ReturnType<typeof setTimeout> | undefined
  retry.addEventListener('click', onRetry)

  function hide(): void {
    clearTimeout(timer)
    notice.hidden = true
  }

  return {
    show(text, { canRetry = false, forMs } = {}) {
      find('#notice span', HTMLElement).textContent = text
      retry.hidden = !canRetry
      notice.hidden = false
      clearTimeout(timer)
      if (forMs !== undefined) timer = setTimeout(hide, forMs)
    },
    hide,
  }
}
