// Searching animals by name and category: what is found, how a search is bounded, how its pages are linked, and which queries are
// rejected.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { type NewAnimal, STATUSES, type Status } from '../src/animal.ts'
import { MAX_EXAMINED } from '../src/page.ts'
import type { Store } from '../src/store.ts'
import { createAnimals } from './support/animals.ts'
import { onEveryDatabase, type StartService } from './support/databases.ts'
import { administer, borrowDatabase } from './support/postgres.ts'
import {
  type Reply,
  type Scope,
  sendRaw,
  shared,
  startTestService,
  type TestService,
} from './support/service.ts'

const LAST = '9223372036854775807'

/** In batches that fit in the queue. */
async function fill(store: Store, animals: readonly NewAnimal[]): Promise<void> {
  for (let from = 0; from < animals.length; from += 4_000)
    await createAnimals(
      store,
      animals.slice(from, from + 4_000).map(animal => ({ animal })),
    )
}

/** Starts a service whose animals have the ids from 1 on. */
function filled(startTestService: StartService, animals: () => readonly NewAnimal[]) {
  return async (scope: Scope) => {
    const service = await startTestService(scope)
    await fill(service.store, animals())
    return service
  }
}

function idsOf({ json }: Reply): bigint[] {
  return (json as { id: bigint }[]).map(({ id }) => id)
}

function linkOf({ headers }: Reply, relation: 'prev' | 'next'): string | undefined {
  return new RegExp(`<([^>]+)>; rel="${relation}"`).exec(String(headers.link))?.[1]
}

/** Follows the links until there is none. Returns the ids of each page. */
async function walk(service: TestService, start: string, relation: 'prev' | 'next'): Promise<bigint[][]> {
  const pages: bigint[][] = []
  for (let path: string | undefined = start; path !== undefined; ) {
    assert.ok(pages.length < 1_000, 'the pages do not end')
    const reply = await service.send('GET', path)
    assert.equal(reply.status, 200, reply.text)
    pages.push(idsOf(reply))
    path = linkOf(reply, relation)
  }
  return pages
}

