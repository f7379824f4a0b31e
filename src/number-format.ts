// Numbers for people, such as 2,000 and "1 animal".

export function formatNumber(count: number | bigint): string {
  return count.toLocaleString('en')
}

/** Returns the number with its noun. */
export function formatCount(count: number | bigint, noun: string): string {
  return `${formatNumber(count)} ${noun}${BigInt(count) === 1n ? '' : 's'}`
}
