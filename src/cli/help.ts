// The help of the command line, and suggestions for mistyped words.

import type { Command } from './command.ts'
import { COMMON_SETTINGS, SETTINGS, type Setting } from './settings.ts'

/** The width of most terminals. */
const COLUMNS = 80

/** Lists these commands: all of them, or those of a group such as `keys`. */
export function overview(commands: readonly Command[], group: string): string {
  const title = `${group} COMMAND`.trim()
  return [
    `Usage: animal-store ${title} [FLAGS]`,
    '',
    ...twoColumns(commands.map(command => [usage(command), command.summary])),
    '',
    `See animal-store ${title} --help for the flags and examples of a command.`,
  ].join('\n')
}

export function help(command: Command): string {
  const { examples = [] } = command
  return [
    `Usage: animal-store ${usage(command)} [FLAGS]`,
    '',
    ...wrap(command.summary, COLUMNS),
    '',
    ...twoColumns([
      ...describeSettings(command),
      ['--help', 'print this help'],
      ['--version', 'print the version'],
    ]),
    ...(examples.length > 0
      ? ['', 'Examples:', ...examples.map(example => `  animal-store ${example}`)]
      : []),
  ].join('\n')
}

/** Returns the usage and the description of each setting. */
function describeSettings({
  settings,
  descriptions,
  defaults,
}: Command): [usage: string, description: string][] {
  return [...settings, ...COMMON_SETTINGS].map(name => {
    const setting: Setting<unknown> = SETTINGS[name]
    const { flag, placeholder, variable } = setting
    const description = descriptions?.[name] ?? setting.description
    const usage = flag === undefined ? `(${variable})` : `--${flag}${placeholder ? ` ${placeholder}` : ''}`
    const text = defaults?.[name] ?? defaultText(setting)
    const notes = [flag && variable, text && `default ${text}`].filter(Boolean).join(', ')
    return [usage, notes ? `${description} (${notes})` : description]
  })
}

/** Returns the default as the help and the docs show it, or undefined if there is none. */
export function defaultText({ default: value, defaultText }: Setting<unknown>): string | undefined {
  return defaultText ?? (value === undefined || value === false || value === '' ? undefined : String(value))
}

function usage({ name, operands = [], settings }: Command): string {
  const required = settings
    .map((setting): Setting<unknown> => SETTINGS[setting])
    .filter(({ isRequired }) => isRequired)
    .map(({ flag, placeholder }) => `--${flag} ${placeholder}`)
  return [name, ...operands, ...required].join(' ')
}

function twoColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.flatMap(([left, right]) =>
    wrap(right, COLUMNS - width - 4).map(
      (line, index) => `  ${(index === 0 ? left : '').padEnd(width)}  ${line}`,
    ),
  )
}

/** Breaks the text at spaces. A word that is longer than the line stays whole. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

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
