// PATCH and DELETE /v1/pets/{petId}: bodies, entity tags, conditions, retries, and the order in which a request is checked.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { onEveryDatabase } from './support/databases.ts'
import { connectRaw, requestHead, statusesOf } from './support/raw-http.ts'
import {
  API_KEY,
  errorCode,
  type Reply,
  sendRaw,
  shared,
  startTestService,
  type TestService,
} from './support/service.ts'
import { waitUntil } from './support/wait.ts'

const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }
const BELLA = { name: 'Bella', categoryId: 7, status: 'available' }

type Headers = Readonly<Record<string, string>>

function patch(
  { send }: Pick<TestService, 'send'>,
  target: string | number,
  changes: unknown,
  headers: Headers = {},
): Promise<Reply> {
  const body = typeof changes === 'string' ? changes : JSON.stringify(changes)
  return send('PATCH', `/v1/pets/${target}`, { headers: { ...MERGE_PATCH, ...headers }, body })
}

function remove(
  { send }: Pick<TestService, 'send'>,
  target: string | number,
  headers: Headers = {},
): Promise<Reply> {
  return send('DELETE', `/v1/pets/${target}`, { headers })
}

/** Adds an animal, and returns its id and its entity tag. */
async function add(service: TestService, animal: object = BELLA): Promise<{ id: number; etag: string }> {
  const { json, headers } = await service.create(animal)
  return { id: Number((json as { id: bigint }).id), etag: String(headers.etag) }
}

const tagOf = ({ headers }: Reply) => headers.etag

