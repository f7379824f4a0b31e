// The samples of the operations in the order of their buttons: curl, TypeScript with our client, and JavaScript, Python
// and Go with nothing but what the language has. A sample sends exactly what the form would send. The programs fail unless the
// answer has the status of a success; curl shows the answer.

import { KEY_VARIABLE, type SampleRequest } from './sample-request.ts'

export type Language = (typeof LANGUAGES)[number]

export const LANGUAGES = [
  // `syntax` is for the highlighting (highlight.ts). `command` runs the file; without one, the sample goes into a shell.
  { id: 'curl', label: 'curl', syntax: 'shell', extension: 'sh', command: '', render: renderCurl },
  {
    id: 'typescript',
    label: 'TypeScript',
    syntax: 'javascript',
    extension: 'mts',
    command: 'node',
    render: renderTypeScript,
  },
  {
    id: 'javascript',
    label: 'JavaScript',
    syntax: 'javascript',
    extension: 'mjs',
    command: 'node',
    render: renderJavaScript,
  },
  {
    id: 'python',
    label: 'Python',
    syntax: 'python',
    extension: 'py',
    command: 'python3',
    render: renderPython,
  },
  { id: 'go', label: 'Go', syntax: 'go', extension: 'go', command: 'go run', render: renderGo },
] as const

function renderCurl({ method, url, headers, body }: SampleRequest): string {
  const isDefaultMethod = method === (body === undefined ? 'GET' : 'POST')
  return [
    // The answer to a removal has no body, so it is shown with its status.
    `curl ${method === 'DELETE' ? '--include ' : ''}${isDefaultMethod ? '' : `-X ${method} `}${quoteShell(url)}`,
    `-H "Authorization: Bearer $${KEY_VARIABLE}"`,
    ...headers.map(([name, value]) => `-H ${quoteShell(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoteShell(body)}`]),
  ].join(' \\\n  ')
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function renderTypeScript(request: SampleRequest): string {
  // The client has no option for this header, but sends any header that it is given.
  const { 'If-None-Match': tags } = request.values
  const isSent = tags !== undefined && request.method !== 'GET'
  const headers = isSent ? [`  headers: { 'If-None-Match': ${quote(tags)} },`] : []
  return renderProgram(request.baseUrl, headers, renderCall(request))
}

/** Says as which file a sample is stored, and how it runs: `list.mts · node list.mts`. */
export function describeRun({ extension, command }: Language, name: string): string {
  const file = `${name}.${extension}`
  return command === '' ? 'in a shell' : `${file} · ${command} ${file}`
}

/** A complete program with our client. */
export function withClient(baseUrl: string, ...lines: readonly string[]): string {
  return renderProgram(baseUrl, [], lines)
}

function renderProgram(baseUrl: string, options: readonly string[], lines: readonly string[]): string {
  return [
    `import { AnimalStore } from ${quote('animal-store-client')}`,
    ``,
    `const store = new AnimalStore({`,
    `  baseUrl: ${quote(baseUrl)},`,
    `  apiKey: process.env.${KEY_VARIABLE} ?? '',`,
    ...options,
    `})`,
    ...lines,
  ].join('\n')
}

function renderCall({ operationId, values, body = '' }: SampleRequest): readonly string[] {
  const { petId = '' } = values
  switch (operationId) {
    case 'listPets': {
      const isSearch = values.name !== undefined || values.categoryId !== undefined
      return [
        `const { animals, next } = await store.listAnimals(${renderListOptions(values)})`,
        `for (const animal of animals) console.log(animal.id, animal.name)`,
        `console.log(next ? 'There ${isSearch ? 'may be' : 'are'} more.' : 'That is all.')`,
      ]
    }
    case 'createPet':
      return [
        `const animal = await store.createAnimal(${renderArguments(renderObject(body), renderWriteOptions(values))})`,
        `console.log(animal.id, animal.name)`,
      ]
    case 'updatePet':
      return [
        `const animal = await store.updateAnimal(${renderArguments(renderInteger(petId), renderObject(body), renderWriteOptions(values))})`,
        `console.log(animal.id, animal.name, animal.status)`,
      ]
    case 'deletePet':
      return [
        `await store.deleteAnimal(${renderArguments(renderInteger(petId), renderWriteOptions(values))})`,
        `console.log('The animal was removed.')`,
      ]
    case 'getInventory':
      return ['console.log(await store.inventory())']
    case 'getPet':
      return [
        `// Does not use the deprecated operation, so it works after the removal too.`,
        `const animal = await store.findAnimal(${renderInteger(petId)})`,
        `console.log(animal?.name ?? ${quote('There is no animal with this id.')})`,
      ]
    default:
      throw new Error(`there is no sample for ${operationId}`)
  }
}

function renderListOptions(values: SampleRequest['values']): string {
  const { limit, status, name, categoryId, after, before } = values
  return renderOptions([
    limit !== undefined && `limit: ${/^\d+$/.test(limit) ? limit : quote(limit)}`,
    status !== undefined && `status: ${quote(status)}`,
    name !== undefined && `name: ${quote(name)}`,
    categoryId !== undefined && `categoryId: ${renderInteger(categoryId)}`,
    after !== undefined && `after: ${renderInteger(after)}`,
    before !== undefined && `before: ${renderInteger(before)}`,
  ])
}

