// Request smuggling: sends the cases of smuggling-cases.ts to the service, and to the service behind HAProxy and nginx
// where they are installed. Nothing is smuggled if all hops count the same requests and the same creations.
//
//   node test/faults/smuggling.ts

import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { connectRaw, statusesOf } from '../support/raw-http.ts'
import { client, type Scope, startTestService, type TestService } from '../support/service.ts'
import { type Figure, report } from './figure.ts'
import { inScope } from './processes.ts'
import { type ReverseProxy, startHaproxy, startNginx } from './proxies.ts'
import { CASES, type SmugglingCase } from './smuggling-cases.ts'

const CONCURRENT_CASES = 10

/** A connection that nobody closes is complete when it was quiet for this long, and a later creation was answered. */
const QUIET_MS = 500
const LATER = { id: 'later', animal: { name: 'Later', categoryId: 1 } }

/** The pause between segments, so that they are not sent as one. */
const SEGMENT_MS = 50

export async function smuggling(_options: { quick: boolean }): Promise<Figure[]> {
  const figures = await Promise.all([
    inScope(direct),
    inScope(scope => behind(scope, 'HAProxy', startHaproxy)),
    inScope(scope => behind(scope, 'nginx', startNginx)),
  ])
  return figures
}

/** Without a proxy, the statuses of each case are known, and each must be in the log of the service. */
async function direct(scope: Scope): Promise<Figure> {
  const service = await startTestService(scope)
  const answers = await sendAll(service, service.address)
  const wrong = CASES.filter(({ statuses }, index) => String(statuses) !== String(answers[index]))
  const seen = answers.flat()
  const counts = {
    'answers received': seen.length,
    'requests in the log': answeredBy(service).length,
    'times 201 received': createdOf(seen),
    'animals stored': await countAnimals(service),
  }
  return {
    promise: `${CASES.length} smuggling cases, direct: no hidden request is served`,
    measured: `${describe(counts)}${wrong.map(({ name }) => `; wrong answer to ${name}`).join('')}`,
    holds: wrong.length === 0 && agree(counts),
  }
}

async function behind(
  scope: Scope,
  name: string,
  startProxy: (scope: Scope, backend: string) => Promise<ReverseProxy | undefined>,
): Promise<Figure> {
  const promise = `${CASES.length} smuggling cases, through ${name}: all hops count the same`
  const service = await startTestService(scope)
  const proxy = await startProxy(scope, service.address)
  if (proxy === undefined) return { promise, measured: `not measured: ${name} is not installed`, holds: true }
  const victim = client(proxy.address)
  scope.after(victim.close)
  let ownAnswers = 0
  const answers = await sendAll(service, proxy.address, async group => {
    const id = `victim-${group}`
    const reply = await victim.send('GET', '/v1/pets?limit=1', { headers: { 'x-request-id': id } })
    if (reply.status === 200 && reply.headers['x-request-id'] === id) ownAnswers++
  })
  const groups = Math.ceil(CASES.length / CONCURRENT_CASES)
  const forwarded = await proxy.forwarded()
  const answered = answeredBy(service)
  const counts = {
    'forwarded by the proxy': forwarded.length,
    'answered by the service': answered.length,
    'times 201 seen by clients': createdOf(answers.flat()),
    'times 201 seen by the proxy': createdOf(forwarded),
    'animals stored': await countAnimals(service),
  }
  return {
    promise,
    measured: `${describe(counts)}; ${ownAnswers} of ${groups} requests of another client got their own answer`,
    holds: agree(counts) && ownAnswers === groups,
  }
}

/** Sends all cases, a few at a time, and calls `between` after each group. Returns the statuses of each case. */
async function sendAll(
  service: TestService,
  address: string,
  between?: (group: number) => Promise<void>,
): Promise<number[][]> {
  const answers: number[][] = []
  for (let start = 0; start < CASES.length; start += CONCURRENT_CASES) {
    const group = CASES.slice(start, start + CONCURRENT_CASES)
    answers.push(...(await Promise.all(group.map(each => sendCase(service, address, each)))))
    await between?.(start)
  }
  return answers
}

async function sendCase(
  service: TestService,
  address: string,
  { segments }: SmugglingCase,
): Promise<number[]> {
  const { socket, received, closed } = connectRaw(address)
  const ended = closed.then(
    () => true,
    () => true,
  )
  await once(socket, 'connect')
  for (const segment of segments) {
    socket.write(Buffer.from(segment, 'latin1'))
    await delay(SEGMENT_MS)
  }
  for (let length = -1; length !== received().length; ) {
    length = received().length
    if (await Promise.race([ended, quiet(service)])) break
  }
  socket.destroy()
  return statusesOf(received()).filter(status => status >= 200)
}

/**
 * Waits for `QUIET_MS`, and until a later creation is answered: on a busy machine, only that shows that no earlier
 * answer is still on its way. Resolves with false.
 */
async function quiet({ create }: TestService): Promise<false> {
  await delay(QUIET_MS)
  await create(LATER.animal, { 'x-request-id': LATER.id, 'idempotency-key': LATER.id })
  return false
}

/** The statuses that the service sent, from its log. */
function answeredBy({ logs }: TestService): number[] {
  return logs
    .filter(({ msg, status, requestId }) => msg === 'request' && status !== null && requestId !== LATER.id)
    .map(({ status }) => Number(status))
}

async function countAnimals({ store }: TestService): Promise<number> {
  const animals = await store.listAnimals({ limit: 100 })
  return animals.filter(({ name }) => name !== LATER.animal.name).length
}

function createdOf(statuses: readonly number[]): number {
  return statuses.filter(status => status === 201).length
}

function describe(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
}

/** Whether the first two counts are equal (requests), and the others too (creations). */
function agree(counts: Record<string, number>): boolean {
  const [requests, answered, ...created] = Object.values(counts)
  return requests === answered && new Set(created).size === 1
}

if (import.meta.main) await report(smuggling)
