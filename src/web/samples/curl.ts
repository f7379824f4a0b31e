// Samples for curl.

import { KEY_VARIABLE, type SampleRequest } from './request.ts'

export function renderCurl({ method, url, headers, body, apiKey }: SampleRequest): string {
  const isDefaultMethod = method === (body === undefined ? 'GET' : 'POST')
  const key =
    apiKey === undefined
      ? `"Authorization: Bearer $${KEY_VARIABLE}"`
      : quote(`Authorization: Bearer ${apiKey}`)
  return [
    `curl ${isDefaultMethod ? '' : `-X ${method} `}${quote(url)}`,
    `-H ${key}`,
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quote(body)}`]),
  ].join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
