// Looks for new animals every few seconds, while the tab is visible.

const INTERVAL_MS = 5_000

export interface Polling {
  start(): void
  stop(): void
}

/** Starts no check while another one is still running. */
export function createPolling(check: () => Promise<void>): Polling {
  let timer: ReturnType<typeof setInterval> | undefined
  let isChecking = false

  async function tick(): Promise<void> {
    if (timer === undefined || document.hidden || isChecking) return
    isChecking = true
    try {
      await check()
    } finally {
      isChecking = false
    }
  }

  document.addEventListener('visibilitychange', tick)

  return {
    start() {
      clearInterval(timer)
      timer = setInterval(tick, INTERVAL_MS)
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}
