// Counts events that may occur thousands of times per second, and logs them at most every ten seconds.

const INTERVAL_MS = 10_000

/** Returns a function to call for each event. It logs the first event at once, and the number of later ones at intervals. */
export function createThrottledLog(log: (count: number) => void): () => void {
  let count = 0
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    timer = undefined
    if (count === 0) return
    log(count)
    count = 0
    timer = setTimeout(flush, INTERVAL_MS).unref()
  }

  return () => {
    count++
    if (timer === undefined) flush()
  }
}
