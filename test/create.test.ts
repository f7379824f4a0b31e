import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { onEveryDatabase } from './support/databases.ts'
import { API_KEY, parseRaw, sendRaw } from './support/service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

function body(categoryId: string, name = '"Bella"'): string {
  return `{"name":${name},"categoryId":${categoryId}}`
}

onEveryDatabase('POST /v1/pets', startTestService => {
  test('an animal is answered with 201, its id and its Location', async t => {
    const service = await startTestService(t)
    const reply = await service.create({ name: 'Bella', categoryId: 7, status: 'available' })
    assert.equal(reply.status, 201)
    assert.equal(reply.text, '{"id":1,"name":"Bella","categoryId":7,"status":"available"}')
    assert.equal(reply.headers.location, '/v1/pets/1')
    assert.equal(reply.headers['idempotent-replayed'], undefined)
    assert.equal((await service.send('GET', '/v1/pets/1')).text, reply.text)
    assert.equal((await service.send('GET', '/v1/pets')).text, `[${reply.text}]`)
  })

  test('without a status the animal has none, and the field is absent everywhere', async t => {
    const service = await startTestService(t)
    const reply = await service.create({ name: 'Bella', categoryId: 7 })
    assert.equal(reply.text, '{"id":1,"name":"Bella","categoryId":7}')
    assert.equal((await service.send('GET', '/v1/pets/1')).text, reply.text)
    assert.equal((await service.send('GET', '/v1/pets')).text, `[${reply.text}]`)
  })

  test('unknown members are ignored, id included, however deep they are', async t => {
    const service = await startTestService(t)
    const deep = '['.repeat(30_000) + ']'.repeat(30_000)
    const reply = await service.create(
      `{"id":99,"__proto__":{"status":"sold"},"constructor":1,"deep":${deep},"name":"Bella","categoryId":7}`,
    )
    assert.equal(reply.status, 201)
    assert.equal(reply.text, '{"id":1,"name":"Bella","categoryId":7}')
  })

  test('of a member given twice the last counts', async t => {
    const service = await startTestService(t)
    const reply = await service.create(
      '{"name":"a","categoryId":1.5,"name":"b","categoryId":9007199254740993}',
    )
    assert.equal(reply.text, '{"id":1,"name":"b","categoryId":9007199254740993}')
  })

  test('a query is ignored', async t => {
    const service = await startTestService(t)
    const reply = await service.send('POST', '/v1/pets?limit=0&x', { headers: JSON_TYPE, body: body('1') })
    assert.equal(reply.status, 201)
  })

  suite('categoryId', () => {
    const exact: [string, string][] = [
      ['0', '0'],
      ['-0', '0'],
      ['0.0', '0'],
      ['0e999999999', '0'],
      ['1', '1'],
      ['-1', '-1'],
      ['1.0', '1'],
      ['1e2', '100'],
      ['1E+2', '100'],
      ['10e-1', '1'],
      ['1200e-2', '12'],
      ['1.50e1', '15'],
      [`1${'0'.repeat(50_000)}e-50000`, '1'],
      [`1.${'0'.repeat(60_000)}`, '1'],
      ['9007199254740992', '9007199254740992'],
      ['9007199254740993', '9007199254740993'],
      ['-9007199254740993', '-9007199254740993'],
      ['9223372036854775807', '9223372036854775807'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['922337203685477580.7e1', '9223372036854775807'],
    ]
    for (const [sent, stored] of exact) {
      test(`${sent.slice(0, 30)} is ${stored}, digit for digit, from create, get and list`, async t => {
        const service = await startTestService(t)
        const reply = await service.create(body(sent))
        assert.equal(reply.status, 201, reply.text)
        assert.equal(reply.text, `{"id":1,"name":"Bella","categoryId":${stored}}`)
        assert.equal((await service.send('GET', '/v1/pets/1')).text, reply.text)
        assert.equal((await service.send('GET', '/v1/pets')).text, `[${reply.text}]`)
      })
    }

    const refused = [
      '1.5',
      '1.0000000000000000001',
      '9007199254740993.5',
      '9223372036854775808',
      '-9223372036854775809',
      '1e19',
      '1e400',
      '1e999999999',
      '-1e999999999',
      '1e-1',
      '1e-999999999',
      `1e${'9'.repeat(60_000)}`,
      '9'.repeat(60_000),
      `0.${'0'.repeat(60_000)}1`,
      '"1"',
      'null',
      'true',
      '[1]',
      '{}',
      '{"value":1}',
    ]
    for (const sent of refused) {
      test(`${sent.slice(0, 30)} (${sent.length} characters) is refused, and nothing is stored`, async t => {
        const service = await startTestService(t)
        const reply = await service.create(body(sent))
        assert.equal(reply.status, 400, reply.text)
        assert.match(
          reply.text,
          /categoryId must be an integer from -9223372036854775808 to 9223372036854775807/,
        )
        assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      })
    }
  })

  suite('name', () => {
    const accepted: [string, string][] = [
      ['one character', 'x'],
      ['1,000 characters', 'x'.repeat(1000)],
      ['1,000 characters outside the basic plane', '🐈'.repeat(1000)],
      ['spaces around it, kept', '  Bella  '],
      ['a decomposed accent, not normalised', 'Cafe\u0301'],
      ['a composed accent, not normalised', 'Caf\u00e9'],
      ['control characters', '\u0001\n\t\u001f\u007f'],
      ['quotes, backslashes and markup', `"\\/<img src=x onerror=alert(1)>'`],
      ['a zero-width space, which is not white space', '\u200b'],
      ['noncharacters', '\uffff\ufdd0\u{10ffff}'],
      ['line separators', 'a\u2028b\u2029c'],
      ['right-to-left text', 'حيوان'],
      ['SQL', "'; drop table animals; --"],
      ['a member name', '__proto__'],
    ]
    for (const [what, name] of accepted) {
      test(`${what}: comes back identical`, async t => {
        const service = await startTestService(t)
        const reply = await service.create({ name, categoryId: 1 })
        assert.equal(reply.status, 201, reply.text)
        assert.equal((reply.json as { name: string }).name, name)
        assert.equal((await service.send('GET', '/v1/pets/1')).text, reply.text)
        assert.equal((await service.send('GET', '/v1/pets')).text, `[${reply.text}]`)
      })
    }

    const white = [
      ...'\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
    ]
    const refused: [string, string, RegExp][] = [
      ['empty', '""', /name must not be blank/],
      ...white.map((character): [string, string, RegExp] => [
        `only U+${character.codePointAt(0)?.toString(16)}`,
        JSON.stringify(character.repeat(3)),
        /name must not be blank/,
      ]),
      ['all white space there is', JSON.stringify(white.join('')), /name must not be blank/],
      ['1,001 characters', JSON.stringify('x'.repeat(1001)), /name must have at most 1000 characters/],
      [
        '1,001 characters outside the basic plane',
        JSON.stringify('🐈'.repeat(1001)),
        /at most 1000 characters/,
      ],
      ['60,000 characters', JSON.stringify('x'.repeat(60_000)), /at most 1000 characters/],
      ['a lone high surrogate', '"a\\ud800b"', /lone surrogates/],
      ['a lone low surrogate', '"\\udc00"', /lone surrogates/],
      ['surrogates in the wrong order', '"\\udc00\\ud800"', /lone surrogates/],
      ['U+0000', '"a\\u0000b"', /U\+0000/],
      ['only U+0000', '"\\u0000"', /U\+0000/],
      ['a number', '1', /name must be a string/],
      ['null', 'null', /name must be a string/],
      ['an array', '["a"]', /name must be a string/],
      ['an object', '{"toString":"a"}', /name must be a string/],
    ]
    for (const [what, json, message] of refused) {
      test(`${what}: refused, and nothing is stored`, async t => {
        const service = await startTestService(t)
        const reply = await service.create(body('1', json))
        assert.equal(reply.status, 400)
        assert.match((reply.json as { message: string }).message, message)
        assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      })
    }
  })

  suite('status', () => {
    for (const status of ['available', 'pending', 'sold']) {
      test(`${status} is kept`, async t => {
        const service = await startTestService(t)
        const reply = await service.create({ name: 'a', categoryId: 1, status })
        assert.equal((reply.json as { status: string }).status, status)
      })
    }
    for (const status of [null, '', 'Sold', 'sold ', 'lost', 0, true, ['sold'], {}]) {
      test(`${JSON.stringify(status)} is refused`, async t => {
        const service = await startTestService(t)
        const reply = await service.create({ name: 'a', categoryId: 1, status })
        assert.equal(reply.status, 400)
        assert.match(reply.text, /status must be one of available, pending, sold/)
      })
    }
  })

  suite('the body', () => {
    const refused: [string, string | Buffer][] = [
      ['not JSON', 'name=Bella'],
      ['cut off', '{"name":"Bella","categoryId":1'],
      ['two values', '{} {}'],
      ['a trailing comma', '{"name":"Bella","categoryId":1,}'],
      ['a comment', '{"name":"Bella",/* */"categoryId":1}'],
      ['a leading zero', body('01')],
      ['a plus sign', body('+1')],
      ['NaN', body('NaN')],
      ['a raw control character in a string', body('1', '"a\nb"')],
      ['a byte order mark', `\ufeff${body('1')}`],
      ['white space only', ' \n '],
      ['Latin-1 bytes', Buffer.from(body('1', '"Caf\u00e9"'), 'latin1')],
      [
        'a surrogate encoded in UTF-8',
        Buffer.from([...Buffer.from('{"name":"'), 0xed, 0xa0, 0x80, ...Buffer.from('","categoryId":1}')]),
      ],
      [
        'an overlong encoding',
        Buffer.from([...Buffer.from('{"name":"'), 0xc0, 0xaf, ...Buffer.from('","categoryId":1}')]),
      ],
      ['UTF-16', Buffer.from(body('1'), 'utf16le')],
      ['an array', '[]'],
      ['an array of an animal', `[${body('1')}]`],
      ['a string', '"Bella"'],
      ['a number', '1'],
      ['null', 'null'],
      ['true', 'true'],
      ['an empty object', '{}'],
      ['no name', '{"categoryId":1}'],
      ['no categoryId', '{"name":"Bella"}'],
      ['a deep array', '['.repeat(32_000) + ']'.repeat(32_000)],
      ['a deep array that is not closed', '['.repeat(65_000)],
    ]
    for (const [what, sent] of refused) {
      test(`${what}: 400, and nothing is stored`, async t => {
        const service = await startTestService(t)
        const reply = await service.send('POST', '/v1/pets', { headers: JSON_TYPE, body: sent })
        assert.equal(reply.status, 400)
        assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      })
    }

    for (const type of ['application/json', 'text/plain', undefined]) {
      for (const framing of ['content-length: 0', 'transfer-encoding: chunked', 'x-none: 1']) {
        test(`empty, of type ${type}, with ${framing}: 400`, async t => {
          const service = await startTestService(t)
          const answer = await sendRaw(
            service.address,
            [
              'POST /v1/pets HTTP/1.1',
              'host: x',
              'connection: close',
              `authorization: Bearer ${API_KEY}`,
              ...(type === undefined ? [] : [`content-type: ${type}`]),
              framing,
              '',
              framing.includes('chunked') ? '0\r\n\r\n' : '',
            ].join('\r\n'),
          )
          const reply = parseRaw(answer, 'POST', '/v1/pets')
          assert.equal(reply.status, 400)
          assert.match(reply.text, /The body is missing/)
        })
      }
    }
  })

  suite('the media type', () => {
    const accepted = [
      'application/json',
      'APPLICATION/JSON',
      'Application/Json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json; charset="utf-8"',
      'application/json; charset=utf8',
      'application/json; profile="a;b"; version=1',
      'application/json;',
    ]
    for (const type of accepted) {
      test(`${type}: accepted`, async t => {
        const service = await startTestService(t)
        assert.equal((await service.create(body('1'), { 'content-type': type })).status, 201)
      })
    }
    const refused = [
      'text/plain',
      'text/json',
      'application/xml',
      'application/json5',
      'application/vnd.api+json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=latin1',
      'application/json; charset=utf-16',
      'application/json; charset=""',
      'application/json; charset=',
      'application/json; charset=utf-8; charset=latin1',
      'application/json, application/json',
      'json',
      '/',
      '*/*',
    ]
    for (const type of refused) {
      test(`${type}: 415`, async t => {
        const service = await startTestService(t)
        const reply = await service.create(body('1'), { 'content-type': type })
        assert.equal(reply.status, 415)
        assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      })
    }
    test('two Content-Types, in either order: 415', async t => {
      const service = await startTestService(t)
      for (const types of [
        ['application/json', 'text/plain'],
        ['text/plain', 'application/json'],
        ['application/json', 'application/json'],
      ]) {
        const lines = types.map(type => `content-type: ${type}`)
        const head = ['POST /v1/pets HTTP/1.1', 'host: x', `authorization: Bearer ${API_KEY}`, ...lines]
        const answer = await sendRaw(
          service.address,
          `${head.join('\r\n')}\r\ncontent-length: ${body('1').length}\r\nconnection: close\r\n\r\n${body('1')}`,
        )
        assert.equal(parseRaw(answer, 'POST', '/v1/pets').status, 415)
      }
    })
    test('none at all: 415', async t => {
      const service = await startTestService(t)
      assert.equal((await service.send('POST', '/v1/pets', { body: body('1') })).status, 415)
    })
    test('none at all, chunked: 415', async t => {
      const service = await startTestService(t)
      const reply = await service.send('POST', '/v1/pets', {
        headers: { 'transfer-encoding': 'chunked' },
        body: body('1'),
      })
      assert.equal(reply.status, 415)
    })
    for (const encoding of ['identity', 'IDENTITY']) {
      test(`Content-Encoding: ${encoding} is accepted`, async t => {
        const service = await startTestService(t)
        assert.equal((await service.create(body('1'), { 'content-encoding': encoding })).status, 201)
      })
    }
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
      test(`Content-Encoding: ${encoding} is 415`, async t => {
        const service = await startTestService(t)
        const reply = await service.send('POST', '/v1/pets', {
          headers: { ...JSON_TYPE, 'content-encoding': encoding },
          body: gzipSync(body('1')),
        })
        assert.equal(reply.status, 415)
      })
    }
  })

  suite('the size', () => {
    const padded = (size: number) => body('1').padEnd(size, ' ')

    test('64 KiB are accepted', async t => {
      const service = await startTestService(t)
      assert.equal((await service.create(padded(65_536))).status, 201)
      const chunked = { 'transfer-encoding': 'chunked' }
      assert.equal((await service.create(padded(65_536), chunked)).status, 201)
    })

    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      test(`one byte more is 413 ${JSON.stringify(headers)}, and the connection goes on`, async t => {
        const service = await startTestService(t)
        assert.equal((await service.create(padded(65_537), headers)).status, 413)
        assert.equal((await service.create(padded(100_000), headers)).status, 413)
        assert.equal((await service.send('GET', '/v1/pets')).text, '[]')
      })
    }

    const head = (...lines: string[]) =>
      [
        'POST /v1/pets HTTP/1.1',
        'host: x',
        `authorization: Bearer ${API_KEY}`,
        'content-type: application/json',
        ...lines,
        '',
        '',
      ].join('\r\n')

    test('a body that never ends is refused before it is read, and the connection is closed', async t => {
      const service = await startTestService(t)
      const declared = await sendRaw(service.address, `${head('content-length: 10000000000')}{"name":`)
      assert.equal(parseRaw(declared, 'POST', '/v1/pets').status, 413)
      const chunked = await sendRaw(
        service.address,
        `${head('transfer-encoding: chunked')}11170\r\n${' '.repeat(70_000)}\r\n`,
      )
      assert.equal(parseRaw(chunked, 'POST', '/v1/pets').status, 413)
    })

    test('a large body that was announced is not asked for', async t => {
      const service = await startTestService(t)
      const answer = await sendRaw(service.address, head('expect: 100-continue', 'content-length: 100000'))
      assert.equal(parseRaw(answer, 'POST', '/v1/pets').status, 413)
    })

    test('a good body that was announced is asked for', async t => {
      const service = await startTestService(t)
      const reply = await service.create(body('1'), { expect: '100-continue' })
      assert.equal(reply.status, 201)
    })
  })

  suite('what is judged first', () => {
    const large = ' '.repeat(70_000)
    const rows: [string, number, Record<string, string>, string][] = [
      [
        'credential before all else',
        401,
        { authorization: 'Bearer nobody', 'content-type': 'text/plain', 'idempotency-key': 'a b' },
        large,
      ],
      ['media type before size', 415, { 'content-type': 'text/plain', 'idempotency-key': 'a b' }, large],
      ['size before Idempotency-Key', 413, { ...JSON_TYPE, 'idempotency-key': 'a b' }, large],
      ['Idempotency-Key before body', 400, { ...JSON_TYPE, 'idempotency-key': 'a b' }, '{'],
    ]
    for (const [what, status, headers, sent] of rows) {
      test(what, async t => {
        const service = await startTestService(t)
        const reply = await service.send('POST', '/v1/pets', { headers, body: sent })
        assert.equal(reply.status, status)
        if (status === 400) assert.match(reply.text, /Idempotency-Key/)
      })
    }
  })
})
