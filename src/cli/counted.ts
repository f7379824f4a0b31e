// Counts in messages.

export function counted(animals: number | bigint): string {
  return BigInt(animals) === 1n ? '1 animal' : `${animals} animals`
}
