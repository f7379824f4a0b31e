// Load from autocannon, in a process of its own: reads a plan, and prints what came of it.

import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const { address, asks, key, isRejected, seconds, connections } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
)
let wrong = 0
const running = autocannon({
  url: address,
  connections,
  duration: seconds,
  headers: { authorization: `Bearer ${key}` },
  requests: asks.map(({ method, path, body }) => ({
    method,
    path,
    ...(body !== undefined && {
      body,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    }),
  })),
})
running.on('response', (_client, status, bytes) => {
  const isExpected = isRejected ? status === 401 : status === 200 || status === 201
  if (!isExpected || bytes === 0) wrong++
})
const result = await running
console.log(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    wrong,
    broken: result.errors + result.timeouts,
  }),
)
