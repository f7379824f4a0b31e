// The documents outside /v1 over HTTP: validators, content encodings, and how much a first visit transfers.

import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { shared, startTestService } from './support/service.ts'

const DOCUMENTS = [
  '/',
  '/docs',
  '/openapi.json',
  ...['/assets/catalogue.js', '/assets/catalogue.css', '/assets/icon.svg'],
  ...['/assets/reference.js', '/assets/reference.css'],
]

/** The most that a first visit of each page may transfer. */
const MAX_BYTES = { '/': 48_000, '/docs': 40_000 }
const MAX_REQUESTS = 5

const DECODE = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  identity: (body: Buffer) => body,
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const service = shared(startTestService)

function get(path: string, headers: OutgoingHttpHeaders = {}, method = 'GET'): Promise<Received> {
  return new Promise((resolve, reject) => {
    httpRequest(service().address + path, { method, headers, agent: false }, async response => {
      const { statusCode = 0, headers } = response
      resolve({ status: statusCode, headers, body: await buffer(response) })
    })
      .on('error', reject)
      .end()
  })
}

suite('a document', () => {
  for (const path of DOCUMENTS) {
    test(`${path} has the same ETag in every encoding, and a client that sends it back gets 304`, async () => {
      const plain = await get(path)
      assert.equal(plain.status, 200)
      const etag = String(plain.headers.etag)
      assert.match(etag, /^W\/"[\w-]{22}"$/)
      for (const encoding of ['br', 'gzip', 'identity'] as const) {
        const reply = await get(path, { 'accept-encoding': encoding })
        assert.equal(reply.headers['content-encoding'] ?? 'identity', encoding)
        assert.equal(reply.headers['content-type'], plain.headers['content-type'])
        assert.equal(reply.headers['content-length'], String(reply.body.length))
        assert.equal(reply.headers.etag, etag)
        assert.equal(reply.headers.vary, 'Accept-Encoding')
        assert.equal(reply.headers['cache-control'], 'no-cache')
        assert.ok(DECODE[encoding](reply.body).equals(plain.body))
        const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': etag })
        assert.equal(again.status, 304)
        for (const same of ['etag', 'vary', 'cache-control'])
          assert.equal(again.headers[same], reply.headers[same], same)
        for (const absent of ['content-encoding', 'content-length', 'content-type', 'transfer-encoding'])
          assert.equal(again.headers[absent], undefined, absent)
      }
    })
  }

  const tags: [name: string, (etag: string) => string | string[], status: number][] = [
    ['its tag as a strong one', etag => etag.slice(2), 304],
    ['any tag', () => '*', 304],
    ['a list with its tag', etag => `"other","a,b",${etag}, W/"third"`, 304],
    ['two headers', etag => ['"other"', etag], 304],
    ['another tag', () => 'W/"other"', 200],
    ['its tag without quotes', etag => etag.slice(3, -1), 200],
    ['an empty header', () => '', 200],
  ]
  for (const [name, header, status] of tags) {
    test(`gets ${status} with If-None-Match and ${name}`, async () => {
      const etag = String((await get('/')).headers.etag)
      for (const method of ['GET', 'HEAD']) {
        const reply = await get('/', { ['if-none-match' as string]: header(etag) }, method)
        assert.equal(reply.status, status)
        assert.equal(reply.body.length === 0, status === 304 || method === 'HEAD')
      }
    })
  }

  const encodings: [header: string | undefined, expected: string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip ; q=0.5 , br ; q=0.6', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['*;q=0', undefined],
    ['br;q=0.000, gzip;q=0', undefined],
    ['identity', undefined],
    ['deflate, zstd', undefined],
  ]
  for (const [header, expected] of encodings) {
    test(`is sent as ${expected ?? 'it is'} for Accept-Encoding: ${header ?? '(absent)'}`, async () => {
      const headers = header === undefined ? {} : { 'accept-encoding': header }
      assert.equal((await get('/', headers)).headers['content-encoding'], expected)
    })
  }

  test('HEAD has the headers of GET', async () => {
    const headers = { 'accept-encoding': 'br' }
    const [got, head] = [await get('/', headers), await get('/', headers, 'HEAD')]
    for (const name of ['content-length', 'content-encoding', 'etag', 'vary', 'content-type'])
      assert.equal(head.headers[name], got.headers[name], name)
    assert.equal(head.body.length, 0)
  })
})

for (const [start, maxBytes] of Object.entries(MAX_BYTES)) {
  for (const encoding of ['br', 'gzip']) {
    test(`a first visit of ${start} takes at most ${maxBytes} bytes and ${MAX_REQUESTS} requests with ${encoding}`, async () => {
      const headers = { 'accept-encoding': encoding }
      const sizes: Record<string, number> = {}
      const page = (await get(start)).body.toString()
      const assets = [...page.matchAll(/(?:src|<link[^>]*href)="\.([^"]*)"/g)].map(([, path = '']) => path)
      for (const path of [start, ...assets]) sizes[path] = (await get(path, headers)).body.length
      const total = Object.values(sizes).reduce((sum, size) => sum + size)
      assert.ok(total <= maxBytes, `${total} bytes: ${JSON.stringify(sizes)}`)
      assert.ok(Object.keys(sizes).length <= MAX_REQUESTS, Object.keys(sizes).join())
      // The pages load nothing else: a bundle has no imports, and a style sheet refers to no other file.
      for (const path of assets)
        assert.doesNotMatch((await get(path)).body.toString(), /^import\b|\bimport\(|@import|\burl\(/m, path)
    })
  }
}