function renderWriteOptions(values: SampleRequest['values']): string {
  const { 'If-Match': ifMatch, ifStatus, 'Idempotency-Key': idempotencyKey } = values
  return renderOptions([
    ifMatch !== undefined && `ifMatch: ${quote(ifMatch)}`,
    ifStatus !== undefined && `ifStatus: ${quote(ifStatus)}`,
    idempotencyKey !== undefined && `idempotencyKey: ${quote(idempotencyKey)}`,
  ])
}

function renderOptions(members: readonly (string | false)[]): string {
  const options = members.filter(member => member !== false)
  return options.length === 0 ? '' : `{ ${options.join(', ')} }`
}

/** Options may be empty. */
function renderArguments(...values: readonly string[]): string {
  return values.filter(value => value !== '').join(', ')
}

/** The client takes ids and categories as `bigint`. */
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

/** The statuses of a success. An answer with any other status, also a redirection, is not the API's answer to the request. */
function successStatuses({ method, headers }: SampleRequest): readonly number[] {
  if (method === 'POST') return [201]
  if (method === 'DELETE') return [204]
  const isConditional = headers.some(([name]) => name === 'If-None-Match')
  return method === 'GET' && isConditional ? [200, 304] : [200]
}

/** A condition that is true if the status is not one of a success. */
function isUnexpected(request: SampleRequest, status: string, equality: string, and: string): string {
  return successStatuses(request)
    .map(success => `${status} ${equality} ${success}`)
    .join(` ${and} `)
}

function renderJavaScript(request: SampleRequest): string {
  const { method, url, headers, body } = request
  return [
    `const response = await fetch(${quote(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    `    Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\`,`,
    ...headers.map(([name, value]) => `    ${quote(name)}: ${quote(value)},`),
    '  },',
    ...(body === undefined ? [] : [`  body: ${quoteTemplate(body)},`]),
    '})',
    '// As text, because parsing it as JSON would round ids above 2 ** 53.',
    'const answer = await response.text()',
    `if (${isUnexpected(request, 'response.status', '!==', '&&')}) throw new Error(\`\${response.status} \${answer}\`)`,
    'console.log(response.status, answer)',
  ].join('\n')
}

function quoteTemplate(text: string): string {
  return `\`${text.replace(/[\\`]|\$(?=\{)/g, '\\$&')}\``
}

function renderPython(request: SampleRequest): string {
  const { method, url, headers, body } = request
  return [
    'import json',
    'import os',
    'import urllib.error',
    'import urllib.request',
    '',
    ...(body === undefined ? [] : [`body = ${quotePython(body)}`]),
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    '    headers={',
    `        "Authorization": "Bearer " + os.environ["${KEY_VARIABLE}"],`,
    ...headers.map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    '    },',
    ...(body === undefined ? [] : ['    data=body.encode(),']),
    ')',
    'try:',
    '    response = urllib.request.urlopen(request)',
    'except urllib.error.HTTPError as error:',
    '    response = error',
    'answer = response.read().decode()',
    `if ${isUnexpected(request, 'response.status', '!=', 'and')}:`,
    '    raise RuntimeError(f"{response.status} {answer}")',
    // Without a body, as after a removal, it prints None.
    'print(response.status, json.loads(answer or "null"))',
  ].join('\n')
}

/** Escapes backslashes, and the quotes that would end the string: before another quote, and at the end of the text. */
function quotePython(text: string): string {
  return `"""${text.replace(/\\|"(?="|$)/g, '\\$&')}"""`
}

const CHECK = ['\tif err != nil {', '\t\tlog.Fatal(err)', '\t}']

function renderGo(request: SampleRequest): string {
  const { method, url, headers, body } = request
  const packages = ['fmt', 'io', 'log', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])]
  const reader = body === undefined ? 'nil' : 'body'
  return [
    'package main',
    '',
    `import (`,
    ...packages.map(name => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...(body === undefined ? [] : [`\tbody := strings.NewReader(${quoteGo(body)})`]),
    `\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${reader})`,
    ...CHECK,
    `\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY_VARIABLE}"))`,
    ...headers.map(
      ([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${JSON.stringify(value)})`,
    ),
    '\tresponse, err := http.DefaultClient.Do(request)',
    ...CHECK,
    '\tdefer response.Body.Close()',
    '\tanswer, err := io.ReadAll(response.Body)',
    ...CHECK,
    `\tif ${isUnexpected(request, 'response.StatusCode', '!=', '&&')} {`,
    '\t\tlog.Fatal(response.Status, " ", string(answer))',
    '\t}',
    '\tfmt.Println(response.Status, string(answer))',
    '}',
  ].join('\n')
}

/** A raw string has no escapes, so it cannot contain a backtick. */
function quoteGo(text: string): string {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``
}
