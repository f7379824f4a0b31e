// Samples for Go, with its standard library only.

import { KEY_VARIABLE, type SampleRequest } from './request.ts'

const CHECK = ['\tif err != nil {', '\t\tlog.Fatal(err)', '\t}']

export function renderGo({ method, url, headers, body, apiKey }: SampleRequest): string {
  const packages = ['fmt', 'io', 'log', 'net/http']
  if (apiKey === undefined) packages.push('os')
  if (body !== undefined) packages.push('strings')
  const key =
    apiKey === undefined ? `"Bearer "+os.Getenv("${KEY_VARIABLE}")` : JSON.stringify(`Bearer ${apiKey}`)
  const reader = body === undefined ? 'nil' : 'body'
  return [
    'package main',
    '',
    `import (`,
    ...packages.map(name => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...(body === undefined ? [] : [`\tbody := strings.NewReader(${quoteLines(body)})`]),
    `\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${reader})`,
    ...CHECK,
    `\trequest.Header.Set("Authorization", ${key})`,
    ...headers.map(
      ([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${JSON.stringify(value)})`,
    ),
    '\tresponse, err := http.DefaultClient.Do(request)',
    ...CHECK,
    '\tdefer response.Body.Close()',
    '\tanswer, err := io.ReadAll(response.Body)',
    ...CHECK,
    '\tfmt.Println(response.Status, string(answer))',
    '}',
  ].join('\n')
}

/** A raw string has no escapes, so it cannot contain a backtick. */
function quoteLines(text: string): string {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``
}