onEveryDatabase('a search by name', startTestService => {
  const NAMES = [
    'Zoë',
    'zoe',
    'ZOE the second',
    'Straße',
    'STRASSE',
    'ΣΊΣΥΦΟΣ',
    'σίσυφος',
    'İstanbul',
    'مُحَمَّد',
    'محمد',
    '한국',
    'がく',
    'Ёлка',
    '100% cotton',
    'a_b',
    'O\'Neill "Bob" \\ *',
    '🐈 cat',
    'e\u0301clair',
    'éclair',
    '  two  spaces ',
  ]
  const service = shared(
    filled(startTestService, () => NAMES.map((name, index) => ({ name, categoryId: BigInt(index % 3) }))),
  )

  const found: [string, string[]][] = [
    ['zoe', ['Zoë', 'zoe', 'ZOE the second']],
    ['ZOË', ['Zoë', 'zoe', 'ZOE the second']],
    ['O', ['Zoë', 'zoe', 'ZOE the second', '100% cotton', 'O\'Neill "Bob" \\ *', '  two  spaces ']],
    ['straße', ['Straße']],
    ['strasse', ['STRASSE']],
    ['σίσυφος', ['ΣΊΣΥΦΟΣ', 'σίσυφος']],
    ['ΣΙΣΥΦΟΣ', ['ΣΊΣΥΦΟΣ', 'σίσυφος']],
    ['istanbul', ['İstanbul']],
    ['محمد', ['مُحَمَّد', 'محمد']],
    ['مُحَمَّد', ['مُحَمَّد', 'محمد']],
    // NFD takes syllables apart.
    ['하', ['한국']],
    ['か', ['がく']],
    // Cyrillic Ё is Е with a mark.
    ['елка', ['Ёлка']],
    ['100%', ['100% cotton']],
    ['%', ['100% cotton']],
    ['_', ['a_b']],
    ['*', ['O\'Neill "Bob" \\ *']],
    ['\\', ['O\'Neill "Bob" \\ *']],
    ["'n", ['O\'Neill "Bob" \\ *']],
    ['"bob"', ['O\'Neill "Bob" \\ *']],
    ['🐈', ['🐈 cat']],
    ['éclair', ['e\u0301clair', 'éclair']],
    ['e\u0301CLAIR', ['e\u0301clair', 'éclair']],
    ['o  s', ['  two  spaces ']],
    ['o s', []],
    ['eclairs', []],
    ['x'.repeat(100), []],
    ['😀'.repeat(100), []],
  ]
  for (const [text, names] of found) {
    test(`for ${JSON.stringify(text)} finds ${names.length === 0 ? 'nothing' : names.join(', ')}`, async () => {
      for (const name of [encodeURIComponent(text), String(new URLSearchParams({ '': text })).slice(1)]) {
        const reply = await service().send('GET', `/v1/pets?name=${name}`)
        assert.equal(reply.status, 200, reply.text)
        assert.deepEqual(
          (reply.json as NewAnimal[]).map(animal => animal.name),
          names,
        )
      }
    })
  }

  test('does not change a name', async () => {
    const reply = await service().send('GET', '/v1/pets?limit=100')
    assert.deepEqual(
      (reply.json as NewAnimal[]).map(({ name }) => name),
      NAMES,
    )
  })

  test('combines with a category, a limit and a bound', async () => {
    assert.deepEqual(idsOf(await service().send('GET', '/v1/pets?name=zoe&categoryId=1')), [2n])
    assert.deepEqual(idsOf(await service().send('GET', '/v1/pets?name=zoe&limit=1&after=1')), [2n])
    assert.deepEqual(idsOf(await service().send('GET', '/v1/pets?name=zoe&limit=2&before=3')), [1n, 2n])
    assert.deepEqual(idsOf(await service().send('GET', '/v1/pets?categoryId=-5')), [])
    assert.deepEqual(idsOf(await service().send('GET', '/v1/pets?categoryId=2&limit=2')), [3n, 6n])
  })

  test('is answered to HEAD as to GET', async () => {
    const get = await service().send('GET', '/v1/pets?name=zoe&limit=1')
    const head = await service().send('HEAD', '/v1/pets?name=zoe&limit=1')
    assert.deepEqual([head.status, head.text, head.headers.link], [200, '', get.headers.link])
  })
})

