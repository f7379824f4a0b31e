// The documents outside `/v1`: pages, scripts, style sheets and the OpenAPI document. Each is rendered and compressed
// once, and sent only to clients that do not have it yet.

import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Exchange } from './server/exchange.ts'
import type { Reply } from './server/reply.ts'
import { joinedHeader } from './server/request.ts'

type Encoding = 'br' | 'gzip' | 'identity'

export interface Document {
  readonly path: string
  readonly mediaType: string
  readonly body: () => string | Promise<string>
}

const DOCUMENT_HEADERS = Object.entries({
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
  vary: 'Accept-Encoding',
}).flat()

/** One level more makes the scripts hardly smaller, and takes three times as long (bench/notes.md). */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }
const GZIP = { level: constants.Z_BEST_COMPRESSION }

/** A document is rendered on the first request, because the server's own address is not known earlier. */
export function documentRoute({ path, mediaType, body }: Document) {
  let rendering: Promise<{ readonly etag: string; readonly replies: Record<Encoding, Reply> }> | undefined

  async function render() {
    const rendered = Buffer.from(await body())
    const etag = etagOf(rendered)
    const reply = (body: Buffer, ...headers: string[]): Reply => {
      const content = ['content-type', mediaType, 'content-length', String(body.length)]
      return { status: 200, headers: [...content, 'etag', etag, ...DOCUMENT_HEADERS, ...headers], body }
    }
    const replies = {
      br: reply(await promisify(brotliCompress)(rendered, BROTLI), 'content-encoding', 'br'),
      gzip: reply(await promisify(gzip)(rendered, GZIP), 'content-encoding', 'gzip'),
      identity: reply(rendered),
    }
    return { etag, replies }
  }

  return {
    path,
    async handle({ request }: Exchange): Promise<Reply> {
      rendering ??= render().catch(error => {
        // The next request tries again.
        rendering = undefined
        throw error
      })
      const { etag, replies } = await rendering
      if (hasCurrent(request, etag))
        return { status: 304, headers: ['etag', etag, ...DOCUMENT_HEADERS], body: '' }
      return replies[chooseEncoding(joinedHeader(request, 'accept-encoding'))]
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
  return header !== undefined && (header.trim() === '*' || header.includes(etag.slice('W/'.length)))
}

/** Returns the smallest encoding that the client accepts. A weight of 0 means that it does not (RFC 9110, section 12.4.2). */
function chooseEncoding(acceptEncoding = ''): Encoding {
  const weights = new Map<string, number>()
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', weight = 'q=1'] = item.split(';').map(part => part.trim())
    weights.set(coding, Number(weight.slice('q='.length)))
  }
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? weights.get('*') ?? 0
  return (['br', 'gzip'] as const).find(encoding => weightOf(encoding) > 0) ?? 'identity'
}