onEveryDatabase('PATCH /v1/pets/{petId}', start => {
  const service = shared(start)

  test('changes what is sent, keeps the rest, and answers with the whole animal and its tag', async () => {
    const { id, etag } = await add(service())
    const sold = await patch(service(), id, { status: 'sold' })
    assert.deepEqual(
      [sold.status, sold.text],
      [200, `{"id":${id},"name":"Bella","categoryId":7,"status":"sold"}`],
    )
    assert.notEqual(tagOf(sold), etag)
    const bare = await patch(service(), id, { status: null, name: 'Zoë', categoryId: 1 })
    assert.equal(bare.text, `{"id":${id},"name":"Zoë","categoryId":1}`)
    const back = await patch(service(), id, BELLA)
    assert.equal(tagOf(back), etag)
    const got = await service().send('GET', `/v1/pets/${id}`)
    assert.deepEqual([got.text, tagOf(got)], [back.text, etag])
  })

  test('changes nothing for {}, equal values and the animal sent back whole', async () => {
    const { id, etag } = await add(service())
    for (const changes of ['{}', BELLA, { id, ...BELLA }, `{"id":${id}.0,"categoryId":7e0}`]) {
      const reply = await patch(service(), id, changes, { 'content-type': 'application/json; charset=UTF-8' })
      assert.deepEqual([reply.status, tagOf(reply)], [200, etag])
    }
  })

  test('is exact for every int64', async () => {
    const { id } = await add(service())
    for (const digits of ['9223372036854775807', '-9223372036854775808', '9007199254740993'])
      assert.ok(
        (await patch(service(), id, `{"categoryId":${digits}}`)).text.includes(`"categoryId":${digits}`),
      )
  })

  test('answers 404 for an id that names no animal, and creates none', async () => {
    for (const target of ['999999', '-1', 'abc', '01', '9223372036854775808']) {
      const reply = await patch(service(), target, { name: 'x' })
      assert.deepEqual([reply.status, errorCode(reply)], [404, 'not_found'], target)
      assert.equal(reply.headers.deprecation, undefined)
      assert.equal((await remove(service(), target)).status, 404)
    }
  })

  test('moves no animal, and lists, searches and counts show it as it is now', async () => {
    const first = await add(service(), { name: 'Qwert', categoryId: 77, status: 'available' })
    const second = await add(service(), { name: 'Qwert', categoryId: 77, status: 'available' })
    await patch(service(), first.id, { name: 'Çwert', status: 'sold' })
    const ids = async (query: string) =>
      ((await service().send('GET', `/v1/pets?categoryId=77&${query}`)).json as { id: bigint }[]).map(
        ({ id }) => Number(id),
      )
    assert.deepEqual(await ids('limit=5'), [first.id, second.id])
    assert.deepEqual(await ids('name=cwert'), [first.id])
    assert.deepEqual(await ids('name=qwert'), [second.id])
    assert.deepEqual(await ids('status=sold'), [first.id])
    const before = await service().send('GET', '/v1/store/inventory')
    await remove(service(), first.id)
    const after = await service().send('GET', '/v1/store/inventory')
    const counts = [before, after].map(({ json }) => json as { sold: bigint; available: bigint })
    assert.equal(counts[0]?.sold, (counts[1]?.sold ?? 0n) + 1n)
    assert.equal(counts[0]?.available, counts[1]?.available)
    assert.deepEqual(await ids('limit=5'), [second.id])
  })

  test('is conditional: 412 for a tag, then 409 for a status, which the message names, and nothing is done', async () => {
    const { id, etag } = await add(service())
    const other = `"${'0'.repeat(32)}"`
    for (const [headers, query, status] of [
      [{ 'if-match': etag }, '', 200],
      [{ 'if-match': `${other},, ${etag} ,` }, '', 200],
      [{ 'if-match': '*' }, '?ifStatus=available', 200],
      [{ 'if-match': other }, '', 412],
      [{ 'if-match': `W/${etag}` }, '', 412],
      [{ 'if-match': '"short"' }, '', 412],
      [{ 'if-match': '""' }, '', 412],
      [{ 'if-match': other }, '?ifStatus=sold', 412],
      [{ 'if-none-match': other }, '', 200],
      [{ 'if-none-match': etag }, '', 412],
      [{ 'if-none-match': `W/${etag}` }, '', 412],
      [{ 'if-none-match': '*' }, '', 412],
      [{}, '?ifStatus=available', 200],
      [{}, '?ifStatus=avail%61ble', 200],
      [{}, '?ifStatus=none', 409],
      [{ 'if-match': etag }, '?ifStatus=pending', 409],
    ] as [Headers, string, number][]) {
      const what = `${JSON.stringify(headers)} ${query}`
      const reply = await patch(service(), `${id}${query}`, {}, headers)
      assert.equal(reply.status, status, what)
      if (status === 200) continue
      assert.equal(errorCode(reply), status === 412 ? 'precondition_failed' : 'conflict')
      if (status === 409) assert.match(reply.text, /is available/)
      assert.equal((await remove(service(), `${id}${query}`, headers)).status, status, what)
    }
    assert.equal(tagOf(await patch(service(), id, '{}')), etag)
  })

  test('replays the first answer byte for byte, and nothing is done twice', async () => {
    const { id } = await add(service())
    const key = { 'idempotency-key': `sell ${id}`.replace(' ', '-') }
    const sell = () => patch(service(), `${id}?ifStatus=available`, { status: 'sold' }, key)
    const first = await sell()
    await patch(service(), id, { status: 'pending' })
    const again = await sell()
    assert.deepEqual([again.status, again.text, tagOf(again)], [200, first.text, tagOf(first)])
    assert.deepEqual(
      [first, again].map(({ headers }) => headers['idempotent-replayed']),
      [undefined, 'true'],
    )
    assert.match((await patch(service(), id, '{}')).text, /pending/)

    const removal = { 'idempotency-key': `remove-${id}` }
    for (const isReplayed of [undefined, 'true']) {
      const reply = await remove(service(), id, removal)
      assert.deepEqual(
        [reply.status, reply.text, reply.headers['idempotent-replayed']],
        [204, '', isReplayed],
      )
    }
    assert.equal((await sell()).text, first.text)
    assert.equal((await remove(service(), id)).status, 404)
  })

  test('takes a request for the same by the values that it uses, and any other under the key for 422', async () => {
    const { id, etag } = await add(service())
    const key = { 'idempotency-key': `same-${id}` }
    const other = `"${'1'.repeat(32)}"`
    await patch(service(), id, '{"name":"Rex"}', { ...key, 'if-match': `${etag}, ${other}` })
    for (const [target, body, headers, status] of [
      [id, `{ "name" : "R\\u0065x", "id": ${id} }`, { 'if-match': `${other},${etag},${etag}` }, 200],
      [id, '{"name":"Rex"}', { 'if-match': etag }, 422],
      [id, '{"name":"Rex"}', {}, 422],
      [id, '{"name":"Rex","status":null}', { 'if-match': `${etag}, ${other}` }, 422],
      [`${id}?ifStatus=sold`, '{"name":"Rex"}', { 'if-match': `${etag}, ${other}` }, 422],
      [id + 1_000_000, '{"name":"Rex"}', { 'if-match': `${etag}, ${other}` }, 422],
    ] as [string | number, string, Headers, number][]) {
      const reply = await patch(service(), target, body, { ...key, ...headers })
      assert.equal(reply.status, status, `${target} ${body}`)
      if (status === 422) assert.equal(errorCode(reply), 'idempotency_key_reused')
    }
    assert.equal((await service().create(BELLA, key)).status, 422)
    assert.equal((await remove(service(), id, key)).status, 422)
  })

  test('remembers only successes', async () => {
    const { id } = await add(service())
    const key = { 'idempotency-key': `later-${id}` }
    const sell = () => patch(service(), `${id}?ifStatus=pending`, { status: 'sold' }, key)
    assert.equal((await sell()).status, 409)
    await patch(service(), id, { status: 'pending' })
    const sold = await sell()
    assert.deepEqual([sold.status, sold.headers['idempotent-replayed']], [200, undefined])
  })

  test('lets exactly one of many clients sell an animal', async () => {
    const { id, etag } = await add(service())
    const byStatus = await Promise.all(
      Array.from({ length: 16 }, () => patch(service(), `${id}?ifStatus=available`, { status: 'sold' })),
    )
    assert.deepEqual(byStatus.map(({ status }) => status).sort(), [200, ...Array(15).fill(409)])
    await patch(service(), id, BELLA)
    const byTag = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        patch(service(), id, { name: `buyer ${index}` }, { 'if-match': etag }),
      ),
    )
    assert.deepEqual(byTag.map(({ status }) => status).sort(), [200, ...Array(15).fill(412)])
  })

  test('keeps changes of different members that arrive together', async () => {
    const { id } = await add(service())
    const changes = [{ name: 'Rex' }, { categoryId: 99 }, { status: 'pending' }]
    await Promise.all(changes.map(change => patch(service(), id, change)))
    assert.deepEqual((await patch(service(), id, '{}')).json, {
      id: BigInt(id),
      name: 'Rex',
      categoryId: 99n,
      status: 'pending',
    })
  })
})

