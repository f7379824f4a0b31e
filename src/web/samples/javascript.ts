// Samples for JavaScript: with our client, and with fetch alone.

import { KEY_VARIABLE, type SampleRequest } from './request.ts'

export function renderClient(request: SampleRequest): string {
  const { baseUrl, apiKey } = request
  const key = apiKey === undefined ? `process.env.${KEY_VARIABLE}` : quote(apiKey)
  return [
    `import { AnimalStore } from ${quote('animal-store-client')}`,
    ``,
    `const store = new AnimalStore({`,
    `  baseUrl: ${quote(baseUrl)},`,
    `  apiKey: ${key},`,
    `})`,
    ...renderCall(request),
  ].join('\n')
}

export function renderFetch({ method, url, headers, body, apiKey }: SampleRequest): string {
  const key = apiKey === undefined ? `\`Bearer \${process.env.${KEY_VARIABLE}}\`` : quote(`Bearer ${apiKey}`)
  return [
    `const response = await fetch(${quote(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${quote(method)},`]),
    `  headers: {`,
    `    Authorization: ${key},`,
    ...headers.map(([name, value]) => `    ${quote(name)}: ${quote(value)},`),
    `  },`,
    ...(body === undefined ? [] : [`  body: ${quoteLines(body)},`]),
    `})`,
    `// As text, because a parser that uses doubles rounds large ids.`,
    `console.log(response.status, await response.text())`,
  ].join('\n')
}

function renderCall({ operationId, values, body = '' }: SampleRequest): readonly string[] {
  const { 'Idempotency-Key': idempotencyKey, petId = '' } = values
  switch (operationId) {
    case 'listPets':
      return [
        `const { animals, next } = await store.listAnimals(${renderListOptions(values)})`,
        `for (const animal of animals) console.log(animal.id, animal.name)`,
        `console.log(next ? 'There are more.' : 'That is all.')`,
      ]
    case 'createPet': {
      const options = idempotencyKey === undefined ? '' : `, { idempotencyKey: ${quote(idempotencyKey)} }`
      return [
        `const animal = await store.createAnimal(${renderObject(body)}${options})`,
        `console.log(animal.id, animal.name)`,
      ]
    }
    default:
      return [
        `const animal = await store.getAnimal(${renderInteger(petId)})`,
        `console.log(animal.id, animal.name)`,
      ]
  }
}

function renderListOptions({ limit, status, after, before }: SampleRequest['values']): string {
  const options = [
    limit !== undefined && `limit: ${/^\d+$/.test(limit) ? limit : quote(limit)}`,
    status !== undefined && `status: ${quote(status)}`,
    after !== undefined && `after: ${renderInteger(after)}`,
    before !== undefined && `before: ${renderInteger(before)}`,
  ].filter(option => option !== false)
  return options.length === 0 ? '' : `{ ${options.join(', ')} }`
}

/** The client takes ids as `bigint`. */
function renderInteger(text: string): string {
  return /^-?\d+$/.test(text) ? `${text}n` : quote(text)
}

/** Turns JSON into an object literal: names without quotes, and integers as `bigint`. */
function renderObject(json: string): string {
  return json
    .trim()
    .replace(/"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token, text, colon) => {
      if (text === undefined) return /^-?\d+$/.test(token) ? `${token}n` : token
      if (colon === undefined) return text.includes('\\') ? token : quote(text)
      return /^[A-Za-z_]\w*$/.test(text) ? text + colon : token
    })
}

function quote(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped}'`
}

function quoteLines(text: string): string {
  return `\`${text.replace(/[\\`]|\$(?=\{)/g, '\\$&')}\``
}
