import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { AnimalStore } from '../client/src/animal-store.ts'
import { html } from '../src/web/html.ts'
import { API_KEY, startTestService } from './support/service.ts'

const ANONYMOUS = { headers: { authorization: '' } }

suite('outside /v1, without a key', () => {
  test('/livez and /readyz answer 200', async t => {
    const service = await startTestService(t)
    for (const path of ['/livez', '/readyz']) {
      const reply = await service.send('GET', path, ANONYMOUS)
      assert.equal(reply.status, 200)
      assert.equal(reply.text, '{"status":"ok"}')
    }
  })

  for (const environment of ['production', 'staging'] as const) {
    test(`/ says that this is ${environment}, without a script too, and leads to the reference`, async t => {
      const service = await startTestService(t, { environment })
      const reply = await service.send('GET', '/', ANONYMOUS)
      assert.equal(reply.status, 200)
      assert.match(String(reply.headers['content-type']), /^text\/html; charset=utf-8$/)
      assert.match(reply.text, new RegExp(`<strong>${environment}</strong>`))
      assert.match(reply.text, /href="\/docs"/)
      assert.equal(
        (await service.send('HEAD', '/', ANONYMOUS)).headers['content-length'],
        reply.headers['content-length'],
      )
    })
  }

  test('/docs shows every operation, parameter, response and field of the document', async t => {
    const service = await startTestService(t)
    const { text } = await service.send('GET', '/docs', ANONYMOUS)
    const { paths, components } = JSON.parse((await service.send('GET', '/openapi.json')).text)
    for (const methods of Object.values<
      Record<string, { operationId: string; parameters: { name: string }[]; responses: object }>
    >(paths)) {
      for (const { operationId, parameters, responses } of Object.values(methods)) {
        const section = text.slice(
          text.indexOf(`id="${operationId}"`),
          text.indexOf('</section>', text.indexOf(`id="${operationId}"`)),
        )
        for (const { name } of parameters)
          assert.ok(section.includes(`name="${name}"`), `${operationId} ${name}`)
        for (const status of Object.keys(responses))
          assert.ok(section.includes(`<th scope="row">${status}</th>`), `${operationId} ${status}`)
      }
    }
    assert.equal(text.match(/<pre class="curl">/g)?.length, 3)
    for (const schema of Object.keys(components.schemas))
      assert.ok(text.includes(`<section id="${schema}">`), schema)
    assert.ok(text.includes('9007199254740993'), 'the large id of the example is rounded')
    assert.ok(text.includes('9223372036854775807'))
    assert.doesNotMatch(text, /undefined|\[object/)
  })

  test('the examples of /docs for the client work as they are', async t => {
    const service = await startTestService(t)
    const { text } = await service.send('GET', '/docs', ANONYMOUS)
    assert.ok(text.includes(`new AnimalStore({ baseUrl: '${service.address}/v1', apiKey })`))
    const examples = [...text.matchAll(/<pre class="client">([^<]+)<\/pre>/g)].map(([, example = '']) =>
      example.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code)),
    )
    assert.equal(examples.length, 3)
    const store = new AnimalStore({ baseUrl: `${service.address}/v1`, apiKey: API_KEY })
    await store.createAnimal({ name: 'Kim', categoryId: 8n })
    const AsyncFunction = (async () => {}).constructor as FunctionConstructor
    for (const example of examples) await new AsyncFunction('store', 'console', example)(store, { log() {} })
    assert.deepEqual(
      (await Array.fromAsync(store.animals())).map(({ name }) => name),
      ['Kim', 'Bella'],
    )
  })

  test('the pages ask no other host for anything, and allow no other to be asked', async t => {
    const service = await startTestService(t)
    for (const path of ['/', '/docs']) {
      const { text, headers } = await service.send('GET', path, ANONYMOUS)
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /default-src 'none'/)
      assert.doesNotMatch(policy, /unsafe|\*|data:|http/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.doesNotMatch(text, /<script>|<style>| style=| on[a-z]+=/)
      for (const [, target] of text.matchAll(/(?:src|href)="([^"]*)"/g)) assert.match(target ?? '', /^[/#]/)
      for (const [, asset] of text.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/g)) {
        const { status, text: found } = await service.send('GET', asset ?? '', ANONYMOUS)
        assert.equal(status, 200)
        assert.doesNotMatch(found, /https?:\/\/(?!www\.w3\.org\/)/)
        // All that a script imports is named in the page, so that the browser asks for it at once.
        for (const [, imported = ''] of found.matchAll(/\bfrom '([^']+)'/g)) {
          const { pathname } = new URL(imported, new URL(asset ?? '', service.address))
          assert.ok(text.includes(`href="${pathname}"`), `${asset} imports ${imported}`)
        }
      }
    }
    const { text: script } = await service.send('GET', '/assets/page/browser/try-it.js', ANONYMOUS)
    assert.doesNotMatch(script, /JSON\.parse|\.json\(\)/, 'the page would round large ids')
  })
})

suite('html', () => {
  test('escapes every value that is not HTML itself', () => {
    const evil = `<img src=x onerror="alert('1')">&`
    const expected = '&#60;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&#62;&#38;'
    assert.equal(
      html`<p title="${evil}">${evil}${html`<b>${1n}</b>`}${[evil, undefined, false]}</p>`.text,
      `<p title="${expected}">${expected}<b>1</b>${expected}</p>`,
    )
  })
})
