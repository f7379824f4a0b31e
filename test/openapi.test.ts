// The OpenAPI document: what it contains, and that docs/openapi.json is up to date.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { HTTP_STATUS_OF } from '../src/error.ts'
import { OPERATIONS } from '../src/http/api/operations.ts'
import { schemaAt } from './support/openapi.ts'
import { startTestService } from './support/service.ts'

const published = readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8')
const ADDRESSES = {
  productionUrl: 'https://api.animal-store.example/v1',
  stagingUrl: 'https://staging.animal-store.example/v1',
}

interface Described {
  readonly operationId: string
  readonly deprecated?: boolean
  readonly responses: Readonly<Record<string, unknown>>
}

suite('the OpenAPI document', () => {
  test('in docs/ is the one that the service serves (if not, run `npm run openapi`)', async t => {
    const service = await startTestService(t, ADDRESSES)
    const served = await service.send('GET', '/openapi.json', { headers: { authorization: '' } })
    assert.equal(served.status, 200)
    assert.equal(served.headers['content-type'], 'application/json')
    assert.equal(served.text, published)
  })

  test('contains version 1.0.0, the operations, the bearer scheme and both servers', () => {
    const document = JSON.parse(published)
    assert.match(document.openapi, /^3\.1\./)
    assert.equal(document.info.version, '1.0.0')
    assert.deepEqual(document.servers, [
      { url: ADDRESSES.productionUrl, description: 'Production' },
      { url: ADDRESSES.stagingUrl, description: 'Staging' },
    ])
    assert.equal(document.paths['/pets'].get.operationId, 'listPets')
    assert.equal(document.paths['/pets'].post.operationId, 'createPet')
    assert.equal(document.paths['/pets/{petId}'].get.operationId, 'getPet')
    assert.equal(document.paths['/pets/{petId}'].get.deprecated, true)
    assert.equal(document.components.securitySchemes.apiKey.scheme, 'bearer')
    assert.deepEqual(document.security, [{ apiKey: [] }])
    for (const field of ['id', 'categoryId'])
      assert.equal(document.components.schemas.Animal.properties[field].format, 'int64')
  })

  test('marks the operations and the parameters that versions after 1.0 have added', () => {
    type Marked = { name: string; 'x-added-in'?: string }
    const { paths } = JSON.parse(published) as {
      paths: Record<string, Record<string, Marked & { operationId: string; parameters: Marked[] }>>
    }
    const marked = Object.values(paths)
      .flatMap(methods => Object.values(methods))
      .flatMap(operation => [
        [operation.operationId, operation['x-added-in']],
        ...operation.parameters.map(parameter => [
          `${operation.operationId} ${parameter.name}`,
          parameter['x-added-in'],
        ]),
      ])
      .filter(([, version]) => version !== undefined)
    assert.deepEqual(Object.fromEntries(marked), {
      'listPets name': '1.1',
      'listPets categoryId': '1.1',
      getInventory: '1.1',
      updatePet: '1.2',
      deletePet: '1.2',
      'getPet If-None-Match': '1.2',
    })
  })

  test('describes exactly the operations of the table, with the status of their success', () => {
    const { paths } = JSON.parse(published) as { paths: Record<string, Record<string, Described>> }
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, deprecated, responses }]) => ({
        id: operationId,
        method: method.toUpperCase(),
        path: `/v1${path}`,
        success: Number(Object.keys(responses).find(status => status < '300')),
        ...(deprecated !== undefined && { deprecated }),
      })),
    )
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
    assert.deepEqual(
      described.sort(byId),
      OPERATIONS.map(({ isWrite, ...operation }) => operation).sort(byId),
    )
  })

  test('calls an animal an animal, except in the paths and names that the specification fixes', () => {
    assert.doesNotMatch(
      published.replaceAll(/\/pets|(list|create|update|delete|get)Pets?\b|petId/g, ''),
      /pet/i,
    )
  })

  test('has the exact limits of int64, not the nearest double', () => {
    assert.ok(published.includes('"maximum": 9223372036854775807'))
    assert.ok(published.includes('"minimum": -9223372036854775808'))
    assert.ok(published.includes('"categoryId": 9007199254740993'))
  })

  test('lists exactly the error codes of the service, and allows other ones', () => {
    const { ErrorCode } = JSON.parse(published).components.schemas
    const listed = [...ErrorCode.description.matchAll(/`(\w+)` \((\d+)\)/g)].map(([, code, status]) => [
      code,
      Number(status),
    ])
    assert.deepEqual(Object.fromEntries(listed), HTTP_STATUS_OF)
    assert.equal(ErrorCode.type, 'string')
    assert.equal(ErrorCode.enum, undefined)
    // Only a body that is sent may have no other members.
    const { AnimalChanges, ...others } = JSON.parse(published).components.schemas
    assert.equal(AnimalChanges.additionalProperties, false)
    assert.doesNotMatch(JSON.stringify(others), /additionalProperties/)
  })

  test('can be used by generators of clients', () => {
    const { paths, components } = JSON.parse(published)
    for (const name of Object.keys(components.schemas)) assert.equal(name in globalThis, false, name)
    // Some generators replace \u escapes, and then write the pattern between slashes without escaping it.
    const { pattern } = components.schemas.NewAnimal.properties.name
    assert.doesNotMatch(pattern, /\\u|\/|[^ -~]/)
    assert.ok(new RegExp(pattern).test('Bella'))
    const [limit] = paths['/pets'].get.parameters
    assert.equal(limit.schema.format, 'int32')
    const [key] = paths['/pets'].post.parameters
    // Tools would send a fixed example with every creation, so the service would store only the first animal.
    assert.equal('example' in key || 'examples' in key, false)
  })

  test('has only valid schemas', () => {
    const ajv = new Ajv2020()
    const { components } = JSON.parse(published)
    const schemas = Object.values<object>(components.schemas)
    JSON.parse(published, (key, value: object) => {
      if (key === 'schema') schemas.push(value)
      return value
    })
    assert.ok(schemas.length > 30, `${schemas.length} schemas`)
    for (const schema of schemas)
      assert.ok(ajv.validateSchema(schema), `${ajv.errorsText()} in ${JSON.stringify(schema)}`)
  })

  test('has examples that match its schemas', () => {
    const { paths, components } = JSON.parse(published)
    let checked = 0
    const check = (described: { content?: Record<string, { example: unknown }> }, pointer: string) => {
      if (!described.content) return
      const validate = schemaAt(`${pointer}/content/application~1json/schema`)
      assert.ok(validate(described.content['application/json']?.example), pointer)
      checked++
    }
    for (const [name, response] of Object.entries(components.responses))
      check(response as object, `/components/responses/${name}`)
    for (const [path, methods] of Object.entries(
      paths as Record<string, Record<string, { requestBody?: object; responses: object }>>,
    )) {
      for (const [method, { requestBody, responses }] of Object.entries(methods)) {
        const pointer = `/paths/${path.replaceAll('/', '~1')}/${method}`
        if (requestBody) check(requestBody, `${pointer}/requestBody`)
        for (const [status, response] of Object.entries(responses))
          check(response, `${pointer}/responses/${status}`)
      }
    }
    assert.ok(checked > 15, `${checked} examples`)
  })

  test('names this server for its own environment unless a public URL is configured', async t => {
    for (const [options, expected] of [
      [{}, ['<own>']],
      [{ environment: 'staging' }, ['<own>']],
      [{ environment: 'staging', ...ADDRESSES }, [ADDRESSES.productionUrl, ADDRESSES.stagingUrl]],
      [
        { environment: 'staging', productionUrl: ADDRESSES.productionUrl },
        [ADDRESSES.productionUrl, '<own>'],
      ],
    ] as const) {
      const service = await startTestService(t, options)
      const { servers } = JSON.parse((await service.send('GET', '/openapi.json')).text)
      const urls = servers.map(({ url }: { url: string }) => url.replace(`${service.address}/v1`, '<own>'))
      assert.deepEqual(urls, expected)
    }
  })
})