suite('the tag of an animal', () => {
  const service = shared(startTestService)

  test('is that of a creation, its retry, a read and a change, and a read that has it gets 304', async () => {
    const created = await service().create(BELLA, { 'idempotency-key': 'k' })
    const { id } = created.json as { id: bigint }
    const again = await service().create(BELLA, { 'idempotency-key': 'k' })
    const etag = String(created.headers.etag)
    assert.match(etag, /^"[0-9a-f]{32}"$/)
    assert.equal(again.headers.etag, etag)
    for (const [value, status] of [
      [etag, 304],
      [`W/${etag}`, 304],
      ['*', 304],
      [`"x", ${etag}`, 304],
      ['"x"', 200],
      ['nonsense', 200],
      ['', 200],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const reply = await service().send(method, `/v1/pets/${id}`, { headers: { 'if-none-match': value } })
        assert.equal(reply.status, status, value)
        assert.equal(reply.headers.etag, etag)
        assert.equal(reply.headers.deprecation, '@1794700800')
        if (status === 304) assert.equal(reply.text, '')
      }
    }
  })

  test('is a hash of the animal, the same on every database', async () => {
    const reply = await service().create({ name: 'tag "é\u0001', categoryId: 1 })
    const { id } = reply.json as { id: bigint }
    const { createHash } = await import('node:crypto')
    const text = `{"id":${id},"name":"tag \\"é\\u0001","categoryId":1}`
    assert.equal(reply.headers.etag, `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`)
  })
})

