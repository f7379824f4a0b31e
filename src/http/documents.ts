// The documents outside `/v1`: pages, scripts, style sheets and the OpenAPI document. Each is rendered and compressed
// once, and sent only to clients that do not have it yet.

import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Reply } from './server/reply.ts'
import { joinedHeader } from './server/request.ts'
import type { Resource } from './server/routes.ts'

type Encoding = 'br' | 'gzip' | 'identity'

export interface Document {
  readonly path: string
  readonly mediaType: string
  readonly body: () => string | Promise<string>
}

const COMMON_HEADERS = Object.entries({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
  vary: 'Accept-Encoding',
}).flat()

/** The highest level makes the scripts hardly smaller, and takes much longer (bench/notes.md). */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }
const GZIP = { level: constants.Z_BEST_COMPRESSION }

const COMPRESS: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  br: body => promisify(brotliCompress)(body, BROTLI),
  gzip: body => promisify(gzip)(body, GZIP),
  identity: async body => body,
}

/** Rendered on the first request, because the server's own address is not known earlier. */
export function documentResource({ path, mediaType, body }: Document): Resource {
  const render = once(async () => {
    const rendered = Buffer.from(await body())
    return { rendered, etag: etagOf(rendered) }
  })
  const encoded: Readonly<Record<Encoding, () => Promise<Reply>>> = {
    br: once(() => encode('br')),
    gzip: once(() => encode('gzip')),
    identity: once(() => encode('identity')),
  }

  async function encode(encoding: Encoding): Promise<Reply> {
    const { rendered, etag } = await render()
    const body = await COMPRESS[encoding](rendered)
    const content = ['content-type', mediaType, 'content-length', String(body.length)]
    const headers = [...content, 'etag', etag, ...COMMON_HEADERS]
    if (encoding !== 'identity') headers.push('content-encoding', encoding)
    return { status: 200, headers, body }
  }

  return {
    route: path,
    async get({ request }) {
      const { etag } = await render()
      if (hasCurrent(request, etag))
        return { status: 304, headers: ['etag', etag, ...COMMON_HEADERS], body: '' }
      return encoded[chooseEncoding(joinedHeader(request, 'accept-encoding'))]()
    },
  }
}

/** Weak, because the tag is the same for every content encoding. */
function etagOf(body: Buffer): string {
  return `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
}

/** Whether one of the tags in `If-None-Match` is that of the document, by the weak comparison of RFC 9110. */
function hasCurrent(request: IncomingMessage, etag: string): boolean {
  const header = joinedHeader(request, 'if-none-match')
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.match(/"[^"]*"/g)?.some(tag => etag === `W/${tag}`) ?? false
}

/** Returns the smallest encoding that the client accepts. A weight of 0 means that it does not (RFC 9110, section 12.4.2). */
function chooseEncoding(acceptEncoding = ''): Encoding {
  const accepted = acceptEncoding
    .toLowerCase()
    .split(',')
    .filter(item => !/;\s*q=0(\.0*)?\s*$/.test(item))
    .map(item => item.split(';')[0]?.trim())
  return (['br', 'gzip'] as const).find(encoding => accepted.includes(encoding)) ?? 'identity'
}

/** Returns a function that does the work on the first call only, unless it fails. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= work().catch(error => {
      result = undefined
      throw error
    })
    return result
  }
}
