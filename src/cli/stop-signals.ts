// Stops the service on SIGTERM and SIGINT and, with --stop-with-parent, when the parent process ends.

/** Signals this soon after the first are duplicates: a terminal, a supervisor, npm and its shell may all send one. */
const COPY_MS = 100

const PARENT_CHECK_INTERVAL_MS = 250

/** The first signal stops the service gracefully, a second one ends the process immediately. Returns `stop`. */
export function stopOnSignal(service: { stop(): Promise<void>; kill?(): void }): () => void {
  let stoppingSince: number | undefined

  function stop(): void {
    if (stoppingSince !== undefined) return
    stoppingSince = performance.now()
    service.stop().then(
      () => process.exit(0),
      error => {
        console.error(error)
        process.exit(1)
      },
    )
  }

  function onSignal(signal: NodeJS.Signals): void {
    const isSecond = stoppingSince !== undefined && performance.now() - stoppingSince > COPY_MS
    if (isSecond) {
      service.kill?.()
      process.exit(signal === 'SIGTERM' ? 143 : 130)
    }
    stop()
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  return stop
}

/** npm signals only its shell, which may end without passing the signal on. The service would be left running. */
export function stopWithParentProcess(stop: () => void): void {
  const parent = process.ppid
  setInterval(() => process.ppid === parent || stop(), PARENT_CHECK_INTERVAL_MS).unref()
}
