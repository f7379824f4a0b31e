// Checks the arguments of the client at run time: TypeScript may not have checked them, and a mistyped name must not be dropped.

/** The longest delay that a timer accepts. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

const VISIBLE_ASCII = /^[!-~]{1,255}$/

/** `fetch` removes spaces at the ends. What is left must not be empty. */
const VISIBLE_ASCII_AND_SPACES = /^ *[!-~][ -~]*$/

/** Throws if the object has a name that is not known. `what` is what it is, such as `an animal`. */
export function checkNames(what: string, given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw new TypeError(`${what} must be an object`)
  const unknown = Object.keys(given).filter(name => !known.includes(name))
  if (unknown.length > 0)
    throw new TypeError(`${what} must not have ${unknown.join(', ')}: it has only ${known.join(', ')}`)
}

export function checkTimeout(timeoutMs: number): number {
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0))
    throw new TypeError('timeoutMs must be a positive number of milliseconds')
  return Math.min(timeoutMs, MAX_TIMEOUT_MS)
}

/** Returns a whole number, from `minimum` on. */
export function checkCount(name: string, value: number, minimum: number): number {
  if (!Number.isInteger(value) || value < minimum)
    throw new TypeError(`${name} must be a whole number of ${minimum} or more`)
  return value
}

export function checkFunction<Value>(name: string, value: Value): Value {
  if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function`)
  return value
}

export function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function')
    throw new TypeError('signal must be an AbortSignal, such as that of an AbortController')
  return signal
}

/** Without this check, an invalid header value would be reported as a network error. */
export function checkHeaderValue(name: string, value: string): string {
  if (typeof value !== 'string' || !VISIBLE_ASCII.test(value))
    throw new TypeError(`${name} must be 1 to 255 visible ASCII characters, without spaces`)
  return value
}

/** An `If-Match` header may have spaces, between the tags of a list. */
export function checkTags(name: string, value: unknown): string {
  if (typeof value !== 'string' || !VISIBLE_ASCII_AND_SPACES.test(value))
    throw new TypeError(`${name} must be the etag of an animal, a list of them, or *`)
  return value
}

/** A query cannot contain a lone surrogate: `URLSearchParams` would send U+FFFD instead, which is another text. */
export function checkText(name: string, value: string): string {
  if (typeof value !== 'string' || /\p{Surrogate}/u.test(value))
    throw new TypeError(`${name} must be a string of well-formed Unicode`)
  return value
}

/** Rejects a `number`, which may have been rounded already. */
export function toDigits(name: string, value: bigint): string {
  if (typeof value !== 'bigint') throw new TypeError(`${name} must be a bigint, such as 7n`)
  return value.toString()
}
