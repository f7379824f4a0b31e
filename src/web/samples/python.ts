// Samples for Python, with its standard library only.

import { KEY_VARIABLE, type SampleRequest } from './request.ts'

export function renderPython({ method, url, headers, body, apiKey }: SampleRequest): string {
  const key =
    apiKey === undefined ? `"Bearer " + os.environ["${KEY_VARIABLE}"]` : JSON.stringify(`Bearer ${apiKey}`)
  return [
    'import json',
    ...(apiKey === undefined ? ['import os'] : []),
    'import urllib.request',
    '',
    ...(body === undefined ? [] : [`body = ${quoteLines(body)}`]),
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    '    headers={',
    `        "Authorization": ${key},`,
    ...headers.map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    '    },',
    ...(body === undefined ? [] : ['    data=body.encode(),']),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(response.status, json.load(response))',
  ].join('\n')
}

/** Escapes backslashes, and the quotes that would end the string: before another quote, and at the end of the text. */
function quoteLines(text: string): string {
  return `"""${text.replace(/\\|"(?="|$)/g, '\\$&')}"""`
}
