// Time as an argument, so that a test can stand on either side of a moment.

/** Milliseconds since 1970. */
export type Clock = () => number

export const systemClock: Clock = Date.now
