// A stand-in for curl on machines without it. It supports the flags that the documents and the first-run message use.

import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type ParseArgsConfig, parseArgs } from 'node:util'

const OPTIONS = {
  data: { type: 'string', short: 'd' },
  fail: { type: 'boolean' },
  header: { type: 'string', short: 'H', multiple: true },
  include: { type: 'boolean' },
  output: { type: 'string' },
  retry: { type: 'string' },
  'retry-connrefused': { type: 'boolean' },
  'retry-delay': { type: 'string' },
  silent: { type: 'boolean', short: 's' },
  'write-out': { type: 'string' },
} as const satisfies ParseArgsConfig['options']

/** The exit codes of curl. */
const MISUSED = 2
const NOT_CONNECTED = 7
const HTTP_ERROR = 22
const BROKEN_CONNECTION = 56

const RETRIED_STATUSES = [408, 429, 500, 502, 503, 504]

interface Response {
  readonly head: string
  readonly status: number
  readonly body: Buffer
}

interface Failure {
  readonly exitCode: number
  readonly message: string
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(args)
  } catch (error) {
    return fail({ exitCode: MISUSED, message: (error as Error).message })
  }
  const { url, options } = parsed
  const result = await sendWithRetries(url, options)
  if ('exitCode' in result) return fail(result, options.silent)
  const isFailure = options.fail === true && result.status >= 400
  if (!isFailure) {
    const output = Buffer.concat([Buffer.from(options.include ? result.head : ''), result.body])
    if (options.output === undefined) process.stdout.write(output)
    else writeFileSync(options.output, output)
  }
  if (options['write-out'] !== undefined) {
    process.stdout.write(
      options['write-out'].replaceAll('%{http_code}', String(result.status)).replaceAll('\\n', '\n'),
    )
  }
  return isFailure
    ? fail({ exitCode: HTTP_ERROR, message: `the response has status ${result.status}` }, options.silent)
    : 0
}

function parse(args: readonly string[]) {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  const [url, ...others] = positionals
  if (url === undefined || others.length > 0) throw new Error('expected one URL')
  return { url, options: values }
}

type Options = ReturnType<typeof parse>['options']

function fail({ exitCode, message }: Failure, isSilent = false): number {
  if (!isSilent) process.stderr.write(`curl: (${exitCode}) ${message}\n`)
  return exitCode
}

async function sendWithRetries(url: string, options: Options): Promise<Response | Failure> {
  for (let left = Number(options.retry ?? 0); ; left--) {
    const result = await send(url, options)
    const isWorthRetry =
      'exitCode' in result
        ? result.exitCode === NOT_CONNECTED && options['retry-connrefused']
        : RETRIED_STATUSES.includes(result.status)
    if (left <= 0 || !isWorthRetry) return result
    const seconds = Number(options['retry-delay'] ?? 1)
    if (!options.silent)
      process.stderr.write(`Warning: Will retry in ${seconds} seconds. ${left} retries left.\n`)
    await delay(seconds * 1_000)
  }
}

function send(url: string, { header = [], data }: Options): Promise<Response | Failure> {
  const headers: Record<string, string> = { accept: '*/*' }
  if (data !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded'
  for (const line of header) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return new Promise(resolve => {
    const outgoing = request(url, { method: data === undefined ? 'GET' : 'POST', headers, agent: false })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const exitCode = error.syscall === 'connect' ? NOT_CONNECTED : BROKEN_CONNECTION
      resolve({ exitCode, message: error.message })
    })
    outgoing.on('response', async incoming => {
      try {
        const body = await buffer(incoming)
        resolve({ head: headOf(incoming), status: incoming.statusCode ?? 0, body })
      } catch (error) {
        resolve({ exitCode: BROKEN_CONNECTION, message: (error as Error).message })
      }
    })
    outgoing.end(data)
  })
}

function headOf({ httpVersion, statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/${httpVersion} ${statusCode} ${statusMessage}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  }
  return `${lines.join('\r\n')}\r\n\r\n`
}