onEveryDatabase('a search among many animals', startTestService => {
  const COUNT = 2 * MAX_EXAMINED + 500
  /** Every second animal is pending, so 1.025 times MAX_EXAMINED are. */
  const service = shared(
    filled(startTestService, () =>
      Array.from({ length: COUNT }, (_, index) => ({
        name:
          index === 0 || index === MAX_EXAMINED - 1 || index >= COUNT - 3 ? 'Bella' : `animal ${index + 1}`,
        categoryId: 7n,
        ...(index % 2 === 0 && { status: 'pending' as const }),
      })),
    ),
  )

  const pages: [query: string, ids: bigint[], previous: number | undefined, next: number | undefined][] = [
    // Nothing is found among the first 10,000, and more follow.
    ['?name=nobody', [], undefined, 10_000],
    ['?name=nobody&after=10000', [], 10_001, 20_000],
    ['?name=nobody&after=20000', [], 20_001, undefined],
    ['?categoryId=8&after=3', [], 4, 10_003],
    // Fewer than a page are found.
    ['?name=bella', [1n, 10_000n], undefined, 10_000],
    ['?name=bella&after=1', [10_000n], 2, 10_001],
    // A full page ends the search at its last match.
    ['?name=bella&limit=1', [1n], undefined, 1],
    ['?name=bella&limit=1&after=1', [10_000n], 2, 10_000],
    ['?name=bella&limit=2&after=20000', [20_498n, 20_499n], 20_001, 20_499],
    // The last animal is a match, and fills the page.
    ['?name=bella&limit=3&after=20000', [20_498n, 20_499n, 20_500n], 20_001, undefined],
    ['?categoryId=7&limit=2', [1n, 2n], undefined, 2],
    // Backward.
    [`?name=nobody&before=${LAST}`, [], 10_501, undefined],
    ['?name=nobody&before=10501', [], 501, 10_500],
    ['?name=nobody&before=501', [], undefined, 500],
    [`?name=bella&before=${LAST}`, [20_498n, 20_499n, 20_500n], 10_501, undefined],
    [`?name=bella&limit=2&before=${LAST}`, [20_499n, 20_500n], 20_499, undefined],
    ['?name=bella&limit=1&before=5000', [1n], undefined, 4_999],
    // With a status, only animals of that status are examined.
    ['?name=nobody&status=pending', [], undefined, 19_999],
    ['?name=nobody&status=pending&after=19999', [], 20_001, undefined],
    [`?name=nobody&status=pending&before=${LAST}`, [], 501, undefined],
    ['?name=nobody&status=pending&before=501', [], undefined, 499],
    ['?name=bella&status=pending&limit=1&after=1', [], 3, 20_001],
    ['?name=bella&status=pending&limit=1&after=19999', [20_499n], 20_001, undefined],
    ['?name=bella&status=sold', [], undefined, undefined],
    // Nothing is examined.
    [`?name=bella&after=${LAST}`, [], undefined, undefined],
    ['?name=bella&before=1', [], undefined, undefined],
    ['?name=bella&after=20500', [], undefined, undefined],
    ['?name=bella&before=-9223372036854775808', [], undefined, undefined],
  ]
  for (const [query, ids, previous, next] of pages) {
    test(`returns ${ids.length} animals for ${query}, and links to what it has not examined`, async () => {
      const reply = await service().send('GET', `/v1/pets${query}`)
      assert.deepEqual(idsOf(reply), ids)
      const { limit = '20', ...filters } = Object.fromEntries(new URLSearchParams(query))
      delete filters.after
      delete filters.before
      const kept = Object.entries(filters).sort(([one]) => (one === 'status' ? -1 : 1))
      const url = `</v1/pets?limit=${limit}&${new URLSearchParams(kept)}`
      const links = [
        previous && `${url}&before=${previous}>; rel="prev"`,
        next && `${url}&after=${next}>; rel="next"`,
      ].filter(link => link !== undefined)
      assert.equal(reply.headers.link, links.length === 0 ? undefined : links.join(', '))
    })
  }

  test('finds each match once when the links are followed, in both directions', async () => {
    const expected = [1n, 10_000n, 20_498n, 20_499n, 20_500n]
    const forward = await walk(service(), '/v1/pets?name=bella&limit=2', 'next')
    assert.deepEqual(forward.flat(), expected)
    const backward = await walk(service(), `/v1/pets?name=bella&limit=2&before=${LAST}`, 'prev')
    assert.deepEqual(backward.reverse().flat(), expected)
  })
})

