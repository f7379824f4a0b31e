// Counts in messages.

export function counted(count: number | bigint, noun = 'animal'): string {
  return `${count.toLocaleString('en')} ${noun}${BigInt(count) === 1n ? '' : 's'}`
}
