// Random characters for properties.

import fc from 'fast-check'

const SURROGATES = 0xd800
const SURROGATE_COUNT = 0x800

/** Every character, like the unit `binary` of fast-check, which takes a second and 180 MB to build a table of them. */
export const anyCharacter = fc.nat({ max: 0x10ffff - SURROGATE_COUNT }).map(
  index => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  // So that fast-check tries strings such as `__proto__`, too.
  text => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('not one character')
    return code < SURROGATES ? code : code - SURROGATE_COUNT
  },
)
