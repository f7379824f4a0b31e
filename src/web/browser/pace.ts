// How fast the page may send requests that nobody waits for. The user has the same API key, so these requests leave half
// of its rate limit to the user, and pause while the user waits for something.

import type { AnimalStoreOptions } from '../../../client/src/animal-store.ts'

type Fetch = NonNullable<AnimalStoreOptions['fetch']>

/** How often the page looks for new animals, unless the rate limit is low. */
const POLL_MS = 5_000

/** Looking for new animals uses at most one of this many requests that the rate limit grants. */
const POLL_DIVISOR = 4

/** What requests that nobody waits for leave of the rate limit. */
const HALF = 0.5

export interface Pace {
  /** Sends a request that the user waits for. */
  readonly fetch: Fetch
  /** Sends a request that nobody waits for. */
  readonly fetchQuietly: Fetch
  /** The user waits for something until the function that this returns is called. */
  hold(): () => void
  /** Resolves when a request can be sent that leaves this share of the rate limit. */
  untilSpare(signal: AbortSignal, share?: number): Promise<void>
  /** The same, while the tab is visible and the user waits for nothing. */
  untilIdle(signal: AbortSignal): Promise<void>
  /** Calls `check` every few seconds while the tab is visible, until the signal is aborted. */
  poll(check: () => Promise<void>, signal: AbortSignal): void
}

/** A rate limit as the headers of a response report it. */
interface Reported {
  readonly limit: number
  readonly perMs: number
  readonly remaining: number
  readonly atMs: number
}

export function createPace(): Pace {
  let reported: Reported | undefined
  let holds = 0
  let released = Promise.withResolvers<void>()

  const fetchQuietly: Fetch = async (url, init) => {
    const response = await fetch(url, init)
    reported = parseRateLimit(response.headers) ?? reported
    return response
  }

  function hold(): () => void {
    holds++
    return () => {
      holds--
      if (holds > 0) return
      released.resolve()
      released = Promise.withResolvers()
    }
  }

  function msUntilSpare(share: number): number {
    if (reported === undefined) return 0
    const { limit, perMs, remaining, atMs } = reported
    const now = Math.min(limit, remaining + (performance.now() - atMs) * perMs)
    return Math.max(0, Math.ceil((Math.floor(limit * share) + 1 - now) / perMs))
  }

  async function untilSpare(signal: AbortSignal, share = HALF): Promise<void> {
    for (let ms = msUntilSpare(share); ms > 0; ms = msUntilSpare(share)) await wait(ms, signal)
  }

  return {
    fetch: async (url, init) => {
      const release = hold()
      try {
        return await fetchQuietly(url, init)
      } finally {
        release()
      }
    },
    fetchQuietly,
    hold,
    untilSpare,
    async untilIdle(signal) {
      signal.throwIfAborted()
      while (document.hidden || holds > 0 || msUntilSpare(HALF) > 0) {
        if (document.hidden) await untilVisible(signal)
        else if (holds > 0) await released.promise
        else await untilSpare(signal)
        signal.throwIfAborted()
      }
    },
    poll(check, signal) {
      let timer: ReturnType<typeof setTimeout> | undefined
      let isChecking = false
      const intervalMs = () => Math.max(POLL_MS, POLL_DIVISOR / (reported?.perMs ?? Infinity))
      const tick = async () => {
        clearTimeout(timer)
        if (isChecking || signal.aborted) return
        isChecking = true
        try {
          if (!document.hidden && msUntilSpare(HALF) === 0) await check()
        } finally {
          isChecking = false
          timer = setTimeout(tick, intervalMs())
        }
      }
      timer = setTimeout(tick, intervalMs())
      document.addEventListener('visibilitychange', tick, { signal })
      signal.addEventListener('abort', () => clearTimeout(timer))
    },
  }
}

/** Reads headers such as `RateLimit: "key";r=29;t=2` and `RateLimit-Policy: "key";q=30;w=60`. */
function parseRateLimit(headers: Headers): Reported | undefined {
  const [, remaining] = /;r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? []
  const [, limit, seconds] = /;q=(\d+);w=(\d+)/.exec(headers.get('ratelimit-policy') ?? '') ?? []
  if (remaining === undefined || limit === undefined || seconds === undefined) return undefined
  const perMs = Number(limit) / (Number(seconds) * 1_000)
  return { limit: Number(limit), perMs, remaining: Number(remaining), atMs: performance.now() }
}

/** Rejects when the signal is aborted. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return waitFor(signal, done => {
    const timer = setTimeout(done, ms)
    return () => clearTimeout(timer)
  })
}

function untilVisible(signal: AbortSignal): Promise<void> {
  return waitFor(signal, done => {
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
