// JSON Lines: one animal per line.

import { type Animal, parseAnimalJson, parseNewAnimal, renderAnimal } from '../animal.ts'
import { invalid } from '../error.ts'
import { checkBytes, isBlank, type Reader } from './import-entry.ts'

export function renderJsonLine(animal: Animal): string {
  return `${renderAnimal(animal)}\n`
}

export function jsonLinesReader(fromLine: number): Reader {
  return function* (lines) {
    lines.skipTo(fromLine)
    while (lines.bytes.length > 0) {
      const { number } = lines
      const line = lines.takeOne()
      if (isBlank(line)) continue
      yield { firstLine: number, lastLine: number, animal: () => parseNewAnimal(parseLine(line)) }
    }
  }
}

function parseLine(line: Buffer): unknown {
  checkBytes(line)
  if (line.toString('latin1').trimStart().startsWith('[')) {
    throw invalid(
      "the file must not be a JSON array: write one animal per line, for example with jq -c '.[]'.",
    )
  }
  try {
    return parseAnimalJson(line.toString())
  } catch {
    throw invalid('the line must be a JSON object.')
  }
}
