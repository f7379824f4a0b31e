// The web pages and health checks over HTTP, without a browser.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { HTTP_STATUS_OF } from '../src/error.ts'
import { html } from '../src/web/html.ts'
import { shared, startTestService } from './support/service.ts'

const WITHOUT_KEY = { headers: { authorization: '' } }

interface DescribedOperation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string }[]
  readonly requestBody?: { readonly content: object }
  readonly responses: Readonly<Record<string, DescribedResponse>>
}

interface DescribedResponse {
  readonly $ref?: string
  readonly content?: {
    readonly 'application/json': { readonly schema?: DescribedSchema; readonly example?: unknown }
  }
}

interface DescribedSchema {
  readonly $ref?: string
  readonly items?: DescribedSchema
}

suite('outside /v1, without a key', () => {
  const service = shared(startTestService)

  test('/livez and /readyz answer 200', async () => {
    for (const path of ['/livez', '/readyz']) {
      const reply = await service().send('GET', path, WITHOUT_KEY)
      assert.equal(reply.status, 200)
      assert.equal(reply.text, '{"status":"ok"}')
    }
  })

  for (const environment of ['production', 'staging'] as const) {
    test(`/ names the environment ${environment} and links to the reference, without any script`, async t => {
      const service = await startTestService(t, { environment })
      const reply = await service.send('GET', '/', WITHOUT_KEY)
      assert.equal(reply.status, 200)
      assert.match(String(reply.headers['content-type']), /^text\/html; charset=utf-8$/)
      assert.match(reply.text, new RegExp(`<strong>${environment}</strong>`))
      assert.match(reply.text, /href="\.\/docs"/)
      assert.equal(
        (await service.send('HEAD', '/', WITHOUT_KEY)).headers['content-length'],
        reply.headers['content-length'],
      )
    })
  }

  test('/docs shows every operation, parameter, response and schema of the OpenAPI document', async () => {
    const { text } = await service().send('GET', '/docs', WITHOUT_KEY)
    const { paths, components } = JSON.parse((await service().send('GET', '/openapi.json')).text)
    for (const methods of Object.values<Record<string, DescribedOperation>>(paths)) {
      for (const { operationId, parameters, requestBody, responses } of Object.values(methods)) {
        const start = text.indexOf(`id="${operationId}"`)
        const section = text.slice(start, text.indexOf('</section>', start))
        for (const { name } of parameters) {
          assert.ok(section.includes(`name="${name}"`), `${operationId} ${name}`)
          assert.ok(section.includes(`id="${operationId}-${name}"`), `${operationId} ${name} has no anchor`)
        }
        assert.equal(section.includes('>Parameters<'), parameters.length > 0, operationId)
        // An error has its sentence.
        for (const [status, response] of Object.entries(responses)) {
          assert.match(
            section,
            new RegExp(`>Response ${status}<|#error-\\w+">${status}</a></dt><dd>.{10}`),
            `${operationId} ${status}`,
          )
          const isEmpty = new RegExp(`<option value="no body">${status}</option>`).test(section)
          assert.equal(isEmpty, !('content' in response || '$ref' in response), `${operationId} ${status}`)
        }
        const mediaTypes = Object.keys(requestBody?.content ?? {})
        for (const mediaType of mediaTypes)
          assert.ok(section.includes(`<code>${mediaType}</code>`), `${operationId} ${mediaType}`)
        // The form sends the first one.
        assert.equal(/data-media-type="([^"]*)"/.exec(section)?.[1], mediaTypes[0], operationId)
      }
    }
    for (const [name, { properties = {} }] of Object.entries<{ properties?: object }>(components.schemas)) {
      assert.ok(text.includes(`<section id="${name}">`), name)
      for (const attribute of Object.keys(properties))
        assert.ok(text.includes(`id="${name}-${attribute}"`), `${name} ${attribute} has no anchor`)
    }
    assert.ok(text.includes('string or null · available | pending | sold | null'))
    assert.ok(text.includes('9007199254740993'), 'the large id of the example is rounded')
    assert.ok(text.includes('9223372036854775807'))
    assert.doesNotMatch(text, /undefined|\[object/)
    // Each limit is said once, and each path in full.
    assert.doesNotMatch(text, /1 to 512|[^1]\/pets/)
  })

  test('/docs lists at each operation the codes that it can give, and no others, and the members of each response', async () => {
    const { text } = await service().send('GET', '/docs', WITHOUT_KEY)
    const { paths, components } = JSON.parse((await service().send('GET', '/openapi.json')).text)
    const nameOf = (reference = '') => reference.split('/').at(-1) ?? ''
    for (const methods of Object.values<Record<string, DescribedOperation>>(paths))
      for (const { operationId, responses } of Object.values(methods)) {
        const start = text.indexOf(`id="${operationId}"`)
        const section = text.slice(start, text.indexOf('</section>', start))
        const listed = [
          ...section.matchAll(/<dt><a href="#error-(\w+)">(\d+)<\/a><\/dt><dd><code>(\w+)<\/code>/g),
        ]
        const expected = Object.entries(responses)
          .filter(([status]) => status >= '400')
          .map(([status, response]): unknown[] => {
            const { content } =
              response.$ref === undefined ? response : components.responses[nameOf(response.$ref)]
            const { code } = content['application/json'].example
            return [code, status, code]
          })
        assert.deepEqual(
          listed.map(([, ...parts]) => parts),
          expected,
          operationId,
        )
        for (const [status, { content }] of Object.entries(responses)) {
          if (status >= '400' || content === undefined) continue
          const { schema } = content['application/json']
          const { properties } = components.schemas[nameOf((schema?.items ?? schema)?.$ref)]
          for (const name of Object.keys(properties))
            assert.ok(
              section.includes(`id="${operationId}-${status}-${name}"`),
              `${operationId} ${status} ${name}`,
            )
        }
      }
  })

  test('/docs says of each sample as which file it is stored and how it runs, and shows how to install the client', async () => {
    const { text } = await service().send('GET', '/docs', WITHOUT_KEY)
    const runs = [
      ...text.matchAll(
        /<p class="run" data-language="(\w+)">([^<]*?)( · needs Node.js 24 and <a href="#install">.*?)?<\/p>/g,
      ),
    ]
    const samples = [...text.matchAll(/<pre data-language="(\w+)"/g)]
    assert.deepEqual(
      runs.map(([, language]) => language),
      samples.map(([, language]) => language),
    )
    const shown = runs.map(([, , run]) => run)
    for (const run of [
      'in a shell',
      'list.mts · node list.mts',
      'create.mjs · node create.mjs',
      'update.py · python3 update.py',
      'delete.go · go run delete.go',
      'inventory.go · go run inventory.go',
      'get.py · python3 get.py',
    ])
      assert.ok(shown.includes(run), run)
    // A file name stands for one sample.
    assert.equal(new Set(shown).size, (shown.length / 5) * 4 + 1)
    const readme = readFileSync(new URL('../client/README.md', import.meta.url), 'utf8')
    const installation = [
      ...text.matchAll(/<p>(?:Pack|Install) the client, in [^<]*<\/p>.*?<code>(.*?)<\/code>/gs),
    ]
    assert.equal(installation.length, 2)
    for (const [, code = ''] of installation)
      assert.ok(readme.includes(`\`\`\`sh\n${code.replaceAll(/<[^>]*>/g, '')}\n\`\`\``), code)
    assert.doesNotMatch(text.replaceAll(/<[^>]*>/g, ''), /npm install animal-store-client/)
  })

  test('/docs says what it is about, and its guide links to the decisions', async () => {
    const { text } = await service().send('GET', '/docs', WITHOUT_KEY)
    assert.match(
      text,
      /<meta name="description" content="How to list, search, count, add, change and remove animals /,
    )
    const start = text.indexOf('<section id="conditions"')
    const guide = text.slice(start, text.indexOf('</section>', start))
    const [, records = ''] =
      /<p>Why it works like this: (.*?) in <code>docs\/decisions<\/code>/.exec(guide) ?? []
    const names = [...records.matchAll(/<code>(.*?)<\/code>/g)].map(([, name = '']) => name)
    assert.equal(names.length, 3)
    for (const name of names)
      assert.ok(existsSync(new URL(`../docs/decisions/${name}`, import.meta.url)), name)
  })

  test('/docs has one table of errors, with every code, and links to existing parts of the page only', async () => {
    const { text } = await service().send('GET', '/docs', WITHOUT_KEY)
    assert.equal(text.match(/<table>/g)?.length, 1)
    for (const [code, status] of Object.entries(HTTP_STATUS_OF))
      assert.match(text, new RegExp(`<tr id="error-${code}"[^>]*><td>${status}</td><td>.*<br>.{10}`), code)
    assert.match(text, /id="error-rate_limited".*Retry-After/)
    const targets = [...text.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id)
    for (const id of targets) assert.equal(text.split(`id="${id}"`).length, 2, id)
  })

  test('the contents of /docs list the guide, then the operations (listPets first), with the date of the deprecated one', async () => {
    const { text } = await service().send('GET', '/docs', WITHOUT_KEY)
    const contents = text.slice(text.indexOf('<nav id="contents"'), text.indexOf('<main'))
    assert.deepEqual(
      [...contents.matchAll(/href="#([^"]*)"/g)].slice(0, 15).map(([, id]) => id),
      [
        ...['start', 'authentication', 'paging', 'searching', 'idempotency', 'conditions', 'errors'],
        ...['rate-limits', 'deprecation'],
        ...['listPets', 'createPet', 'getInventory', 'updatePet', 'deletePet', 'getPet'],
      ],
    )
    assert.match(contents, /Get an animal<br><small class="warning">until 5 December 2030</)
    assert.match(text, /href="\.\/"/)
    assert.match(text, /href="\.\/openapi\.json"/)
  })

  for (const environment of ['production', 'staging'] as const)
    test(`/docs says what each operation does in ${environment}`, async t => {
      const service = await startTestService(t, { environment })
      const { text } = await service.send('GET', '/docs', WITHOUT_KEY)
      const effects = [...text.matchAll(/<span class="effect"[^>]*>([^<]*)</g)].map(([, effect]) => effect)
      assert.deepEqual(effects, [
        `reads from ${environment} and changes nothing`,
        `adds an animal to ${environment}`,
        `reads from ${environment} and changes nothing`,
        `changes animal 1 in ${environment}`,
        `removes animal 1 from ${environment} for good`,
        `reads from ${environment} and changes nothing`,
      ])
    })

  test('the pages load nothing from other hosts, and their policy forbids it', async () => {
    for (const path of ['/', '/docs']) {
      const { text, headers } = await service().send('GET', path, WITHOUT_KEY)
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /default-src 'none'/)
      assert.doesNotMatch(policy, /unsafe|\*|data:|http/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.doesNotMatch(text, /<script>|<style>| style=| on[a-z]+=/)
      for (const [, target] of text.matchAll(/(?:src|href)="([^"]*)"/g))
        assert.match(target ?? '', /^(\.\/|#)/)
      for (const [, asset] of text.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/g)) {
        const { status, text: content } = await service().send('GET', (asset ?? '').slice(1), WITHOUT_KEY)
        assert.equal(status, 200)
        assert.doesNotMatch(content, /https?:\/\/(?!www\.w3\.org\/)/)
      }
    }
  })

  test('the script of /docs does not parse JSON, which would round large ids', async () => {
    const { status, text } = await service().send('GET', '/assets/reference.js', WITHOUT_KEY)
    assert.equal(status, 200)
    assert.doesNotMatch(text, /JSON\.parse|\.json\(\)/)
  })
})

suite('html', () => {
  test('escapes every value that is not Html', () => {
    const markup = `<img src=x onerror="alert('1')">&`
    const expected = '&#60;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&#62;&#38;'
    assert.equal(
      html`<p title="${markup}">${markup}${html`<b>${1n}</b>`}${[markup, undefined, false]}</p>`.text,
      `<p title="${expected}">${expected}<b>1</b>${expected}</p>`,
    )
  })
})
