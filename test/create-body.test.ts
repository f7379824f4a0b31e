// The body of a creation: its syntax, its media type, its size, and the order in which a request is checked.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { requestHead } from './support/raw-http.ts'
import { API_KEY, parseRaw, sendRaw, shared, startTestService } from './support/service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const JSON_HEADER = 'content-type: application/json'

function body(categoryId: string, name = '"Bella"'): string {
  return `{"name":${name},"categoryId":${categoryId}}`
}

function head(...headers: readonly string[]): string {
  return requestHead('POST /v1/pets HTTP/1.1', 'host: x', `authorization: Bearer ${API_KEY}`, ...headers)
}

suite('the body of POST /v1/pets', () => {
  const accepting = shared(startTestService)
  /** Receives only requests that are rejected, so its catalogue stays empty. */
  const rejecting = shared(startTestService)

  suite('syntax', () => {
    const rejected: [string, string | Buffer][] = [
      ['text that is not JSON', 'name=Bella'],
      ['a truncated object', '{"name":"Bella","categoryId":1'],
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
      ['a surrogate encoded in UTF-8', Buffer.from(body('1', '"\xed\xa0\x80"'), 'latin1')],
      ['an overlong encoding', Buffer.from(body('1', '"\xc0\xaf"'), 'latin1')],
      ['UTF-16', Buffer.from(body('1'), 'utf16le')],
      ['an array that holds an animal', `[${body('1')}]`],
      ['a string', '"Bella"'],
      ['a number', '1'],
      ['null', 'null'],
      ['a deeply nested array', '['.repeat(32_000) + ']'.repeat(32_000)],
      ['a deeply nested array that is not closed', '['.repeat(65_000)],
    ]
    for (const [what, sent] of rejected) {
      test(`rejects ${what} with 400 and stores nothing`, async () => {
        const reply = await rejecting().send('POST', '/v1/pets', { headers: JSON_TYPE, body: sent })
        assert.equal(reply.status, 400)
        assert.equal((await rejecting().send('GET', '/v1/pets')).text, '[]')
      })
    }

    for (const type of ['content-type: application/json', 'content-type: text/plain', 'x-no-type: 1']) {
      for (const framing of ['content-length: 0', 'transfer-encoding: chunked', 'x-no-framing: 1']) {
        test(`rejects an empty body with 400 (${type}, ${framing})`, async () => {
          const end = framing.includes('chunked') ? '0\r\n\r\n' : ''
          const answer = await sendRaw(rejecting().address, head(type, framing, 'connection: close') + end)
          const reply = parseRaw(answer, 'POST', '/v1/pets')
          assert.equal(reply.status, 400)
          assert.match(reply.text, /The body is missing/)
        })
      }
    }
  })

  suite('media type', () => {
    const accepted = [
      ...['application/json', 'APPLICATION/JSON', 'application/json;', 'application/json;charset=UTF-8'],
      ...['application/json ; charset=utf8', 'application/json; charset="utf-8"'],
      'application/json; profile="a;b"; version=1',
      'application/json; a="\\"; charset=latin1"',
    ]
    for (const type of accepted) {
      test(`accepts ${type.slice(0, 60)}`, async () => {
        assert.equal((await accepting().create(body('1'), { 'content-type': type })).status, 201)
      })
    }
    const rejected = [
      ...['text/plain', 'text/json', 'application/xml', 'application/json5', 'application/vnd.api+json'],
      ...['application/x-www-form-urlencoded', 'application/json, application/json', 'json', '*/*'],
      'multipart/form-data; boundary=x',
      'application/json; charset=latin1',
      'application/json; charset=',
      'application/json; charset=utf-8; charset=latin1',
      'application/json; charset =latin1',
      'application/json; a="\\""; charset=latin1',
      'application/json; charset="utf-8',
    ]
    for (const type of rejected) {
      test(`rejects ${type} with 415 and stores nothing`, async () => {
        const reply = await rejecting().create(body('1'), { 'content-type': type })
        assert.equal(reply.status, 415)
        assert.equal((await rejecting().send('GET', '/v1/pets')).text, '[]')
      })
    }
    test('rejects two Content-Type headers with 415, in either order', async () => {
      for (const types of [
        ['application/json', 'text/plain'],
        ['text/plain', 'application/json'],
        ['application/json', 'application/json'],
      ]) {
        const lines = types.map(type => `content-type: ${type}`)
        const request = head(...lines, `content-length: ${body('1').length}`, 'connection: close') + body('1')
        assert.equal(parseRaw(await sendRaw(rejecting().address, request), 'POST', '/v1/pets').status, 415)
      }
    })
    test('rejects a missing Content-Type with 415', async () => {
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
        assert.equal((await rejecting().send('POST', '/v1/pets', { headers, body: body('1') })).status, 415)
    })
    for (const encoding of ['identity', 'IDENTITY']) {
      test(`accepts Content-Encoding: ${encoding}`, async () => {
        assert.equal((await accepting().create(body('1'), { 'content-encoding': encoding })).status, 201)
      })
    }
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
      test(`rejects Content-Encoding: ${encoding} with 415`, async () => {
        const reply = await rejecting().send('POST', '/v1/pets', {
          headers: { ...JSON_TYPE, 'content-encoding': encoding },
          body: gzipSync(body('1')),
        })
        assert.equal(reply.status, 415)
      })
    }
  })

  suite('size', () => {
    const padded = (size: number) => body('1').padEnd(size, ' ')

    test('accepts 64 KiB', async () => {
      assert.equal((await accepting().create(padded(65_536))).status, 201)
      const chunked = { 'transfer-encoding': 'chunked' }
      assert.equal((await accepting().create(padded(65_536), chunked)).status, 201)
    })

    for (const [framing, headers] of [
      ['Content-Length', {}],
      ['chunks', { 'transfer-encoding': 'chunked' }],
    ] as const) {
      test(`rejects more than 64 KiB with 413 and answers the next request (sent with ${framing})`, async () => {
        assert.equal((await rejecting().create(padded(65_537), headers)).status, 413)
        assert.equal((await rejecting().create(padded(100_000), headers)).status, 413)
        assert.equal((await rejecting().send('GET', '/v1/pets')).text, '[]')
      })
    }

    test('rejects a body that never ends with 413 and closes the connection', async () => {
      for (const sent of [
        `${head(JSON_HEADER, 'content-length: 10000000000')}{"name":`,
        `${head(JSON_HEADER, 'transfer-encoding: chunked')}11170\r\n${' '.repeat(70_000)}\r\n`,
        // Before it is sent.
        head(JSON_HEADER, 'expect: 100-continue', 'content-length: 100000'),
      ])
        assert.equal(parseRaw(await sendRaw(rejecting().address, sent), 'POST', '/v1/pets').status, 413)
    })

    test('accepts a body that is sent with Expect: 100-continue', async () => {
      const reply = await accepting().create(body('1'), { expect: '100-continue' })
      assert.equal(reply.status, 201)
    })
  })

  suite('order of checks', () => {
    const large = ' '.repeat(70_000)
    const rows: [string, number, Record<string, string>, string][] = [
      ['the media type before the size', 415, { 'content-type': 'text/plain' }, large],
      ['the size before the Idempotency-Key', 413, JSON_TYPE, large],
      ['the Idempotency-Key before the body', 400, JSON_TYPE, '{'],
    ]
    for (const [what, status, headers, sent] of rows) {
      test(`checks ${what}`, async () => {
        const sentHeaders = { ...headers, 'idempotency-key': 'a b' }
        const reply = await rejecting().send('POST', '/v1/pets', { headers: sentHeaders, body: sent })
        assert.equal(reply.status, status)
        if (status === 400) assert.match(reply.text, /Idempotency-Key/)
      })
    }
  })
})