onEveryDatabase('for random catalogues, following the links of a search', startTestService => {
  const WORDS = [
    'Zoë',
    'zoe',
    'محمد',
    'مُ',
    '한',
    '漢字',
    '🐈',
    '%',
    '_',
    "'",
    '"',
    '\\',
    'ß',
    'ς',
    'Σ',
    ' ',
    'a',
    'A\u0301',
    '10',
  ]
  const text = fc
    .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 })
    .map(words => words.join(''))
  const name = text.filter(each => each.trim() !== '')
  const status = fc.option(fc.constantFrom(...STATUSES), { nil: undefined })
  const categoryId = fc.bigInt(-2n, 2n)
  const search = fc
    .record({
      name: fc.option(name, { nil: undefined }),
      categoryId: fc.option(categoryId, { nil: undefined }),
      status,
      limit: fc.integer({ min: 1, max: 100 }),
    })
    .filter(each => each.name !== undefined || each.categoryId !== undefined)

  /** The rules of docs/decisions/search.md, character by character. */
  function fold(given: string): string {
    const isMark = (code: number) => (code >= 0x300 && code <= 0x36f) || (code >= 0x64b && code <= 0x652)
    return [...given.normalize('NFD')]
      .filter(character => !isMark(character.codePointAt(0) ?? 0))
      .join('')
      .toLowerCase()
      .split('ς')
      .join('σ')
  }

  for (const [seed, size] of [
    [1, 0],
    [2, 30],
    [3, MAX_EXAMINED + 100],
    [4, 2 * MAX_EXAMINED + 1],
  ] as const) {
    test(`of ${size} animals finds exactly the matches, once each and in order`, async t => {
      const service = await startTestService(t)
      const animals = fc
        .sample(fc.record({ name, categoryId, status }), { seed, numRuns: Math.min(size, 500) })
        .map(({ status, ...animal }) => (status === undefined ? animal : { ...animal, status }))
      // Matches are rarer among names that differ, so that pages are short.
      const catalogue = Array.from({ length: size }, (_, index): NewAnimal => {
        const animal = animals[(index * 7 + (index % 13)) % animals.length] as NewAnimal
        return index % 50 === 0 ? animal : { ...animal, name: `n${index}`, categoryId: 99n }
      })
      const foldedNames = catalogue.map(animal => fold(animal.name))
      await fill(service.store, catalogue)
      await fc.assert(
        fc.asyncProperty(search, async wanted => {
          const query = new URLSearchParams({ limit: String(wanted.limit) })
          for (const filter of ['name', 'categoryId', 'status'] as const)
            if (wanted[filter] !== undefined) query.set(filter, String(wanted[filter]))
          const foldedName = fold(wanted.name ?? '')
          const matches = (animal: NewAnimal, index: number) =>
            foldedNames[index]?.includes(foldedName) &&
            (wanted.categoryId === undefined || animal.categoryId === wanted.categoryId) &&
            (wanted.status === undefined || animal.status === wanted.status)
          const expected = catalogue.flatMap((animal, index) =>
            matches(animal, index) ? [BigInt(index + 1)] : [],
          )
          const forward = await walk(service, `/v1/pets?${query}`, 'next')
          const backward = await walk(service, `/v1/pets?${query}&before=${LAST}`, 'prev')
          assert.deepEqual(forward.flat(), expected)
          assert.deepEqual(backward.reverse().flat(), expected)
          for (const page of [...forward, ...backward]) assert.ok(page.length <= wanted.limit)
        }),
        { seed, numRuns: 40 },
      )
    })
  }
})

suite('searches on PostgreSQL', () => {
  test('run two at a time in a process, and one that has waited for a second gets 503', async t => {
    const url = await borrowDatabase(t)
    const service = await startTestService(t, { database: { kind: 'postgres', url } })
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    t.after(() => client.end())
    await client.query('begin; lock table animals in access exclusive mode')
    const searches = Array.from({ length: 6 }, () => service.send('GET', '/v1/pets?name=a'))
    const replies = await Promise.all(searches.slice(2))
    for (const { status, headers, text } of replies) {
      assert.deepEqual([status, headers['retry-after']], [503, '1'])
      assert.match(text, /Too many searches are running/)
    }
    const { rows } = await administer(
      "select count(*)::int as count from pg_stat_activity where datname = current_database() and query like '%wanted_name%' and state = 'active' and pid <> pg_backend_pid()",
      url,
    )
    assert.equal(rows[0].count, 2)
    await client.query('rollback')
    for (const search of searches.slice(0, 2)) assert.equal((await search).status, 200)
  })
})

