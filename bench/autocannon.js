// Load from autocannon, in a process of its own: reads a plan, and prints what came of it.

import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const { address, asks, key, seconds, connections } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const result = await autocannon({
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
console.log(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    refused: result['4xx'] + result['5xx'],
    broken: result.errors + result.timeouts,
  }),
)
