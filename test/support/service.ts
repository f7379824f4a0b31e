// A real service on a free port with a database of its own, and real HTTP requests to it.

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { parseJson } from '../../client/src/json.ts'
import { type Service, type ServiceOptions, startService } from '../../src/cli/service.ts'
import { assertDescribed } from './openapi.ts'

export const API_KEY = 'test-key-0123456789-abcdefghij'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON, with exact integers. */
  readonly json: unknown
}

export interface Sent {
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer
}

export interface TestService extends Service {
  readonly logs: Record<string, unknown>[]
  readonly logText: () => string
  /** Sends a request with a valid key; an `authorization` of '' leaves it out. */
  send(method: string, path: string, sent?: Sent): Promise<Reply>
  create(animal: unknown, headers?: Record<string, string>): Promise<Reply>
}

/** Whatever has an end at which to clean up: a test, or a suite whose tests share a service. */
export interface Scope {
  after(cleanUp: () => unknown): void
}

/** Starts something once for all tests of the suite it is called in. Returns a function that returns it. */
export function shared<Value>(start: (scope: Scope) => Promise<Value>): () => Value {
  const cleanUps: (() => unknown)[] = []
  let value: Value | undefined
  before(async () => {
    value = await start({ after: cleanUp => void cleanUps.push(cleanUp) })
  })
  after(async () => {
    for (const cleanUp of cleanUps) await cleanUp()
  })
  return () => {
    if (value === undefined) throw new Error('only a running test may use what its suite shares')
    return value
  }
}

export function temporaryFolder(t: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function startTestService(
  t: Scope,
  options: Partial<ServiceOptions> = {},
): Promise<TestService> {
  const lines: string[] = []
  const service = await startService({
    port: 0,
    database: { kind: 'sqlite', path: join(temporaryFolder(t), 'animals.db') },
    apiKey: API_KEY,
    shutdownDelayMs: 0,
    logStream: { write: line => void lines.push(line) },
    ...options,
  })
  t.after(() => service.stop())
  const { send, close } = client(service.address)
  t.after(close)
  return {
    ...service,
    send,
    create: (animal, headers = {}) =>
      send('POST', '/v1/pets', {
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof animal === 'string' ? animal : JSON.stringify(animal),
      }),
    get logs() {
      return lines.map(line => parseJson(line) as Record<string, unknown>)
    },
    logText: () => lines.join(''),
  }
}

/** Requests to an address, each answer checked against the OpenAPI document. */
export function client(address: string, apiKey = API_KEY) {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(address)

  async function send(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Reply> {
    const { authorization = `Bearer ${apiKey}`, ...others } = headers
    const reply = await new Promise<Reply>((resolve, reject) => {
      const outgoing = httpRequest(
        {
          agent,
          hostname,
          port,
          method,
          path,
          headers: { ...(authorization === '' ? {} : { authorization }), ...others },
        },
        async incoming => {
          try {
            const chunks: Buffer[] = []
            for await (const chunk of incoming) chunks.push(chunk)
            resolve(toReply(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks).toString()))
          } catch (error) {
            reject(error)
          }
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
    assertDescribed(method, path, reply)
    return reply
  }
  return { send, close: () => agent.destroy() }
}

/** Sends bytes as they are and reads until the server closes the connection. */
export function sendRaw(address: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setEncoding('utf8')
    socket.on('data', chunk => {
      answer += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

/** The first response in what a raw connection received, checked like any other. */
export function parseRaw(answer: string, method = 'GET', path = '/'): Reply {
  const end = answer.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = answer.slice(0, end).split('\r\n')
  const headers: IncomingHttpHeaders = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const length = Number(headers['content-length'] ?? 0)
  const body = Buffer.from(answer.slice(end + 4))
    .subarray(0, length)
    .toString()
  const reply = toReply(Number(statusLine.split(' ')[1]), headers, body)
  assertDescribed(method, path, reply)
  return reply
}

function toReply(status: number, headers: IncomingHttpHeaders, text: string): Reply {
  const isJson = headers['content-type'] === 'application/json' && text !== ''
  return { status, headers, text, json: isJson ? parseJson(text) : undefined }
}
