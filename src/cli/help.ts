// The help of the command line, wrapped to the width of the terminal.

import type { Command } from './command.ts'
import { describeSettings } from './read-settings.ts'

/** Lists these commands: all of them, or those of a group such as `keys`. */
export function overview(commands: readonly Command[], columns: number, group?: string): string {
  const title = group === undefined ? 'COMMAND' : `${group} COMMAND`
  return [
    `Usage: animal-store ${title} [FLAGS]`,
    '',
    ...twoColumns(
      commands.map(command => [usage(command), command.summary]),
      columns,
    ),
    '',
    ...wrap(`See animal-store ${title} --help for the flags and examples of a command.`, columns),
  ].join('\n')
}

export function help(command: Command, columns: number): string {
  const { examples = [] } = command
  return [
    `Usage: animal-store ${usage(command)} [FLAGS]`,
    '',
    ...wrap(command.summary, columns),
    '',
    ...twoColumns(
      [
        ...describeSettings(command.settings),
        ['--help', 'print this help'],
        ['--version', 'print the version'],
      ],
      columns,
    ),
    ...(examples.length > 0
      ? ['', 'Examples:', ...examples.map(example => `  animal-store ${example}`)]
      : []),
  ].join('\n')
}

function usage({ name, operands = [] }: Command): string {
  return [name, ...operands].join(' ')
}

const MIN_TEXT_WIDTH = 30

function twoColumns(rows: readonly (readonly [string, string])[], columns: number): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  const indent = width + 4
  // In a very narrow terminal, the text starts on a line of its own.
  const isNarrow = columns - indent < MIN_TEXT_WIDTH
  return rows.flatMap(([left, right]) => {
    if (isNarrow) return [`  ${left}`, ...wrap(right, columns - 6).map(line => `      ${line}`)]
    return wrap(right, columns - indent).map(
      (line, index) => `  ${(index === 0 ? left : '').padEnd(width)}  ${line}`,
    )
  })
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
