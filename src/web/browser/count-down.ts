// A wait that the service has asked for: counts its seconds down on the screen.

/** Shows the seconds that are left, then calls `onEnd`. Returns a function that cancels this. */
export function countDown(seconds: number, show: (text: string) => void, onEnd: () => void): () => void {
  const endMs = performance.now() + seconds * 1_000
  const timer = setInterval(tick, 1_000)

  function tick(): void {
    const left = Math.round((endMs - performance.now()) / 1_000)
    show(`${Math.max(left, 0)} s`)
    if (left > 0) return
    clearInterval(timer)
    onEnd()
  }

  tick()
  return () => clearInterval(timer)
}
