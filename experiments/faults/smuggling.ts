// Request smuggling: a hundred messages with which an attacker tries to hide one request in another. If the service
// rejects every ambiguous one and then closes the connection, no proxy in front of it can be made to disagree with it.

import { connectRaw, requestHead, statusesOf } from '../../test/support/raw-http.ts'
import { API_KEY, startTestService } from '../../test/support/service.ts'
import type { Figure } from './figure.ts'
import { inScope } from './processes.ts'

interface SmugglingCase {
  readonly name: string
  /** The statuses that the client gets. */
  readonly statuses: readonly number[]
  readonly bytes: string
}

const KEY = `Authorization: Bearer ${API_KEY}`
const ANIMAL = '{"name":"Bella","categoryId":7}'
const SIZE = ANIMAL.length.toString(16)
const CHUNKS = `${SIZE}\r\n${ANIMAL}\r\n0\r\n\r\n`

function get(...headers: readonly string[]): string {
  return requestHead('GET /v1/pets HTTP/1.1', 'Host: a.example', KEY, ...headers)
}

function head(...headers: readonly string[]): string {
  return requestHead(
    'POST /v1/pets HTTP/1.1',
    'Host: a.example',
    KEY,
    'Content-Type: application/json',
    ...headers,
  )
}

/** The request that an attacker hides. */
const LENGTH = `Content-Length: ${ANIMAL.length}`
const HIDDEN = head(LENGTH) + ANIMAL
const HIDDEN_LENGTH = `Content-Length: ${HIDDEN.length}`
/** A body with two ends: before the hidden request for a reader of chunks, after it for a reader of Content-Length. */
const ENDED_CHUNKS = `0\r\n\r\n${HIDDEN}`
const ENDED_LENGTH = `Content-Length: ${ENDED_CHUNKS.length}`
/** Closes a connection that is still open. */
const LAST = get('Connection: close')
const CHUNKED = 'Transfer-Encoding: chunked'
const KEEP_ALIVE = 'Connection: keep-alive'

const inHttp10 = (request: string) => request.replace('HTTP/1.1', 'HTTP/1.0')

/** Content-Length and Transfer-Encoding together, or a Transfer-Encoding that only some programs understand. */
const transferEncoding: SmugglingCase[] = [
  ['Content-Length and chunked', [ENDED_LENGTH, CHUNKED]],
  ['chunked and Content-Length', [CHUNKED, ENDED_LENGTH]],
  ['Content-Length 0 and chunked', ['Content-Length: 0', CHUNKED]],
  ['chunked in capitals', [ENDED_LENGTH, 'TRANSFER-ENCODING: CHUNKED']],
  ['a space before the colon', [ENDED_LENGTH, 'Transfer-Encoding : chunked']],
  ['a tab before the colon', [ENDED_LENGTH, 'Transfer-Encoding\t: chunked']],
  ['a space before the name', [ENDED_LENGTH, ' Transfer-Encoding: chunked']],
  ['a vertical tab before the value', [ENDED_LENGTH, 'Transfer-Encoding:\x0bchunked']],
  ['a form feed after the value', [ENDED_LENGTH, 'Transfer-Encoding: chunked\x0c']],
  ['a NUL after the value', [ENDED_LENGTH, 'Transfer-Encoding: chunked\0']],
  ['a NUL in the name', [ENDED_LENGTH, 'Transfer\0-Encoding: chunked']],
  ['a carriage return in the value', [ENDED_LENGTH, 'Transfer-Encoding: chu\rnked']],
  ['a carriage return after the value', [ENDED_LENGTH, 'Transfer-Encoding: chunked\r']],
  ['a quoted value', [ENDED_LENGTH, 'Transfer-Encoding: "chunked"']],
  ['xchunked', [ENDED_LENGTH, 'Transfer-Encoding: xchunked']],
  ['a parameter', [ENDED_LENGTH, 'Transfer-Encoding: chunked;q=1']],
  ['identity', [ENDED_LENGTH, 'Transfer-Encoding: identity']],
  ['an empty value', [ENDED_LENGTH, 'Transfer-Encoding:']],
  ['a folded value', [ENDED_LENGTH, 'Transfer-Encoding:\r\n chunked']],
  ['a folded header before it', [ENDED_LENGTH, 'X: y\r\n Transfer-Encoding: chunked']],
  ['a bare line feed before it', [ENDED_LENGTH, 'X: y\nTransfer-Encoding: chunked']],
  ['a bare carriage return before it', [ENDED_LENGTH, 'X: y\rTransfer-Encoding: chunked']],
  ['gzip before chunked', ['Transfer-Encoding: gzip, chunked']],
  ['gzip and chunked in two headers', ['Transfer-Encoding: gzip', CHUNKED]],
  ['gzip after chunked', ['Transfer-Encoding: chunked, gzip']],
  ['gzip after chunked in two headers', [CHUNKED, 'Transfer-Encoding: gzip']],
  ['chunked twice', ['Transfer-Encoding: chunked, chunked']],
  ['chunked in two headers', [CHUNKED, CHUNKED]],
  ['identity before chunked', ['Transfer-Encoding: identity, chunked']],
  ['a comma before chunked', ['Transfer-Encoding: , chunked']],
  ['a comma after chunked', ['Transfer-Encoding: chunked,']],
].map(([name, headers]) =>
  rejected(`Transfer-Encoding: ${name}`, head(...(headers as string[])) + ENDED_CHUNKS),
)

