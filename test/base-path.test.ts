// The service behind a proxy that removes a prefix from the path: every link that the service sends leads back to the
// service through the proxy.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createAnimals } from './support/animals.ts'
import { startPrefixProxy } from './support/http-proxy.ts'
import { API_KEY, type Scope, shared, startTestService } from './support/service.ts'

async function startBehindPrefix(scope: Scope) {
  const proxy = await startPrefixProxy(scope, '/shop/animals')
  const baseUrl = `${proxy.address}/shop/animals/v1`
  const service = await startTestService(scope, { productionUrl: baseUrl })
  proxy.forwardTo(service.address)
  const names = ['a', 'b', 'c', 'd', 'e']
  await createAnimals(
    service.store,
    names.map(name => ({ animal: { name, categoryId: 1n } })),
  )
  return { ...proxy, baseUrl, service }
}

suite('below the prefix of a proxy', () => {
  const started = shared(startBehindPrefix)
  const headers = { authorization: `Bearer ${API_KEY}` }

  test('Link leads through all pages and back', async () => {
    const follow = async (path: string | undefined, relation: string) => {
      const found: string[] = []
      let next = path
      while (next !== undefined) {
        assert.ok(next.startsWith('/shop/animals/v1/pets?'), next)
        assert.ok(found.length < 9, 'the pages do not end')
        const response = await fetch(started().address + next, { headers })
        assert.equal(response.status, 200)
        const animals = (await response.json()) as { name: string }[]
        found.push(animals.map(({ name }) => name).join(''))
        const links = response.headers.get('link') ?? ''
        next = new RegExp(`<([^>]+)>; rel="${relation}"`).exec(links)?.[1]
      }
      return found
    }
    assert.deepEqual(await follow('/shop/animals/v1/pets?limit=2', 'next'), ['ab', 'cd', 'e'])
    assert.deepEqual(await follow('/shop/animals/v1/pets?limit=2&before=6', 'prev'), ['de', 'bc', 'a'])
  })

  test('Location and the links of the deprecated operation lead to the service', async t => {
    const proxy = await startBehindPrefix(t)
    const created = await fetch(`${proxy.baseUrl}/pets`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{"name":"f","categoryId":1}',
    })
    assert.equal(created.status, 201)
    const location = created.headers.get('location')
    assert.equal(location, '/shop/animals/v1/pets/6')
    const found = await fetch(proxy.address + location, { headers })
    assert.equal(((await found.json()) as { name: string }).name, 'f')
    assert.equal(
      found.headers.get('link'),
      '</shop/animals/docs#getPet>; rel="deprecation"; type="text/html", </shop/animals/v1/pets>; rel="successor-version"',
    )
    assert.equal((await fetch(`${proxy.address}/shop/animals/docs`)).status, 200)
  })

  test('the pages, their styles and their scripts have relative addresses only', async () => {
    for (const path of ['/shop/animals/', '/shop/animals/docs']) {
      const page = await (await fetch(started().address + path)).text()
      const targets = [...page.matchAll(/\s(?:src|href|action|data-path)="([^"#]+)"/g)].map(
        ([, target = '']) => target,
      )
      assert.ok(targets.length > 5)
      for (const target of targets) {
        assert.doesNotMatch(target, /^\/|^[a-z]+:/, `${path} has ${target}`)
        if (target.startsWith('v1')) continue
        const { status } = await fetch(new URL(target, started().address + path))
        assert.equal(status, 200, target)
      }
    }
  })
})

suite("Location, from the public URL of the service's own environment", () => {
  for (const [options, expected] of [
    [{}, '/v1/pets/1'],
    [{ stagingUrl: 'https://shop.example/staging/v1' }, '/v1/pets/1'],
    [{ environment: 'staging', stagingUrl: 'https://shop.example/staging/v1' }, '/staging/v1/pets/1'],
    [{ productionUrl: 'https://shop.example/größe/v1' }, '/gr%C3%B6%C3%9Fe/v1/pets/1'],
  ] as const) {
    test(`is ${expected} with ${JSON.stringify(options)}`, async t => {
      const service = await startTestService(t, options)
      const { headers } = await service.create({ name: 'a', categoryId: 1 })
      assert.equal(headers.location, expected)
    })
  }
})
