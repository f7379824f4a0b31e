// One promise of the service, and what an experiment measured.

export interface Figure {
  readonly promise: string
  readonly measured: string
  readonly holds: boolean
  /** It depends on how fast the machine is. A short run prints it, and only the full run fails because of it. */
  readonly isSpeed?: boolean
}

export interface Options {
  /** Runs the short form, which every change must pass. */
  readonly quick: boolean
}

export type Experiment = (options: Options) => Promise<Figure[]>

/** Prints the figures. Returns whether all promises hold. A quick run ignores those about speed. */
export function print(figures: readonly Figure[], { quick }: Options): boolean {
  for (const { promise, measured, holds } of figures)
    console.log(`${holds ? 'holds ' : 'BROKEN'}  ${promise}: ${measured}`)
  return figures.every(({ holds, isSpeed }) => holds || (quick && isSpeed === true))
}

/** Runs an experiment from the command line, and exits with 1 if a promise does not hold. */
export async function report(experiment: Experiment): Promise<void> {
  const options = { quick: process.argv.includes('--quick') }
  process.exitCode = print(await experiment(options), options) ? 0 : 1
}