suite('a search', () => {
  const service = shared(startTestService)

  const rejected: [RegExp, string[]][] = [
    [
      /^name must not be blank/,
      ['', '=', '=+', '=%20%09', '=%EF%BB%BF', '=%C2%85'].map(value => `?name${value}`),
    ],
    [
      /^name must have a character that is neither blank nor an accent/,
      ['?name=%CC%81', '?name=+%CC%81', '?name=%D9%8B'],
    ],
    [
      /^name must have at most 100 characters/,
      [`?name=${'x'.repeat(101)}`, `?name=${'%F0%9F%98%80'.repeat(101)}`],
    ],
    [/^name must not contain the character U\+0000/, ['?name=%00', '?name=a%00b']],
    [
      /^name must be percent-encoded UTF-8/,
      ['%FF', '%zz', '%', '%4', 'a%C3', '%C0%80', '%ED%A0%80', '%F5%80%80%80', '%uD83D'].map(
        value => `?name=${value}`,
      ),
    ],
    [/^name must be given at most once/, ['?name=a&name=b', '?name=a&name=a', '?name=a&%6eame=a']],
    [
      /^categoryId must be a 64-bit integer/,
      ['', '=', '=007', '=%2B1', '=+1', '=-0', '=1.0', '=1e2', '=abc', '=9223372036854775808'].map(
        value => `?categoryId${value}`,
      ),
    ],
    [/^categoryId must be percent-encoded UTF-8/, ['?categoryId=%']],
    [/^categoryId must be given at most once/, ['?categoryId=1&categoryId=1']],
    [/^The query may contain only limit, status, name, categoryId, after, before, not "Name"/, ['?Name=a']],
    [/not "categoryid"/, ['?categoryid=1']],
    [/not "n%61me%"/, ['?n%61me%=1']],
  ]
  for (const [message, queries] of rejected) {
    for (const query of queries) {
      test(`is rejected for the query "${query}"`, async () => {
        const reply = await service().send('GET', `/v1/pets${query}`)
        assert.equal(reply.status, 400)
        assert.match((reply.json as { message: string }).message, message)
      })
    }
  }

  test('is rejected for a byte outside ASCII that is not encoded', async () => {
    const head = `GET /v1/pets?name=zo\xeb HTTP/1.1\r\nhost: x\r\nauthorization: Bearer test-key-0123456789-abcdefghij\r\n`
    const received = await sendRaw(
      service().address,
      Buffer.from(`${head}connection: close\r\n\r\n`, 'latin1'),
    )
    assert.match(received, /^HTTP\/1\.1 400 [\s\S]*must be percent-encoded/)
  })

  test('accepts a parameter whose name is percent-encoded, and 100 characters beyond the BMP', async () => {
    assert.equal((await service().send('GET', '/v1/pets?%6eame=a&categoryI%64=1')).status, 200)
    assert.equal((await service().send('GET', `/v1/pets?name=${'%F0%9F%98%80'.repeat(100)}`)).status, 200)
  })

  const kept: [sent: string, inLink: string][] = [
    ['name=zo%C3%AB', 'name=zo%C3%AB'],
    ['name=a+b', 'name=a+b'],
    ['name=a%20b%26%3D%3E', 'name=a%20b%26%3D%3E'],
    ['name=a>"<', 'name=a%3E%22%3C'],
    ['name=a#', 'name=a%23'],
    ['categoryId=7&name=A&status=sold', 'status=sold&name=A&categoryId=7'],
  ]
  const three = shared(async scope => {
    const started = await startTestService(scope)
    const animal = { name: 'zoë a b&=> a>"< a#', categoryId: 7n, status: 'sold' as Status }
    await fill(started.store, [animal, animal, animal])
    return started
  })
  for (const [sent, inLink] of kept) {
    test(`has links that keep ${sent}`, async () => {
      const { send } = three()
      const reply = await send('GET', `/v1/pets?limit=1&${sent}&after=1`)
      assert.deepEqual(idsOf(reply), [2n])
      assert.equal(
        reply.headers.link,
        `</v1/pets?limit=1&${inLink}&before=2>; rel="prev", </v1/pets?limit=1&${inLink}&after=2>; rel="next"`,
      )
      assert.deepEqual(idsOf(await send('GET', linkOf(reply, 'next') ?? '')), [3n])
    })
  }
})
