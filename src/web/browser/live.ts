// Looks for new animals every few seconds, while the tab is visible.

const INTERVAL_MS = 5_000

export interface Live {
  start(): void
  stop(): void
}

/** A check that is still running is not started again. */
export function createLive(check: () => Promise<void>): Live {
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