const contentLength: SmugglingCase[] = [
  ['two that differ', ['Content-Length: 0', HIDDEN_LENGTH]],
  ['two that are equal', [HIDDEN_LENGTH, HIDDEN_LENGTH]],
  ['a list that differs', [`Content-Length: 0, ${HIDDEN.length}`]],
  ['a list of equal values', [`Content-Length: ${HIDDEN.length}, ${HIDDEN.length}`]],
  ['a plus sign', ['Content-Length: +0']],
  ['a minus sign', ['Content-Length: -1']],
  ['hexadecimal', ['Content-Length: 0x0']],
  ['a fraction', ['Content-Length: 0.0']],
  ['an exponent', ['Content-Length: 1e1']],
  ['a space within', ['Content-Length: 0 0']],
  ['a letter behind it', ['Content-Length: 0a']],
  ['an empty value', ['Content-Length:']],
  ['above 64 bits', ['Content-Length: 18446744073709551616']],
  ['a space before the colon', [`Content-Length : ${HIDDEN.length}`]],
  ['a folded value', ['Content-Length:\r\n 0']],
  ['a NUL behind it', ['Content-Length: 0\0']],
  ['a quoted value', ['Content-Length: "0"']],
].map(([name, headers]) => rejected(`Content-Length: ${name}`, head(...(headers as string[])) + HIDDEN))

