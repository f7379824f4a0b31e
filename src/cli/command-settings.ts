// The settings of the commands other than serve: flags without an environment variable.

import {
  DAY_MS,
  defaultDuration,
  durationBetween,
  FORMAT_NAMES,
  matching,
  oneOf,
  parseLineNumber,
} from './setting-values.ts'

const MAX_KEY_NAME_LENGTH = 100
const KEY_LIFETIME_EXAMPLE = ', such as 90d or 24h'
const MAX_KEY_LIFETIME_MS = 3650 * DAY_MS

export const COMMAND_SETTINGS = {
  name: {
    flag: 'name',
    placeholder: 'NAME',
    description: `what the key is for, in at most ${MAX_KEY_NAME_LENGTH} characters`,
    isRequired: true,
    parse: matching(
      new RegExp(`^(?=.*\\S)[^\\p{Cc}]{1,${MAX_KEY_NAME_LENGTH}}$`, 'u'),
      `1 to ${MAX_KEY_NAME_LENGTH} characters, not blank, without control characters`,
    ),
  },
  expires: {
    flag: 'expires',
    placeholder: 'TIME',
    defaultText: 'never',
    description: 'how long the key is valid, such as 90d',
    parse: durationBetween(1_000, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
  },
  overlap: {
    flag: 'overlap',
    placeholder: 'TIME',
    ...defaultDuration(DAY_MS),
    description: 'how long the old key keeps working, such as 0s or 24h',
    parse: durationBetween(0, MAX_KEY_LIFETIME_MS, KEY_LIFETIME_EXAMPLE),
  },
  format: {
    flag: 'format',
    placeholder: 'NAME',
    defaultText:
      'by the extension of FILE; if it is unknown, import looks at the content and export writes jsonl',
    description: FORMAT_NAMES.join(' or '),
    parse: oneOf(FORMAT_NAMES),
  },
  spreadsheetSafe: {
    flag: 'spreadsheet-safe',
    default: false,
    description: 'CSV: put an apostrophe before names that a spreadsheet would run as formulas',
    parse: () => true,
  },
  skipInvalid: {
    flag: 'skip-invalid',
    default: false,
    description: 'report invalid lines and import the others',
    parse: () => true,
  },
  fromLine: {
    flag: 'from-line',
    placeholder: 'NUMBER',
    default: 1,
    description: 'line to start at, to resume an interrupted import',
    parse: parseLineNumber,
  },
  json: { flag: 'json', default: false, description: 'print JSON', parse: () => true },
} as const
