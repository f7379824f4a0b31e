// Rate limits per API key: what counts, the headers, 429, and how workers share them.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { generateKey } from '../src/api-key.ts'
import { readSettings } from '../src/cli/read-settings.ts'
import {
  createBuckets,
  createRateLimiter,
  createSharedRateLimiter,
  portionOf,
  type RateLimit,
  type RateLimiter,
  type RateLimitResult,
} from '../src/http/api/rate-limit.ts'
import { serve } from './support/command.ts'
import {
  API_KEY,
  client,
  errorCode,
  type Reply,
  startTestService,
  temporaryFolder,
} from './support/service.ts'
import { waitUntil } from './support/wait.ts'

const HOUR = 3_600

/** The requests that are left, and the seconds until the bucket is full. */
function stateOf({ headers }: Pick<Reply, 'headers'>): [number, number] {
  const [, remaining, seconds] = /^"key";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? []
  return [Number(remaining), Number(seconds)]
}

function startBucket(requests: number, windowSeconds: number) {
  let ms = 1_000
  const limiter = createRateLimiter({ requests, windowSeconds }, () => ms)
  return {
    wait(seconds: number) {
      ms += seconds * 1_000
    },
    /** Returns the policy, what is left and when the bucket is full, and after how many seconds to retry. */
    take(keyId = 'key_1') {
      const { headers, retryAfterSeconds } = limiter.take(keyId) as RateLimitResult
      const [, policy, , state] = headers
      return [policy, state, retryAfterSeconds]
    },
  }
}

suite('a bucket', () => {
  const policy = '"key";q=3;w=60'

  test('grants all requests of the window at once, and then one per interval', () => {
    const bucket = startBucket(3, 60)
    assert.deepEqual(bucket.take(), [policy, '"key";r=2;t=20', undefined])
    assert.deepEqual(bucket.take(), [policy, '"key";r=1;t=40', undefined])
    assert.deepEqual(bucket.take(), [policy, '"key";r=0;t=60', undefined])
    assert.deepEqual(bucket.take(), [policy, '"key";r=0;t=60', 20])
    bucket.wait(19.5)
    assert.deepEqual(bucket.take(), [policy, '"key";r=0;t=41', 1])
    bucket.wait(0.5)
    assert.deepEqual(bucket.take(), [policy, '"key";r=0;t=60', undefined])
    bucket.wait(1_000)
    assert.deepEqual(bucket.take(), [policy, '"key";r=2;t=20', undefined])
  })

  for (const [requests, windowSeconds] of [
    [1, 1],
    [7, 60],
    [99_991, 86_400],
  ] as const) {
    test(`grants exactly ${requests} requests at once`, () => {
      const bucket = startBucket(requests, windowSeconds)
      for (let left = requests - 1; left >= 0; left--) {
        const [, state, retryAfter] = bucket.take()
        assert.equal(retryAfter, undefined)
        assert.ok(String(state).startsWith(`"key";r=${left};`), `${state}, ${left} left`)
      }
      assert.notEqual(bucket.take()[2], undefined)
    })
  }

  test('is separate for each key', () => {
    const bucket = startBucket(1, 60)
    assert.equal(bucket.take('key_1')[2], undefined)
    assert.equal(bucket.take('key_2')[2], undefined)
    assert.equal(bucket.take('key_1')[2], 60)
  })
})

