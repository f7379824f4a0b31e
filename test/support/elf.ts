// Reads which shared libraries a Linux program needs, from the dynamic section of its ELF file.

import { closeSync, openSync, readSync } from 'node:fs'

const PT_LOAD = 1
const PT_DYNAMIC = 2
const DT_NULL = 0
const DT_NEEDED = 1
const DT_STRTAB = 5
const DT_STRSZ = 10

const HEADER_BYTES = 64
const DYNAMIC_ENTRY_BYTES = 16

interface Segment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly size: number
}

/** Returns names such as `libc.so.6`. Throws if the file is not a 64-bit little-endian ELF program. */
export function neededLibraries(path: string): string[] {
  const file = openSync(path, 'r')
  const read = (offset: number, size: number): Buffer => {
    const bytes = Buffer.alloc(size)
    if (readSync(file, bytes, 0, size, offset) !== size) throw new Error(`${path} is truncated`)
    return bytes
  }
  try {
    const segments = readSegments(path, read)
    const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)
    if (dynamic === undefined) return []
    const entries = parseDynamic(read(dynamic.offset, dynamic.size))
    const firstValue = (tag: number) => entries.find(entry => entry.tag === tag)?.value ?? 0
    const names = read(fileOffset(segments, firstValue(DT_STRTAB)), firstValue(DT_STRSZ))
    return entries
      .filter(({ tag }) => tag === DT_NEEDED)
      .map(({ value }) => names.toString('utf8', value, names.indexOf(0, value)))
  } finally {
    closeSync(file)
  }
}

function readSegments(path: string, read: (offset: number, size: number) => Buffer): Segment[] {
  const header = read(0, HEADER_BYTES)
  const isElf = header.toString('latin1', 0, 4) === '\x7fELF'
  const is64BitLittleEndian = header[4] === 2 && header[5] === 1
  if (!isElf || !is64BitLittleEndian) throw new Error(`${path} is not a 64-bit little-endian ELF file`)
  const start = Number(header.readBigUInt64LE(32))
  const size = header.readUInt16LE(54)
  const count = header.readUInt16LE(56)
  return Array.from({ length: count }, (_, index) => {
    const bytes = read(start + index * size, size)
    return {
      type: bytes.readUInt32LE(0),
      offset: Number(bytes.readBigUInt64LE(8)),
      address: Number(bytes.readBigUInt64LE(16)),
      size: Number(bytes.readBigUInt64LE(32)),
    }
  })
}

function parseDynamic(bytes: Buffer): { tag: number; value: number }[] {
  const entries = Array.from({ length: bytes.length / DYNAMIC_ENTRY_BYTES }, (_, index) => ({
    tag: Number(bytes.readBigInt64LE(index * DYNAMIC_ENTRY_BYTES)),
    value: Number(bytes.readBigUInt64LE(index * DYNAMIC_ENTRY_BYTES + 8)),
  }))
  return entries.slice(
    0,
    entries.findIndex(({ tag }) => tag === DT_NULL),
  )
}

/** The dynamic section names addresses in memory; the segments say where they are in the file. */
function fileOffset(segments: readonly Segment[], address: number): number {
  const segment = segments.find(
    ({ type, address: start, size }) => type === PT_LOAD && address >= start && address < start + size,
  )
  if (segment === undefined) throw new Error(`no segment contains the address ${address}`)
  return address - segment.address + segment.offset
}
