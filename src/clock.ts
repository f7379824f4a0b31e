// The clock is passed as an argument, so that tests can set the time.

/** Returns milliseconds since 1970. */
export type Clock = () => number

export const systemClock: Clock = Date.now
