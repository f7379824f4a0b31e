// Defaults that the settings show. They are in a file of their own, so that a start on SQLite need not load pg.

/** How many connections a process opens at most. */
export const DEFAULT_CONNECTIONS = 10
