// A set of ids that takes at most 16 bytes for each: a file with millions of rows may not name an animal twice.

/** Ids are divided by their hash. Each part grows alone, so that old and new tables never take twice the memory. */
const PARTS = 256
const FIRST_SIZE = 8

/** Right after a table has grown, an id takes 8 / MAX_LOAD * GROWTH = 14 bytes. */
const MAX_LOAD = 0.8
const GROWTH = 1.4

export interface IdSet {
  /** Returns false if the id is in the set already. */
  add(id: bigint): boolean
}

export function createIdSet(): IdSet {
  /** Hash tables with open addressing. Zero is a free place. */
  const tables = Array.from({ length: PARTS }, () => new BigInt64Array(FIRST_SIZE))
  const counts = new Uint32Array(PARTS)
  let hasZero = false

  return {
    add(id) {
      if (id === 0n) {
        const isNew = !hasZero
        hasZero = true
        return isNew
      }
      const hash = hashOf(id)
      const part = hash % PARTS
      let table = tables[part] as BigInt64Array<ArrayBuffer>
      let place = findPlace(table, id, hash)
      if (table[place] === id) return false
      const count = (counts[part] ?? 0) + 1
      if (count > table.length * MAX_LOAD) {
        table = grow(table)
        tables[part] = table
        place = findPlace(table, id, hash)
      }
      table[place] = id
      counts[part] = count
      return true
    },
  }
}

/** Returns where the id is, or the free place for it. */
function findPlace(table: BigInt64Array, id: bigint, hash: number): number {
  let place = Math.floor(hash / PARTS) % table.length
  while (table[place] !== 0n && table[place] !== id) place = (place + 1) % table.length
  return place
}

function grow(table: BigInt64Array): BigInt64Array<ArrayBuffer> {
  const larger = new BigInt64Array(Math.ceil(table.length * GROWTH))
  for (const id of table) if (id !== 0n) larger[findPlace(larger, id, hashOf(id))] = id
  return larger
}

const one = new BigInt64Array(1)
const halves = new Uint32Array(one.buffer)

/** Returns 32 bits. Ids that follow one another are spread over the whole range (the finalizer of MurmurHash3). */
function hashOf(id: bigint): number {
  one[0] = id
  const [low = 0, high = 0] = halves
  let hash = low ^ Math.imul(high, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