suite('a bucket that workers share', () => {
  /** Workers with one bucket. */
  function startWorkers(count: number, limit: RateLimit) {
    let ms = 1_000
    const now = () => ms
    const buckets = createBuckets(limit, now)
    const workers = Array.from({ length: count }, () =>
      createSharedRateLimiter(limit, {
        ask: async keyId => buckets.take(keyId, portionOf(limit, count)),
        workers: count,
        warn: assert.fail,
        now,
      }),
    )
    return {
      wait(seconds: number) {
        ms += seconds * 1_000
      },
      /** The same, all at once and to one worker. */
      async sendAtOnce(requests: number, worker: number): Promise<number> {
        const results = await Promise.all(
          Array.from({ length: requests }, () => (workers[worker] as RateLimiter).take('k')),
        )
        return results.filter(({ retryAfterSeconds }) => retryAfterSeconds === undefined).length
      },
      /** Sends requests to the workers that `workerOf` chooses, one after the other, and returns how many were granted. */
      async send(requests: number, workerOf: (request: number) => number): Promise<number> {
        let granted = 0
        for (let request = 0; request < requests; request++) {
          const worker = workers[workerOf(request) % count] as RateLimiter
          const { retryAfterSeconds } = await worker.take('k')
          if (retryAfterSeconds === undefined) granted++
        }
        return granted
      },
    }
  }

  for (const [requests, windowSeconds] of [
    [600, 60],
    [20, 10],
  ] as const) {
    for (const count of [2, 16]) {
      for (const [where, workerOf] of [
        ['on one connection', () => 0],
        ['on many connections', (request: number) => request],
      ] as const) {
        test(`grants 90 to 110 % of ${requests}/${windowSeconds}s, with ${count} workers, ${where}`, async () => {
          const workers = startWorkers(count, { requests, windowSeconds })
          const first = await workers.send(requests * 1.2, workerOf)
          assert.ok(first >= 0.9 * requests && first <= 1.1 * requests, `${first}`)
          workers.wait(windowSeconds)
          // The second time on other workers than the first.
          const second = await workers.send(requests * 1.2, request => workerOf(request) + 1)
          assert.ok(second >= 0.9 * requests && second <= 1.1 * requests, `${second}`)
        })
      }
    }
  }

  for (const count of [2, 16]) {
    test(`is not taken by one of ${count} workers if many requests come at once`, async () => {
      const limit = { requests: 600, windowSeconds: 60 }
      const workers = startWorkers(count, limit)
      const first = await workers.sendAtOnce(20, 0)
      const others = await workers.sendAtOnce(1_000, 1)
      assert.equal(first, 20)
      assert.ok(first + others >= 540 && first + others <= 600, `${first} + ${others}`)
      workers.wait(60)
      const later = (await workers.sendAtOnce(1_000, 0)) + (await workers.sendAtOnce(1_000, 1))
      assert.ok(later >= 540 && later <= 660, `${later}`)
    })
  }

  test('reports what is left of it, and when it is full again', async () => {
    const limit = { requests: 100, windowSeconds: 100 }
    const now = () => 1_000
    const buckets = createBuckets(limit, now)
    const ask = async (keyId: string) => buckets.take(keyId, 10)
    const limiter = createSharedRateLimiter(limit, { ask, workers: 1, warn: assert.fail, now })
    const states: unknown[] = []
    for (let request = 0; request < 101; request++) states.push((await limiter.take('k')).headers[3])
    assert.deepEqual(states.slice(0, 2), ['"key";r=99;t=10', '"key";r=98;t=10'])
    assert.deepEqual(states.slice(-2), ['"key";r=0;t=100', '"key";r=0;t=100'])
  })

  test('that the primary does not grant: each worker grants its share, and asks again when the primary answers', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const limit = { requests: 10, windowSeconds: 10 }
    const buckets = createBuckets(limit, () => 0)
    const asked: string[] = []
    const warnings: string[] = []
    const answer = Promise.withResolvers<void>()
    const limiter = createSharedRateLimiter(limit, {
      ask(keyId) {
        asked.push(keyId)
        return answer.promise.then(() => buckets.take(keyId, 1))
      },
      workers: 4,
      warn: message => warnings.push(message),
      now: () => 0,
    })
    const isGranted = async (keyId: string) => (await limiter.take(keyId)).retryAfterSeconds === undefined
    const first = Promise.all(['a', 'a', 'a', 'b'].map(isGranted))
    t.mock.timers.tick(1_000)
    assert.deepEqual(await first, [true, true, false, true])
    assert.deepEqual([await isGranted('b'), await isGranted('c')], [true, true])
    assert.deepEqual(asked, ['a', 'b'])
    assert.deepEqual((await limiter.take('c')).headers.slice(0, 2), ['ratelimit-policy', '"key";q=10;w=10'])
    assert.equal(warnings.length, 1)
    answer.resolve()
    await nextTurn()
    // What the primary has granted is used up first.
    for (let count = 0; count < 3; count++) assert.equal(await isGranted('a'), true)
    assert.deepEqual(asked, ['a', 'b', 'a', 'a'])
    assert.match(
      warnings.join('\n'),
      /^The primary process does not answer\. .*\nThe primary process answers again\.$/,
    )
  })
})