suite('a change that is rejected', () => {
  const service = shared(async t => {
    const started = await startTestService(t)
    await started.create(BELLA)
    return started
  })

  async function assertUnchanged(): Promise<void> {
    assert.equal(
      (await service().send('GET', '/v1/pets')).text,
      `[{"id":1,"name":"Bella","categoryId":7,"status":"available"}]`,
    )
  }

  for (const [body, ...messages] of [
    ['', /body is missing/],
    ['[]', /JSON object/],
    ['null', /JSON object/],
    ['{"name":', /not valid JSON/],
    ['{"name":null}', /name must be/],
    ['{"categoryId":null}', /categoryId must be/],
    ['{"name":" "}', /not be blank/],
    ['{"categoryId":1.5}', /categoryId must be/],
    ['{"categoryId":9223372036854775808}', /categoryId must be/],
    ['{"status":"lost"}', /status must be one of/],
    ['{"status":""}', /status must be one of/],
    ['{"id":2}', /id must be/],
    ['{"id":"1"}', /id must be/],
    ['{"id":null}', /id must be/],
    ['{"stauts":"sold"}', /\\"stauts\\" is not a member/],
    ['{"__proto__":1,"constructor":2}', /__proto__/, /constructor/],
    [
      '{"name":"","categoryId":"7","status":1,"id":3,"x":1}',
      /name/,
      /categoryId/,
      /status/,
      /id must/,
      /\\"x\\"/,
    ],
  ] as [string, ...RegExp[]][])
    test(`has the body ${body || '(none)'}: 400, and the message names every invalid member`, async () => {
      const reply = await patch(service(), 1, body)
      assert.deepEqual([reply.status, errorCode(reply)], [400, 'invalid_request'])
      for (const message of messages) assert.match(reply.text, message)
      await assertUnchanged()
    })

  for (const type of [
    'text/plain',
    'application/json-patch+json',
    'application/merge-patch',
    'application/json;charset=latin1',
  ])
    test(`has the media type ${type}: 415 with Accept-Patch`, async () => {
      const reply = await patch(service(), 1, '{"name":"x"}', { 'content-type': type })
      assert.equal(reply.status, 415)
      assert.equal(reply.headers['accept-patch'], 'application/merge-patch+json, application/json')
      await assertUnchanged()
    })

  test('has no media type, a coding, or too large a body', async () => {
    const { send } = service()
    assert.equal((await send('PATCH', '/v1/pets/1', { body: '{}' })).status, 415)
    assert.equal((await patch(service(), 1, '{}', { 'content-encoding': 'gzip' })).status, 415)
    assert.equal((await patch(service(), 1, JSON.stringify({ name: 'x'.repeat(70_000) }))).status, 413)
    assert.equal(
      (await send('PATCH', '/v1/pets/1', { headers: { 'content-type': 'text/plain' } })).status,
      400,
    )
  })

  for (const [name, value] of [
    ['if-match', ''],
    ['if-match', 'abc'],
    ['if-match', '*, "a"'],
    ['if-match', '"a" "b"'],
    ['if-match', 'w/"a"'],
    ['if-none-match', ''],
    ['if-none-match', '"a'],
    ['idempotency-key', 'a b'],
  ] as const)
    test(`has ${name}: ${value || '(empty)'}: 400, for a removal too`, async () => {
      for (const reply of [
        await patch(service(), 1, '{"name":"x"}', { [name]: value }),
        await remove(service(), 1, { [name]: value }),
      ]) {
        assert.deepEqual([reply.status, errorCode(reply)], [400, 'invalid_request'])
        assert.match(reply.text, new RegExp(name, 'i'))
      }
      await assertUnchanged()
    })

  for (const query of [
    'ifStatus=',
    'ifStatus=lost',
    'ifStatus=Sold',
    'ifStatus=sold&ifStatus=sold',
    'ifstatus=sold',
    'if=1',
    'ifStatus=%zz',
    'dryRun',
  ])
    test(`has the query ${query}: 400, for a removal too`, async () => {
      assert.equal((await patch(service(), `1?${query}`, { name: 'x' })).status, 400)
      assert.equal((await remove(service(), `1?${query}`)).status, 400)
      await assertUnchanged()
    })

  test('is checked in the documented order', async () => {
    const { send } = service()
    const long = JSON.stringify({ name: 'x'.repeat(70_000) })
    for (const [what, target, headers, body, status] of [
      ['media type before size', 'x?y=1', { 'content-type': 'text/plain', 'if-match': '' }, long, 415],
      ['size before headers', 'x?y=1', { ...MERGE_PATCH, 'if-match': '' }, long, 413],
      ['headers before the query', 'x?y=1', { ...MERGE_PATCH, 'if-match': '' }, '{}', 400],
      ['body before the animal', 'x', MERGE_PATCH, '{"y":1}', 400],
      ['the animal before its tag', '2?ifStatus=sold', { ...MERGE_PATCH, 'if-match': '"a"' }, '{}', 404],
      ['the tag before the status', '1?ifStatus=sold', { ...MERGE_PATCH, 'if-match': '"a"' }, '{}', 412],
    ] as [string, string, Headers, string, number][])
      assert.equal((await send('PATCH', `/v1/pets/${target}`, { headers, body })).status, status, what)
    assert.equal(
      (await send('PATCH', '/v1/pets/1', { headers: { authorization: '' }, body: long })).status,
      401,
    )
  })
})

