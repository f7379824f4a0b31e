// Counts in messages.

export function counted(animals: number): string {
  return animals === 1 ? '1 animal' : `${animals} animals`
}
