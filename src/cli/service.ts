// The service as a whole: the one place where all parts meet.

import { once } from 'node:events'
import { type AddressInfo, isIPv6, type Server } from 'node:net'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { type Logger, pino } from 'pino'
import type { Environment } from '../api-key.ts'
import { type Clock, systemClock } from '../clock.ts'
import { GROUP_LIMITS, groupCreations } from '../grouping.ts'
import { buildApp } from '../http/app.ts'
import { type Addresses, openApiDocument } from '../http/openapi.ts'
import { renderJson } from '../json.ts'
import { pages } from '../page/pages.ts'
import type { DatabaseAddress } from '../setting-values.ts'
import type { Store } from '../store.ts'
import { CommandFailed } from './command.ts'
import { makeFirstKey } from './first-key.ts'
import type { LogStream } from './log-stream.ts'
import { openStore } from './open-store.ts'

/** From the signal to the end, whatever the clients do. */
const STOP_WITHIN_MS = 9_000

/** How long a creation waits for its batch: with what the statement may take, short enough for an answer within three seconds. */
const ON_POSTGRES = { waitMs: 600 }

const FORGET_EVERY_MS = 60_000
const FORGET_AT_ONCE = 1_000

export interface ServiceOptions {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: DatabaseAddress | undefined
  readonly environment?: Environment | undefined
  readonly productionUrl?: string | undefined
  readonly stagingUrl?: string | undefined
  readonly corsOrigins?: readonly string[] | undefined
  readonly logLevel?: string | undefined
  readonly shutdownDelayMs?: number | undefined
  readonly apiKey?: string | undefined
  /** Make a key where there is none, unless one comes from the environment. */
  readonly makesFirstKey?: boolean
  readonly clock?: Clock
  readonly logStream: LogStream
}

export interface Service {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  readonly address: string
  /** The key made on the first run, to be shown once. */
  readonly firstKey: string | undefined
  readonly store: Store
  /** Fails readiness, goes on serving for the shutdown delay, lets every request in flight end, then closes. */
  stop(): Promise<void>
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { environment = 'production', clock = systemClock, shutdownDelayMs = 1_000, apiKey } = options
  const { makesFirstKey = true } = options
  const opened = await openStore({ database: options.database, environment, clock, create: true })
  const isPostgres = options.database?.kind === 'postgres'
  const store = groupCreations(opened, { ...GROUP_LIMITS, ...(isPostgres && ON_POSTGRES) })
  let isAccepting = true
  let address = ''
  const document = () => openApiDocument(publishedAddresses(options, environment, address))

  const log = pino({ level: options.logLevel ?? 'info', base: null }, options.logStream)
  const { server, cut } = buildApp({
    store,
    clock,
    environment,
    extraKey: apiKey,
    corsOrigins: options.corsOrigins ?? [],
    log,
    documents: [
      { path: '/openapi.json', mediaType: 'application/json', body: () => `${renderJson(document(), 2)}\n` },
      ...pages({ environment, document }),
    ],
    isAccepting: () => isAccepting,
  })
  let firstKey: string | undefined
  try {
    address = await listen(server, options.host ?? '127.0.0.1', options.port ?? 8080)
    // Not before it listens: a key that is made and then not shown would be lost.
    if (makesFirstKey && apiKey === undefined) firstKey = await makeFirstKey(store, environment, clock)
    log.info(`listening on ${address}`)
  } catch (error) {
    await closed(server)
    await store.close()
    throw error
  }
  const cleanUp = every(FORGET_EVERY_MS, () => forgetPassed(store, log, () => isAccepting))

  return {
    address,
    firstKey,
    store,
    async stop() {
      const deadline = performance.now() + STOP_WITHIN_MS
      isAccepting = false
      log.info('stopping')
      await delay(shutdownDelayMs)
      const cutting = setTimeout(cut, deadline - performance.now())
      await closed(server)
      clearTimeout(cutting)
      await cleanUp.stop()
      await store.close()
      log.info('stopped')
    },
  }
}

/** Does the work again and again, never twice at once; `stop` resolves when none is being done any more. */
function every(ms: number, work: () => Promise<void>): { stop(): Promise<void> } {
  let last: Promise<void> | undefined
  const timer = setInterval(() => {
    last ??= work().finally(() => {
      last = undefined
    })
  }, ms).unref()
  return {
    async stop() {
      clearInterval(timer)
      await last
    },
  }
}

async function listen(server: Server, host: string, port: number): Promise<string> {
  try {
    await once(server.listen({ host, port }), 'listening')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const reason = code === 'EADDRINUSE' ? 'the port is taken' : String(code ?? error)
    throw new CommandFailed(`Cannot listen on ${host}, port ${port}: ${reason}.`, { cause: error })
  }
  const { port: actualPort } = server.address() as AddressInfo
  return `http://${reachable(host)}:${actualPort}`
}

/** Idle connections end at once, the others with their request. */
function closed(server: Server): Promise<void> {
  return new Promise(resolve => server.close(() => resolve()))
}

/** An address that a program on this machine can connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return isIPv6(host) ? `[${host}]` : host
}

/** A server always names itself: its own address is published where its environment has no other. */
function publishedAddresses(
  { productionUrl, stagingUrl }: ServiceOptions,
  environment: Environment,
  address: string,
): Addresses {
  const own = { [environment]: `${address}/v1` }
  return { production: productionUrl ?? own.production, staging: stagingUrl ?? own.staging }
}

/** In steps that hold the write lock briefly, as many as it takes to keep pace with what was remembered. */
async function forgetPassed(store: Store, log: Logger, goesOn: () => boolean): Promise<void> {
  try {
    while (goesOn() && (await store.forgetIdempotencyKeys(FORGET_AT_ONCE)) === FORGET_AT_ONCE)
      await nextTurn()
  } catch (error) {
    log.warn({ err: error }, 'could not forget idempotency keys')
  }
}
