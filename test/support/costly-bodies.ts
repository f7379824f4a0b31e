// Bodies and media types that were made to cost CPU time. Run as a program, this prints the milliseconds that each takes,
// as JSON.

import { parseAnimalJson, parseNewAnimal } from '../../src/animal.ts'
import { isJson, parseBody } from '../../src/http/server/body.ts'
import { MAX_BODY_BYTES } from '../../src/http/server/limits.ts'

const RUNS = 30

const ANIMAL = '"name":"Bella","categoryId":7.0}'

/** A body of almost 64 KiB: the start, the unit as often as it fits, and the end with the members of an animal. */
function filled(start: string, unit: string | ((index: number) => string), end: string): Buffer {
  const parts = [start]
  let length = start.length + end.length
  for (let index = 0; ; index++) {
    const next = typeof unit === 'string' ? unit : unit(index)
    length += next.length
    if (length > MAX_BODY_BYTES) return Buffer.from(parts.join('') + end)
    parts.push(next)
  }
}

const inArray = (unit: string | ((index: number) => string)) => filled('{"x":[', unit, `0],${ANIMAL}`)
const inObject = (unit: string | ((index: number) => string)) => filled('{', unit, ANIMAL)
const nested = (open: string, close: string, depth: number) =>
  Buffer.from(`{"x":${open.repeat(depth)}1.5${close.repeat(depth)},${ANIMAL}`)

/** What each body is, its bytes, and the status of the response. */
export const COSTLY_BODIES: readonly (readonly [string, Buffer, number])[] = [
  ['arrays of one fraction', inArray('[1.5],'), 201],
  ['objects with different members', inArray(index => `{"a${index.toString(36)}":{}},`), 201],
  ['objects of many shapes', inArray(index => `{"${'abcdefgh'[index % 8]}":1,"${index % 97}":1},`), 201],
  ['empty strings', inArray('"",'), 201],
  ['nested arrays', nested('[', ']', 32_700), 201],
  ['nested arrays that are not closed', Buffer.from(`{"x":${'['.repeat(65_000)}`), 400],
  ['nested objects', nested('{"":', '}', 13_000), 201],
  ['different members', inObject(index => `"${index.toString(36)}a":1,`), 201],
  ['members without a name', inObject('"":0,'), 201],
  ['one member, repeated with an escape', inObject('"categor\\u0079Id":1,'), 201],
  ['members named almost like categoryId, with an escape', inObject('"categor\\u0079Ie":1,'), 201],
  ['members with short names in escapes', inObject('"\\/\\/\\/":0,'), 201],
  ['an escaped string', filled('{"x":"', '\\"', `",${ANIMAL}`), 201],
  ['numbers that are hard to round', inArray(`9007199254740993${'0'.repeat(700)}1,`), 201],
  ['an integer of 65,000 digits', Buffer.from(`{"name":"Bella","categoryId":${'9'.repeat(65_000)}}`), 400],
  ['a fraction of 65,000 zeros', Buffer.from(`{"name":"Bella","categoryId":7.${'0'.repeat(65_000)}}`), 201],
  ['a name that is an array of arrays', filled('{"name":[', '[1.5],', '0],"categoryId":7}'), 400],
  ['an error at the end', inArray('[1.5],').subarray(0, -1), 400],
]

/** Parameters that fill the `Content-Type` of a request when they are repeated. */
export const COSTLY_PARAMETERS = [';a=b', ';a="b"', ';a="\\"', ';', ';charset', ';"', ';a="\\";a="']

export function mediaTypeOf(parameter: string): string {
  return `application/json${parameter.repeat(15_000 / parameter.length)}`
}

/** The CPU time of a run. The operating system counts it in steps of a few milliseconds, so it is a mean. */
function cpuMs(work: () => void): number {
  const start = process.threadCpuUsage()
  for (let run = 0; run < RUNS; run++) work()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1000 / RUNS
}

function parse(body: Buffer): void {
  try {
    parseNewAnimal(parseBody(body, parseAnimalJson))
  } catch {
    // Rejecting it must not take longer either.
  }
}

export interface Taken {
  readonly bodies: number[]
  readonly mediaTypes: number[]
}

if (import.meta.main) {
  const taken: Taken = {
    bodies: COSTLY_BODIES.map(([, body]) => cpuMs(() => parse(body))),
    mediaTypes: COSTLY_PARAMETERS.map(mediaTypeOf).map(type => cpuMs(() => isJson(type))),
  }
  console.log(JSON.stringify(taken))
}
