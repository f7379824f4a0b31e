// The clock is passed as an argument, so that tests can set the time.

/** Returns milliseconds since 1970. */
export type Clock = () => number

export const systemClock: Clock = Date.now

/** Returns the day, in UTC, such as 2026-11-19. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

/** The units of durations in settings, such as 90s or 24h. */
export const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Uses days for whole days above two, hours for other whole hours, otherwise seconds. */
export function formatDuration(ms: number): string {
  if (ms > 2 * UNIT_MS.d && ms % UNIT_MS.d === 0) return `${ms / UNIT_MS.d}d`
  if (ms > 0 && ms % UNIT_MS.h === 0) return `${ms / UNIT_MS.h}h`
  return `${ms / UNIT_MS.s}s`
}
