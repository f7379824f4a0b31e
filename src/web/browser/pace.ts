// How fast the page may send requests that nobody waits for. The user has the same API key, so these requests leave half
// of its rate limit to the user, and pause while the user waits for something.

/** A rate limit as the headers of a response report it. */
interface RateLimit {
  readonly limit: number
  readonly perMs: number
  readonly remaining: number
  readonly atMs: number
}

export type Pace = ReturnType<typeof createPace>

export function createPace() {
  let reported: RateLimit | undefined
  let holds = 0
  /** Resolves when the user waits for nothing any more, or when the tab becomes visible. */
  let changed = Promise.withResolvers<void>()

  function noteChange(): void {
    changed.resolve()
    changed = Promise.withResolvers()
  }

  /** How long it takes until a request leaves half of the rate limit. */
  function msUntilSpare(): number {
    if (reported === undefined) return 0
    const { limit, perMs, remaining, atMs } = reported
    const now = Math.min(limit, remaining + (performance.now() - atMs) * perMs)
    return Math.max(0, Math.ceil((Math.floor(limit / 2) + 1 - now) / perMs))
  }

  document.addEventListener('visibilitychange', noteChange)

  return {
    /** Sends a request, and reads the rate limit from its response. */
    fetch: async (url: string, init: RequestInit): Promise<Response> => {
      const response = await fetch(url, init)
      reported = parseRateLimit(response.headers) ?? reported
      return response
    },

    /** The user waits for something until the function that this returns is called. */
    hold(): () => void {
      holds++
      return () => {
        holds--
        noteChange()
      }
    },

    /** Resolves when the user's half of the rate limit is left. */
    async untilSpare(signal: AbortSignal): Promise<void> {
      while (msUntilSpare() > 0) await wait(msUntilSpare(), signal)
    },

    /** Resolves when the tab is visible, the user waits for nothing, and the user's half of the rate limit is left. */
    async untilIdle(signal: AbortSignal): Promise<void> {
      while (document.hidden || holds > 0 || msUntilSpare() > 0) {
        if (document.hidden || holds > 0) await changed.promise
        else await wait(msUntilSpare(), signal)
        signal.throwIfAborted()
      }
    },
  }
}

/** Reads headers such as `RateLimit: "key";r=29;t=2` and `RateLimit-Policy: "key";q=30;w=60`. */
function parseRateLimit(headers: Headers): RateLimit | undefined {
  const [, remaining] = /;r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? []
  const [, limit, seconds] = /;q=(\d+);w=(\d+)/.exec(headers.get('ratelimit-policy') ?? '') ?? []
  if (remaining === undefined || limit === undefined || seconds === undefined) return undefined
  const perMs = Number(limit) / (Number(seconds) * 1_000)
  return { limit: Number(limit), perMs, remaining: Number(remaining), atMs: performance.now() }
}

/** Rejects when the signal is aborted. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const cancel = () => reject(signal.reason)
  signal.addEventListener('abort', cancel)
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  })
}
