// Writes a count with its noun for a message, such as "1 animal" or "2,000 animals".

export function formatCount(count: number | bigint, noun = 'animal'): string {
  return `${count.toLocaleString('en')} ${noun}${BigInt(count) === 1n ? '' : 's'}`
}
