// Runs autocannon in a process of its own: reads a load plan from a file, and prints the result as JSON.

import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const { address, requests, key, expectsRejection, seconds, connections } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
)
let wrong = 0
const running = autocannon({
  url: address,
  connections,
  duration: seconds,
  headers: { authorization: `Bearer ${key}` },
  requests: requests.map(({ method, path, body }) => ({
    method,
    path,
    ...(body !== undefined && {
      body,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    }),
  })),
})
running.on('response', (_client, status, bytes) => {
  const isExpected = expectsRejection ? status === 401 : status === 200 || status === 201
  if (!isExpected || bytes === 0) wrong++
})
const result = await running
console.log(
  JSON.stringify({
    requestCount: result.requests.total,
    seconds: result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    wrong,
    failed: result.errors + result.timeouts,
  }),
)
