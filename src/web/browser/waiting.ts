// Waits for a time, or until the tab is visible. Both reject when the signal is aborted.

export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return waitFor(signal, done => {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  })
}

export async function untilVisible(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (!document.hidden) return
  await waitFor(signal, done => {
    document.addEventListener('visibilitychange', done)
    return () => document.removeEventListener('visibilitychange', done)
  })
}

/** `start` begins to wait, and returns a function that ends it. */
function waitFor(signal: AbortSignal, start: (done: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const end = () => {
      stop()
      signal.removeEventListener('abort', end)
      if (signal.aborted) reject(signal.reason)
      else resolve()
    }
    const stop = start(end)
    signal.addEventListener('abort', end)
  })
}
