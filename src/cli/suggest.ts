// Suggests the command or flag that a person probably meant.

/** Returns the candidate with the fewest edits from the typed word, if they are few enough for a typo. */
export function closest(typed: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map(candidate => ({ candidate, edits: editDistance(typed, candidate) }))
    .toSorted((one, other) => one.edits - other.edits)
  const best = ranked[0]
  return best && best.edits <= Math.max(2, best.candidate.length / 3) ? best.candidate : undefined
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1]
    for (const [column, other] of [...to].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === other ? 0 : 1)
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
