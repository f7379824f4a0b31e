// How fast the page may send requests by itself: polls, downloads, and the further requests of a search. The user has the same API
// key, so these requests leave half of its rate limit to the user.

import { wait } from '../../../client/src/wait.ts'

/** A rate limit as the headers of a response report it. */
interface ReportedLimit {
  readonly limit: number
  readonly perMs: number
  readonly remaining: number
  readonly atMs: number
}

export type Pace = ReturnType<typeof createPace>

export function createPace() {
  let reported: ReportedLimit | undefined

  /** How long it takes until a request leaves half of the rate limit. */
  function msUntilSpare(): number {
    if (reported === undefined) return 0
    const { limit, perMs, remaining, atMs } = reported
    const now = Math.min(limit, remaining + (performance.now() - atMs) * perMs)
    return Math.max(0, Math.ceil((Math.floor(limit / 2) + 1 - now) / perMs))
  }

  /** Resolves when the user's half of the rate limit is left. */
  async function untilSpare(signal: AbortSignal): Promise<void> {
    while (msUntilSpare() > 0) await wait(msUntilSpare(), signal)
  }

  return {
    /** Sends a request, and reads the rate limit from its response. */
    fetch: async (url: string, init: RequestInit): Promise<Response> => {
      const response = await fetch(url, init)
      reported = parseRateLimit(response.headers) ?? reported
      return response
    },

    untilSpare,

    /** Resolves when the tab is visible and the user's half of the rate limit is left. */
    async untilVisible(signal: AbortSignal): Promise<void> {
      while (document.hidden)
        await new Promise(resolve =>
          document.addEventListener('visibilitychange', resolve, { once: true, signal }),
        )
      await untilSpare(signal)
      signal.throwIfAborted()
    },
  }
}

/** Reads headers such as `RateLimit: "key";r=29;t=2` and `RateLimit-Policy: "key";q=30;w=60`. */
function parseRateLimit(headers: Headers): ReportedLimit | undefined {
  const [, remaining] = /;r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? []
  const [, limit, seconds] = /;q=(\d+);w=(\d+)/.exec(headers.get('ratelimit-policy') ?? '') ?? []
  if (remaining === undefined || limit === undefined || seconds === undefined) return undefined
  const perMs = Number(limit) / (Number(seconds) * 1_000)
  return { limit: Number(limit), perMs, remaining: Number(remaining), atMs: performance.now() }
}
