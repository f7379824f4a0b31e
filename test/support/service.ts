// Starts a real service on a free port with its own database, and sends real HTTP requests to it.

import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { parseJson } from '../../client/src/json.ts'
import { showFirstKey } from '../../src/cli/commands/keys.ts'
import { type Service, type ServiceOptions, startService } from '../../src/cli/service/service.ts'
import { assertDescribed } from './openapi.ts'
import { connectRaw } from './raw-http.ts'
import { addEnvironmentKey, assertNoKey } from './secrets.ts'
import { PATIENT_TIMEOUTS } from './timeouts.ts'
import { waitUntil } from './wait.ts'

// `import` would load Undici (src/http/server/node-http.ts), in each test file.
const { Agent, request: httpRequest } = process.getBuiltinModule('node:http')

export const API_KEY = 'test-key-0123456789-abcdefghij'
addEnvironmentKey(API_KEY)

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
  /** The key of the first run, if the service has no extra key. */
  readonly firstKey: string | undefined
  /** The log lines so far, parsed. */
  readonly logs: Record<string, unknown>[]
  readonly logText: () => string
  /** Sends a request with a valid API key. `authorization: ''` omits the header. */
  send(method: string, path: string, sent?: Sent): Promise<Reply>
  create(animal: unknown, headers?: Record<string, string>): Promise<Reply>
}

/** A test or a suite. It runs the clean-ups when it ends. */
export interface Scope {
  after(cleanUp: () => unknown): void
}

/** Starts something once for all tests of the calling suite. Returns a function that returns what was started. */
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
    if (value === undefined) throw new Error('a shared value can be used only while a test runs')
    return value
  }
}

const folders: string[] = []
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Creates a folder that is deleted when the process ends: a store that is closed at the end of a test must find its files. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-'))
  folders.push(folder)
  return folder
}

export async function startTestService(
  t: Scope,
  options: Partial<ServiceOptions> = {},
): Promise<TestService> {
  const lines: string[] = []
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-'))
  const starting = startService({
    port: 0,
    database: { kind: 'sqlite', path: join(folder, 'animals.db') },
    databaseTimeouts: PATIENT_TIMEOUTS,
    apiKey: API_KEY,
    shutdownDelay: 0,
    logStream: { write: line => void lines.push(line) },
    ...options,
  })
  t.after(async () => {
    await starting.then(
      ({ stop }) => stop(),
      () => {},
    )
    rmSync(folder, { recursive: true })
    assertNoKey(lines.join(''), 'the log')
  })
  const service = await starting
  let firstKey: string | undefined
  const { apiKey = undefined, environment = 'production' } = { apiKey: API_KEY, ...options }
  if (apiKey === undefined)
    await showFirstKey(service.store, environment, async key => {
      firstKey = key
    })
  service.setReady()
  const { send, create, close } = client(service.address)
  t.after(close)
  return {
    ...service,
    firstKey,
    send,
    create,
    get logs() {
      return lines.map(line => parseJson(line) as Record<string, unknown>)
    },
    logText: () => lines.join(''),
  }
}

/** Waits until /readyz has this status: the result of a check is kept for a quarter of a second. */
export function untilReadiness({ send }: Pick<TestService, 'send'>, status: number): Promise<void> {
  const hasStatus = async () => (await send('GET', '/readyz')).status === status
  return waitUntil(hasStatus, { what: `/readyz answers ${status}` })
}

/**
 * Sends requests to an address, and checks every response against the OpenAPI document. A patient client sends a request again that
 * got 503.
 */
export function client(address: string, apiKey = API_KEY, isPatient = false) {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(address)

  async function send(method: string, path: string, sent?: Sent): Promise<Reply> {
    let reply = await sendOnce(method, path, sent)
    const isServed = async () => {
      if (reply.status === 503) reply = await sendOnce(method, path, sent)
      return reply.status !== 503
    }
    if (isPatient) await waitUntil(isServed, { what: `${method} ${path} is served` })
    return reply
  }

  async function sendOnce(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Reply> {
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
    assertNoKey(`${JSON.stringify(reply.headers)}${reply.text}`, 'the response')
    return reply
  }

  const create: TestService['create'] = (animal, headers = {}) =>
    send('POST', '/v1/pets', {
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof animal === 'string' ? animal : JSON.stringify(animal),
    })

  return { send, create, close: () => agent.destroy() }
}

/** Sends bytes unchanged, and resolves with the response once the server closes the connection. */
export function sendRaw(address: string, bytes: string | Buffer): Promise<string> {
  const { socket, closed } = connectRaw(address)
  socket.write(bytes)
  return closed
}

/** Parses the first response that a raw connection received, and checks it against the OpenAPI document. */
export function parseRaw(received: string, method = 'GET', path = '/'): Reply {
  const end = received.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n')
  const headers: IncomingHttpHeaders = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const length = Number(headers['content-length'] ?? 0)
  const body = Buffer.from(received.slice(end + 4))
    .subarray(0, length)
    .toString()
  const reply = toReply(Number(statusLine.split(' ')[1]), headers, body)
  assertDescribed(method, path, reply)
  return reply
}

/** The `code` of the error object in a response. */
export function errorCode({ json }: Reply): string {
  return (json as { code: string }).code
}

function toReply(status: number, headers: IncomingHttpHeaders, text: string): Reply {
  const isJson = headers['content-type'] === 'application/json' && text !== ''
  return { status, headers, text, json: isJson ? parseJson(text) : undefined }
}
