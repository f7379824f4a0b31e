// Checks the numbers on a benchmark's command line. They limit how long it runs.

/** Prints what is wrong, followed by the usage, and ends the process with exit code 2. */
export function misuse(problem: string, usage: string): never {
  console.error(`${problem}\n\n${usage}`)
  process.exit(2)
}

export function isWholeNumber(text: string, min: number, max: number): boolean {
  return /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
}