suite('the rate limit', () => {
  test('counts every request with a valid key, and rejects what is beyond it with 429', async t => {
    const service = await startTestService(t, { rateLimit: { requests: 6, windowSeconds: HOUR } })
    const replies = [
      await service.send('GET', '/v1/pets'),
      await service.send('HEAD', '/v1/pets'),
      await service.send('GET', '/v1/nothing'),
      await service.send('DELETE', '/v1/pets'),
      await service.create('{'),
      await service.create({ name: 'Bella', categoryId: 7 }),
    ]
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 404, 405, 400, 201],
    )
    for (const [index, reply] of replies.entries()) {
      assert.equal(reply.headers['ratelimit-policy'], `"key";q=6;w=${HOUR}`)
      const [remaining, seconds] = stateOf(reply)
      assert.equal(remaining, 5 - index)
      const expected = (index + 1) * (HOUR / 6)
      assert.ok(seconds <= expected && seconds > expected - 60, `${seconds} of ${expected}`)
    }
    for (const [method, path] of [
      ['GET', '/v1/pets'],
      ['GET', '/v1/pets/1'],
      ['POST', '/v1/pets'],
      ['GET', '/v1/nothing'],
    ] as const) {
      const reply = await service.send(method, path)
      assert.deepEqual([reply.status, errorCode(reply)], [429, 'rate_limited'])
      assert.equal(stateOf(reply)[0], 0)
      const seconds = Number(reply.headers['retry-after'])
      assert.ok(seconds <= HOUR / 6 && seconds > HOUR / 6 - 60, `${seconds}`)
      assert.equal(reply.headers.deprecation, path === '/v1/pets/1' ? '@1794700800' : undefined)
    }
  })

  test('is off by default, and separate for each key', async t => {
    const unlimited = await (await startTestService(t)).send('GET', '/v1/pets')
    assert.deepEqual(
      [unlimited.headers.ratelimit, unlimited.headers['ratelimit-policy']],
      [undefined, undefined],
    )
    const service = await startTestService(t, { rateLimit: { requests: 1, windowSeconds: HOUR } })
    const key = { name: 'x', environment: 'production', createdAt: new Date() } as const
    const keys = [generateKey(key), generateKey(key)]
    for (const { apiKey } of keys) await service.store.createKey(apiKey)
    const secrets = [...keys.map(({ secret }) => secret), API_KEY]
    for (const status of [200, 429]) {
      for (const secret of secrets) {
        const headers = { authorization: `Bearer ${secret}` }
        assert.equal((await service.send('GET', '/v1/pets', { headers })).status, status)
      }
    }
  })

  test('does not concern requests without a valid key, preflights and other paths', async t => {
    const origin = 'https://app.example'
    const rateLimit = { requests: 1, windowSeconds: HOUR }
    const service = await startTestService(t, { rateLimit, corsOrigins: [origin] })
    const preflight = { origin, 'access-control-request-method': 'GET', authorization: '' }
    for (const [method, path, status, headers] of [
      ['GET', '/v1/pets', 401, { authorization: '' }],
      ['GET', '/v1/pets', 401, { authorization: 'Bearer unknown' }],
      ['OPTIONS', '/v1/pets', 204, preflight],
      ['GET', '/livez', 200, {}],
      ['GET', '/readyz', 200, {}],
      ['GET', '/nothing', 404, {}],
    ] as const) {
      const reply = await service.send(method, path, { headers })
      assert.equal(reply.status, status)
      assert.deepEqual([reply.headers.ratelimit, reply.headers['ratelimit-policy']], [undefined, undefined])
    }
    const reply = await service.send('GET', '/v1/pets', { headers: { origin } })
    assert.equal(reply.status, 200)
    assert.match(String(reply.headers['access-control-expose-headers']), /RateLimit-Policy, RateLimit/)
    const rejected = await service.send('GET', '/v1/pets', { headers: { origin } })
    assert.deepEqual([rejected.status, rejected.headers['access-control-allow-origin']], [429, origin])
  })

  for (const [where, isNew] of [
    ['one connection', false],
    ['new connections', true],
  ] as const) {
    test(`is shared by workers: a client gets all of it on ${where}`, async t => {
      const env = { ANIMAL_STORE_API_KEY: API_KEY, SHUTDOWN_DELAY: '0s' }
      const args = ['--workers', '2', '--rate-limit', '200/1h']
      const { address } = await serve(t, args, { cwd: temporaryFolder(), env, isGroup: true })
      const one = client(address)
      t.after(one.close)
      const statuses: number[] = []
      const sendOne = async () => {
        const { send, close } = isNew ? client(address) : one
        const reply = await send('GET', '/v1/pets')
        assert.equal(reply.headers['ratelimit-policy'], '"key";q=200;w=3600')
        statuses.push(reply.status)
        if (isNew) close()
      }
      for (let round = 0; round < 25; round++) await Promise.all(Array.from({ length: 10 }, sendOne))
      const granted = statuses.filter(status => status === 200).length
      assert.ok(granted >= 180 && granted <= 220, `${granted}`)
      assert.deepEqual(new Set(statuses), new Set([200, 429]))
    })
  }
})