suite('DELETE /v1/pets/{petId}', () => {
  const service = shared(startTestService)

  test('ignores a body, whatever its size, type and form', async () => {
    const { id } = await add(service())
    const key = { 'idempotency-key': 'bodies' }
    for (const body of ['{"x":', JSON.stringify({ name: 'x'.repeat(200_000) })]) {
      const reply = await service().send('DELETE', `/v1/pets/${id}`, {
        headers: { ...key, 'content-type': 'text/x' },
        body,
      })
      assert.equal(reply.status, 204)
    }
  })

  test('leaves the connection usable for the next request', async () => {
    const [first, second] = [await add(service()), await add(service())]
    const head = (id: number, ...headers: string[]) =>
      requestHead(`DELETE /v1/pets/${id} HTTP/1.1`, 'host: x', `authorization: Bearer ${API_KEY}`, ...headers)
    const received = await sendRaw(
      service().address,
      `${head(first.id, 'content-length: 4')}abcd${head(second.id, 'connection: close')}`,
    )
    assert.deepEqual(statusesOf(received), [204, 204])
  })

  test('is answered with 204 although its body is malformed, because the animal is removed', async () => {
    for (const pause of [false, true]) {
      const { id } = await add(service())
      const { socket, closed, received } = connectRaw(service().address)
      const head = requestHead(
        `DELETE /v1/pets/${id} HTTP/1.1`,
        'host: x',
        `authorization: Bearer ${API_KEY}`,
        'transfer-encoding: chunked',
      )
      socket.on('error', () => {}).write(pause ? head : `${head}ZZ\r\n`)
      if (pause) {
        await waitUntil(() => received().includes('204'), { what: 'it is answered' })
        socket.write('ZZ\r\n')
      }
      assert.deepEqual(statusesOf(await closed), [204])
      assert.equal((await service().send('GET', `/v1/pets/${id}`)).status, 404)
    }
  })

  test('gives no id again', async () => {
    const { id } = await add(service())
    await remove(service(), id)
    assert.ok((await add(service())).id > id)
  })

  test('works after December 2030, and so does a change', async (t: TestContext) => {
    const later = await startTestService(t, { clock: () => Date.parse('2031-01-01') })
    const { id } = await add(later)
    assert.equal((await later.send('GET', `/v1/pets/${id}`)).status, 410)
    assert.equal((await patch(later, id, { status: 'sold' })).status, 200)
    assert.equal((await remove(later, id)).status, 204)
  })
})
