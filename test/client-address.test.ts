// The address of the client in the log: from its connection, or from X-Forwarded-For behind trusted proxies.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readSettings, SettingsError } from '../src/cli/read-settings.ts'
import { connectRaw, requestHead } from './support/raw-http.ts'
import { sendRaw, shared, startTestService, type TestService } from './support/service.ts'
import { waitUntil } from './support/wait.ts'

/** The address in the log line of the request with this id. */
function addressOf({ logs }: TestService, requestId: string): unknown {
  return logs.find(line => line.requestId === requestId)?.address
}

let requests = 0

async function logged(service: TestService, fields: readonly string[]): Promise<unknown> {
  const id = `address-${++requests}`
  const forwarded = fields.map(value => `X-Forwarded-For: ${value}`)
  const headers = ['host: x', `x-request-id: ${id}`, ...forwarded, 'connection: close']
  await sendRaw(service.address, requestHead('GET /livez HTTP/1.1', ...headers))
  await waitUntil(() => addressOf(service, id) !== undefined, { what: 'the request is logged' })
  return addressOf(service, id)
}

const SOCKET = '127.0.0.1'

suite('the address of the client', () => {
  const trusting = [0, 1, 2].map(trustProxy => shared(scope => startTestService(scope, { trustProxy })))

  const rows: [number, string, string[], string][] = [
    [0, 'one entry', ['203.0.113.7'], SOCKET],
    [1, 'no header', [], SOCKET],
    [1, 'two entries', ['198.51.100.1, 203.0.113.7'], '203.0.113.7'],
    [1, 'two fields', ['198.51.100.1', '203.0.113.7'], '203.0.113.7'],
    [1, 'an empty element at the end', ['203.0.113.7,'], '203.0.113.7'],
    [1, 'an empty field', [''], SOCKET],
    [2, 'one entry', ['203.0.113.7'], SOCKET],
    [2, 'three entries in two fields', ['192.0.2.1', '198.51.100.1, 203.0.113.7'], '198.51.100.1'],
    [2, 'text that the client wrote', ['x", "y', '198.51.100.1', '203.0.113.7'], '198.51.100.1'],
    [1, 'an IPv4 address with a port', ['203.0.113.7:4711'], '203.0.113.7'],
    [1, 'an IPv6 address', ['2001:db8::1'], '2001:db8::1'],
    [1, 'an IPv6 address with a port', ['[2001:db8::1]:4711'], '2001:db8::1'],
    [1, 'an IPv4 address in the form of IPv6', ['::ffff:203.0.113.7'], '203.0.113.7'],
    [1, 'unknown', ['unknown'], SOCKET],
    [1, 'an IPv4 address with a number that is too large', ['203.0.113.256'], SOCKET],
    [1, 'an address with a zone', ['fe80::1%as_live_SECRET'], SOCKET],
    [1, 'a secret behind a valid entry', ['203.0.113.7, as_live_SECRET'], SOCKET],
  ]
  for (const [proxies, what, fields, expected] of rows) {
    test(`with ${proxies} trusted proxies and ${what} is ${expected}`, async () => {
      const service = trusting[proxies]?.() as TestService
      assert.equal(await logged(service, fields), expected)
      assert.ok(!service.logText().includes('SECRET'))
    })
  }

  test('is in the log line of a request that the parser rejected, and of one that was aborted', async t => {
    const service = await startTestService(t)
    await sendRaw(service.address, 'nonsense\r\n\r\n')
    const { socket } = connectRaw(service.address)
    socket.write(requestHead('POST /livez HTTP/1.1', 'host: x', 'x-request-id: aborted', 'content-length: 9'))
    await waitUntil(() => socket.bytesRead > 0, { what: 'it is answered' })
    socket.destroy()
    const lines = () => service.logs.filter(({ msg }) => msg === 'request')
    await waitUntil(() => lines().length === 2, { what: 'both are logged' })
    assert.deepEqual(
      lines().map(({ address }) => address),
      [SOCKET, SOCKET],
    )
  })

  test('is IPv4 if the client connects over IPv4 to an IPv6 socket', async t => {
    const service = await startTestService(t, { host: '::ffff:127.0.0.1' })
    const { port } = new URL(service.address)
    await fetch(`http://127.0.0.1:${port}/livez`)
    const line = () => service.logs.find(({ msg }) => msg === 'request')
    await waitUntil(() => line() !== undefined, { what: 'the request is logged' })
    assert.equal(line()?.address, '127.0.0.1')
  })

  test('depends on --trust-proxy, the number of trusted proxies: a whole number from 0 to 99', () => {
    const read = (text: string) =>
      readSettings({ settings: ['trustProxy'] }, { args: ['--trust-proxy', text], env: {} }).settings
    assert.deepEqual([read('0').trustProxy, read('2').trustProxy], [0, 2])
    for (const text of ['-1', '1.5', 'true', '100', '01', ''])
      assert.throws(() => read(text), SettingsError, text)
  })
})