const chunks: SmugglingCase[] = [
  ['a size with 0x', `0x${SIZE}\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a size with a sign', `+${SIZE}\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a negative size', `-1\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a size above 64 bits', `10000000000000000${SIZE}\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a size with a space before it', ` ${SIZE}\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['no size', `\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a letter as size', `g\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a bare line feed after the size', `${SIZE}\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a bare line feed after the data', `${SIZE}\r\n${ANIMAL}\n0\r\n\r\n`],
  ['a bare carriage return after the size', `${SIZE}\r${ANIMAL}\r\n0\r\n\r\n`],
  ['data longer than its size', `${SIZE}\r\n${ANIMAL}xx\r\n0\r\n\r\n`],
  ['data shorter than its size', `${(ANIMAL.length + 1).toString(16)}\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['no line end after the data', `${SIZE}\r\n${ANIMAL}0\r\n\r\n`],
  ['a bare line feed in an extension', `${SIZE};a\nb\r\n${ANIMAL}\r\n0\r\n\r\n`],
  ['a NUL in an extension', `${SIZE};a=\0\r\n${ANIMAL}\r\n0\r\n\r\n`],
  [
    'a Content-Length in the trailer',
    `${SIZE}\r\n${ANIMAL}\r\n0\r\nContent-Length: ${HIDDEN.length}\r\n\r\n`,
  ],
  ['a Transfer-Encoding in the trailer', `${SIZE}\r\n${ANIMAL}\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n`],
  ['a bare line feed in the trailer', `${SIZE}\r\n${ANIMAL}\r\n0\r\nX: y\n\r\n`],
].map(([name, body]) => rejected(`chunks: ${name}`, head(CHUNKED) + body + HIDDEN))

const heads: SmugglingCase[] = [
  rejected('head: bare line feeds', get(HIDDEN_LENGTH).replaceAll('\r\n', '\n') + HIDDEN),
  rejected('head: a bare line feed at its end', `${get().slice(0, -2)}\n${HIDDEN}`),
  rejected('head: a bare carriage return at its end', `${get().slice(0, -2)}\r${HIDDEN}`),
  rejected('head: a NUL in a value', get('X: a\0b') + HIDDEN),
  rejected('head: a header without a colon', get('X') + HIDDEN),
  rejected('head: an empty header name', get(': x') + HIDDEN),
  rejected('head: a space in a header name', get('Content Length: 0') + HIDDEN),
  rejected('head: a folded line', get('X: a\r\n\tb') + HIDDEN),
  rejected('head: no target', get().replace('/v1/pets ', '') + HIDDEN),
  rejected('head: a space in the target', get().replace('/v1/pets', '/v1 /pets') + HIDDEN),
  rejected('head: a tab in the request line', get().replace('GET ', 'GET\t') + HIDDEN),
  rejected('head: HTTP/0.9', get().replace(' HTTP/1.1', '') + HIDDEN),
  rejected('head: HTTP/2.0', get().replace('HTTP/1.1', 'HTTP/2.0') + HIDDEN),
  rejected('head: a lower-case protocol', get().replace('HTTP/1.1', 'http/1.1') + HIDDEN),
  rejected('head: an unknown method', get().replace('GET', 'FOO') + HIDDEN),
]

const connections: SmugglingCase[] = [
  answered('Upgrade: a request behind it', [200], get('Connection: Upgrade', 'Upgrade: websocket') + HIDDEN),
  answered('Upgrade: an empty value', [200], get('Upgrade:') + HIDDEN),
  answered(
    'Upgrade: with chunks',
    [201],
    head(CHUNKED, 'Connection: Upgrade', 'Upgrade: x') + CHUNKS + HIDDEN,
  ),
  answered('Upgrade: without Connection', [200], get('Upgrade: websocket') + HIDDEN),
  answered(
    'Upgrade: h2c with a body',
    [201],
    head('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', LENGTH) + ANIMAL + HIDDEN,
  ),
  answered('Upgrade: behind a creation', [201, 200], HIDDEN + get('Upgrade: x') + HIDDEN),
  answered('CONNECT: a request behind it', [400], requestHead('CONNECT a:1 HTTP/1.1', 'Host: a') + HIDDEN),
  answered(
    'CONNECT: behind a creation',
    [201, 400],
    HIDDEN + requestHead('CONNECT a:1 HTTP/1.1', 'Host: a') + HIDDEN,
  ),
  answered('HTTP/1.0: chunked', [400], inHttp10(head(CHUNKED, KEEP_ALIVE) + CHUNKS) + HIDDEN),
  answered(
    'HTTP/1.0: chunked and Content-Length',
    [400],
    inHttp10(head(ENDED_LENGTH, CHUNKED, KEEP_ALIVE)) + ENDED_CHUNKS,
  ),
  answered('HTTP/1.0: a request behind one that closes', [200], inHttp10(get()) + HIDDEN),
  answered('Connection: close, and a request behind it', [200], get('Connection: close') + HIDDEN),
]

/** The service reads the hidden request as a body, so the connection stays open for the last request. */
const bodies: SmugglingCase[] = [
  answered('body: of a GET', [200, 200], get(HIDDEN_LENGTH) + HIDDEN),
  answered('body: of a HEAD', [200, 200], get(HIDDEN_LENGTH).replace('GET', 'HEAD') + HIDDEN),
  answered('body: of a rejected creation', [400, 200], head(HIDDEN_LENGTH) + HIDDEN),
  answered(
    'body: in a chunk',
    [400, 200],
    `${head(CHUNKED)}${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
  ),
  answered('body: after 100 Continue', [400, 200], head('Expect: 100-continue', HIDDEN_LENGTH) + HIDDEN),
  answered('body: after a wrong expectation', [417, 200], head('Expect: tea', HIDDEN_LENGTH) + HIDDEN),
  answered('body: pipelined creations are not hidden', [201, 201, 200], HIDDEN + HIDDEN),
]

const CASES: readonly SmugglingCase[] = [
  ...transferEncoding,
  ...contentLength,
  ...chunks,
  ...heads,
  ...connections,
  ...bodies,
]

function rejected(name: string, bytes: string): SmugglingCase {
  return answered(name, [400], bytes)
}

function answered(name: string, statuses: readonly number[], bytes: string): SmugglingCase {
  return { name, statuses, bytes }
}

export function smuggling(): Promise<Figure[]> {
  return inScope(async scope => {
    const { address, store } = await startTestService(scope)
    const answers = await Promise.all(CASES.map(({ bytes }) => send(address, bytes)))
    const wrong = CASES.filter(({ statuses }, index) => String(statuses) !== String(answers[index]))
    const seen = answers.flat()
    const created = seen.filter(status => status === 201).length
    const stored = (await store.listAnimals({ limit: 100 })).length
    return [
      {
        promise: `${CASES.length} smuggling cases: no hidden request is served`,
        measured: `${seen.length} answers received, ${created} times 201 received, ${stored} animals stored${wrong.map(({ name }) => `; wrong answer to ${name}`).join('')}`,
        holds: wrong.length === 0 && created === stored,
      },
    ]
  })
}

/** Resolves with the statuses once the connection is closed. If nothing before closes it, the last request does. */
async function send(address: string, bytes: string): Promise<number[]> {
  const { socket, received, closed } = connectRaw(address)
  socket.write(Buffer.from(bytes + LAST, 'latin1'))
  // The service may reset the connection of a client that is still sending.
  await closed.catch(() => {})
  return statusesOf(received()).filter(status => status >= 200)
}