suite('with a rate limit and workers, no request hangs while the primary process', {
  concurrency: 2,
  timeout: 60_000,
}, () => {
  async function startTwo(t: TestContext) {
    const args = ['--workers', '2', '--rate-limit', '200/1h', '--shutdown-delay', '5s']
    const env = { ANIMAL_STORE_API_KEY: API_KEY }
    const running = await serve(t, args, { cwd: temporaryFolder(), env, isGroup: true })
    const { send, close } = client(running.address)
    t.after(close)
    return { ...running, send }
  }

  test('is frozen: the worker grants its half, and says when that begins and ends', async t => {
    const { child, send, printed } = await startTwo(t)
    const count = (text: string) => printed.out.split(text).length - 1
    child.kill('SIGSTOP')
    const statuses: number[] = []
    for (let request = 0; request < 150; request++) statuses.push((await send('GET', '/v1/pets')).status)
    assert.deepEqual(statuses, [...Array(100).fill(200), ...Array(50).fill(429)])
    child.kill('SIGCONT')
    await waitUntil(() => count('The primary process answers again.') === 1, {
      what: 'the worker has the answer',
    })
    assert.equal(count('The primary process does not answer.'), 1)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
  })

  test('is dead: the workers that stop answer what they get', async t => {
    const { child, send } = await startTwo(t)
    assert.equal((await send('GET', '/v1/pets')).status, 200)
    child.kill('SIGKILL')
    // More than the worker may grant without the primary.
    for (let request = 0; request < 30; request++) assert.equal((await send('GET', '/v1/pets')).status, 200)
  })
})

suite('--rate-limit', () => {
  const read = (text: string) =>
    readSettings({ settings: ['rateLimit'] }, { args: ['--rate-limit', text], env: {} }).settings.rateLimit

  test('accepts a number of requests and a time from 1s to 24h', () => {
    assert.deepEqual(read('600/60s'), { requests: 600, windowSeconds: 60 })
    assert.deepEqual(read('1000/1m'), { requests: 1_000, windowSeconds: 60 })
    assert.deepEqual(read('999999999/1d'), { requests: 999_999_999, windowSeconds: 86_400 })
  })

  for (const text of [
    '0/60s',
    '600',
    '600/',
    '/60s',
    '600/60',
    '600/0s',
    '600/2d',
    '-1/1s',
    '1.5/1s',
    'off',
  ]) {
    test(`rejects ${text}`, () => {
      const message = /^--rate-limit \(RATE_LIMIT\) must be a number of requests and a time from 1s to 24h/
      assert.throws(() => read(text), { name: 'SettingsError', message })
    })
  }
})
