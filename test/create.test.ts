// Creating an animal: the reply, and which values each field accepts. create-body.test.ts tests the request body.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'
import { type Reply, shared, startTestService, type TestService } from './support/service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

function body(categoryId: string, name = '"Bella"'): string {
  return `{"name":${name},"categoryId":${categoryId}}`
}

/** Checks that getting and listing the newest animal return the same text as its creation. Returns its id. */
async function assertReadBack(service: TestService, created: Reply): Promise<bigint> {
  const { id } = created.json as { id: bigint }
  assert.equal((await service.send('GET', `/v1/pets/${id}`)).text, created.text)
  assert.equal((await service.send('GET', `/v1/pets?after=${id - 1n}`)).text, `[${created.text}]`)
  return id
}

onEveryDatabase('POST /v1/pets', startTestService => {
  const accepting = shared(startTestService)

  test('returns 201 with the id and the Location of the new animal', async t => {
    const service = await startTestService(t)
    const reply = await service.create({ name: 'Bella', categoryId: 7, status: 'available' })
    assert.equal(reply.status, 201)
    assert.equal(reply.text, '{"id":1,"name":"Bella","categoryId":7,"status":"available"}')
    assert.equal(reply.headers.location, '/v1/pets/1')
    assert.equal(reply.headers['idempotent-replayed'], undefined)
    assert.equal((await service.send('GET', '/v1/pets/1')).text, reply.text)
    assert.equal((await service.send('GET', '/v1/pets')).text, `[${reply.text}]`)
  })

  test('stores no status if none is sent, and omits the field in every reply', async t => {
    const service = await startTestService(t)
    const reply = await service.create({ name: 'Bella', categoryId: 7 })
    assert.equal(reply.text, '{"id":1,"name":"Bella","categoryId":7}')
    assert.equal((await service.send('GET', '/v1/pets/1')).text, reply.text)
    assert.equal((await service.send('GET', '/v1/pets')).text, `[${reply.text}]`)
  })

  test('ignores unknown members, including id and deeply nested ones', async t => {
    const service = await startTestService(t)
    const deep = '['.repeat(30_000) + ']'.repeat(30_000)
    const reply = await service.create(
      `{"id":99,"__proto__":{"status":"sold"},"constructor":1,"deep":${deep},"name":"Bella","categoryId":7}`,
    )
    assert.equal(reply.status, 201)
    assert.equal(reply.text, '{"id":1,"name":"Bella","categoryId":7}')
  })

  test('uses the last value of a duplicate member', async t => {
    const service = await startTestService(t)
    const reply = await service.create(
      '{"name":"a","categoryId":1.5,"name":"b","categoryId":9007199254740993}',
    )
    assert.equal(reply.text, '{"id":1,"name":"b","categoryId":9007199254740993}')
  })

  test('ignores a query string', async () => {
    const reply = await accepting().send('POST', '/v1/pets?limit=0&x', {
      headers: JSON_TYPE,
      body: body('1'),
    })
    assert.equal(reply.status, 201)
  })

  suite('categoryId', () => {
    const exact: [string, string][] = [
      ['-0', '0'],
      ['0e999999999', '0'],
      ['-1', '-1'],
      ['1.0', '1'],
      ['1e2', '100'],
      ['1E+2', '100'],
      ['10e-1', '1'],
      ['1.50e1', '15'],
      [`1${'0'.repeat(50_000)}e-50000`, '1'],
      [`1.${'0'.repeat(60_000)}`, '1'],
      ['9007199254740993', '9007199254740993'],
      ['-9007199254740993', '-9007199254740993'],
      ['9223372036854775807', '9223372036854775807'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['922337203685477580.7e1', '9223372036854775807'],
    ]
    for (const [sent, stored] of exact) {
      test(`stores ${sent.slice(0, 30)} as exactly ${stored}; create, get and list return it`, async () => {
        const reply = await accepting().create(body(sent))
        assert.equal(reply.status, 201, reply.text)
        const id = await assertReadBack(accepting(), reply)
        assert.equal(reply.text, `{"id":${id},"name":"Bella","categoryId":${stored}}`)
      })
    }
  })

  suite('name', () => {
    const accepted: [string, string][] = [
      ['one character', 'x'],
      ['1,000 characters', 'x'.repeat(1000)],
      ['1,000 characters outside the basic plane', '🐈'.repeat(1000)],
      ['leading and trailing spaces', '  Bella  '],
      ['a decomposed accent', 'Cafe\u0301'],
      ['control characters', '\u0001\n\t\u001f\u007f'],
      ['quotes, backslashes and markup', `"\\/<img src=x onerror=alert(1)>'`],
      ['a zero-width space, which is not white space', '\u200b'],
      ['noncharacters', '\uffff\ufdd0\u{10ffff}'],
      ['line separators', 'a\u2028b\u2029c'],
      ['SQL', "'; drop table animals; --"],
    ]
    for (const [what, name] of accepted) {
      test(`accepts ${what} and returns the name unchanged`, async () => {
        const reply = await accepting().create({ name, categoryId: 1 })
        assert.equal(reply.status, 201, reply.text)
        assert.equal((reply.json as { name: string }).name, name)
        await assertReadBack(accepting(), reply)
      })
    }
  })

  for (const status of ['available', 'pending', 'sold']) {
    test(`stores the status ${status}`, async () => {
      const reply = await accepting().create({ name: 'a', categoryId: 1, status })
      assert.equal((reply.json as { status: string }).status, status)
    })
  }
})

suite('a new animal is rejected, and nothing is stored, with', () => {
  const service = shared(startTestService)
  const integer = 'categoryId must be an integer from -9223372036854775808 to 9223372036854775807'
  const oneOf = 'status must be one of available, pending, sold'

  const whiteSpace = [
    ...'\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
  ]
  const names: [json: string, problem: string][] = [
    ['""', 'name must not be blank'],
    ...[...whiteSpace, whiteSpace.join('')].map((blank): [string, string] => [
      JSON.stringify(blank.repeat(3)),
      'name must not be blank',
    ]),
    [JSON.stringify('x'.repeat(1001)), 'name must have at most 1000 characters'],
    [JSON.stringify('🐈'.repeat(1001)), 'name must have at most 1000 characters'],
    [JSON.stringify('x'.repeat(60_000)), 'name must have at most 1000 characters'],
    ['"a\\ud800b"', 'name must be well-formed Unicode, without lone surrogates'],
    ['"\\udc00"', 'name must be well-formed Unicode, without lone surrogates'],
    ['"\\udc00\\ud800"', 'name must be well-formed Unicode, without lone surrogates'],
    ['"a\\u0000b"', 'name must not contain the character U+0000'],
    ['1', 'name must be a string of 1 to 1000 characters'],
    ['null', 'name must be a string of 1 to 1000 characters'],
    ['["a"]', 'name must be a string of 1 to 1000 characters'],
  ]
  const categories = [
    ...['1.5', '1.0000000000000000001', '9007199254740993.5', '9223372036854775808', '1e19', '1e400', '1e-1'],
    ...['-9223372036854775809', '1e999999999', '-1e999999999', '1e-999999999', `1e${'9'.repeat(60_000)}`],
    ...['9'.repeat(60_000), `0.${'0'.repeat(60_000)}1`, '"1"', 'null', 'true', '[1]', '{"value":1}'],
  ]
  const statuses = ['""', '"Sold"', '"sold "', '"lost"', '0', 'true', '["sold"]', '{}']
  const rows: [json: string, message: string][] = [
    ...names.map(([name, problem]): [string, string] => [body('1', name), `${problem}.`]),
    ...categories.map((category): [string, string] => [body(category), `${integer}.`]),
    ...statuses.map((status): [string, string] => [body(`1,"status":${status}`), `${oneOf}.`]),
    // The message names every invalid member.
    ['{}', 'name is required; categoryId is required.'],
    ['{"categoryId":1.5}', `name is required; ${integer}.`],
    [
      '{"name":" ","categoryId":"1","status":null}',
      `name must not be blank; ${integer}; ${oneOf}, not null (it may be left out).`,
    ],
  ]
  for (const [json, message] of rows) {
    test(`${json.slice(0, 80)} (${json.length} characters)`, async () => {
      const reply = await service().create(json)
      assert.equal(reply.status, 400)
      assert.equal((reply.json as { message: string }).message, message)
      assert.equal((await service().send('GET', '/v1/pets')).text, '[]')
    })
  }
})
