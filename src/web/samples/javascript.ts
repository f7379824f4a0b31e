// Samples for JavaScript, with our client.

import { KEY_VARIABLE, type SampleRequest } from './request.ts'

export function renderJavaScript(request: SampleRequest): string {
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
        `// Does not use the deprecated operation, so it works after the removal too.`,
        `const animal = await store.findAnimal(${renderInteger(petId)})`,
        `console.log(animal?.name ?? ${quote('There is no animal with this id.')})`,
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
