// Time as an argument, so that a test can stand on either side of a moment.

export type Clock = () => Date

export const systemClock: Clock = () => new Date()
