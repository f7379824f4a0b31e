// One promise of the service, and what an experiment measured.

export interface Figure {
  readonly promise: string
  readonly measured: string
  readonly holds: boolean
}

/** Runs an experiment from the command line: prints its figures, and exits with 1 if a promise does not hold. */
export async function report(experiment: (options: { quick: boolean }) => Promise<Figure[]>): Promise<void> {
  const figures = await experiment({ quick: process.argv.includes('--quick') })
  for (const { promise, measured, holds } of figures)
    console.log(`${holds ? 'holds ' : 'BROKEN'}  ${promise}: ${measured}`)
  process.exitCode = figures.every(({ holds }) => holds) ? 0 : 1
}
