// The contract of src/store.ts: tests that every database must pass.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { type Animal, type AnimalChanges, foldName, type NewAnimal, type Status } from '../src/animal.ts'
import { renderAnimal, renderAnimals } from '../src/animal-json.ts'
import { type ApiKey, generateKey } from '../src/api-key.ts'
import type { Clock } from '../src/clock.ts'
import { isUnavailable } from '../src/error.ts'
import { tagOf } from '../src/etag.ts'
import { IDEMPOTENCY_WINDOW_MS } from '../src/idempotency.ts'
import { INT64_MAX, INT64_MIN } from '../src/int64.ts'
import { renderJson } from '../src/json.ts'
import type { JsonPage, Page } from '../src/page.ts'
import type { Store } from '../src/store.ts'
import type { Conditions, Outcome, Write } from '../src/write.ts'
import { createAnimals } from './support/animals.ts'

/** Opens an empty store, which is closed at the end of the test. */
type OpenStore = (t: TestContext, clock: Clock) => Promise<Store>

const NOW = new Date('2027-01-01T00:00:00Z')

export function storeContract(database: string, open: OpenStore): void {
  const openEmpty = (t: TestContext) => open(t, () => NOW.getTime())

  function animal(name: string, status?: Status, categoryId = 1n): NewAnimal {
    return { name, categoryId, ...(status && { status }) }
  }

  async function create(store: Store, ...animals: NewAnimal[]): Promise<bigint[]> {
    const outcomes = await createAnimals(
      store,
      animals.map(each => ({ animal: each })),
    )
    return outcomes.map(outcome => {
      if (outcome.kind !== 'created') assert.fail(outcome.kind)
      return outcome.animal.id
    })
  }

  suite(`Store on ${database}: animals`, () => {
    test('returns created animals unchanged, in order, with ascending ids', async t => {
      const store = await openEmpty(t)
      const animals = [
        animal('a', 'sold', 9223372036854775807n),
        animal('  é🐈 ', undefined, -9223372036854775808n),
        animal('b', 'available', 9007199254740993n),
      ]
      const ids = await create(store, ...animals)
      assert.deepEqual(
        ids,
        ids.toSorted((one, other) => (one < other ? -1 : 1)),
      )
      const expected = animals.map((each, index) => ({ id: ids[index], ...each }))
      assert.deepEqual(await store.listAnimals({ limit: 10 }), expected)
      for (const each of expected) {
        assert.equal(
          await store.findAnimalAsJson(each.id as bigint),
          renderAnimal({ ...each, id: each.id as bigint }),
        )
      }
    })

    test('returns the right id for each animal of concurrent batches', async t => {
      const store = await openEmpty(t)
      const batches = Array.from({ length: 8 }, (_, batch) =>
        Array.from({ length: 200 }, (_, index) => animal(`${batch} ${index}`, 'sold', BigInt(index % 3))),
      )
      const created = await Promise.all(
        batches.map(async animals => {
          const ids = await create(store, ...animals)
          return animals.map((each, index) => ({ id: ids[index] as bigint, ...each }))
        }),
      )
      const byId = created.flat().toSorted((one, other) => (one.id < other.id ? -1 : 1))
      assert.deepEqual(await store.listAnimals({ limit: 2_000 }), byId)
    })

    test('finds nothing for an unknown id, including the limits of int64', async t => {
      const store = await openEmpty(t)
      await create(store, animal('a'))
      for (const id of [0n, -1n, 2n, 9223372036854775807n, -9223372036854775808n]) {
        assert.equal(await store.findAnimalAsJson(id), undefined)
      }
    })

    test('links a page only to animals with its status, whatever id it starts after or ends before', async t => {
      const store = await openEmpty(t)
      const [first, second, third, fourth] = await create(
        store,
        animal('a', 'sold'),
        animal('b', 'pending'),
        animal('c', 'pending'),
        animal('d', 'sold'),
      )
      const links = async (page: Page) => {
        const { previous, next } = await store.listAnimalsAsJson(page)
        return [previous, next]
      }
      assert.deepEqual(await links({ limit: 1, status: 'pending', after: first }), [undefined, second])
      assert.deepEqual(await links({ limit: 2, status: 'pending', after: first }), [undefined, undefined])
      assert.deepEqual(await links({ limit: 1, status: 'pending', before: fourth }), [third, undefined])
      assert.deepEqual(await links({ limit: 1, status: 'sold', after: second }), [fourth, undefined])
      assert.deepEqual(await links({ limit: 1, status: 'sold', before: third }), [undefined, first])
      assert.deepEqual(await links({ limit: 9, status: 'available', before: third }), [undefined, undefined])
      assert.deepEqual(await links({ limit: 9, status: 'sold', after: fourth }), [undefined, undefined])
      assert.deepEqual(await links({ limit: 9, after: INT64_MAX }), [undefined, undefined])
      assert.deepEqual(await links({ limit: 9, before: INT64_MIN }), [undefined, undefined])
      assert.deepEqual(await links({ limit: 9, after: INT64_MIN }), [undefined, undefined])
    })

    test('renders pages and animals to the same JSON as renderAnimals and renderAnimal', async t => {
      const store = await openEmpty(t)
      const ascii = String.fromCodePoint(...Array.from({ length: 127 }, (_, index) => index + 1))
      const names = [
        ascii,
        '\\',
        '"',
        '{"id":1}',
        '],[',
        '\u0080\u2028\u2029\ufeff\uffff',
        '👩‍👩‍👧 é e\u0301',
        'x'.repeat(1_000),
      ]
      const statuses: (Status | undefined)[] = [undefined, 'available', 'pending', 'sold']
      const categories = [0n, -1n, 9007199254740993n, 9223372036854775807n, -9223372036854775808n]
      const animals = names.flatMap(name =>
        statuses.map((status, index) => animal(name, status, categories[index % categories.length])),
      )
      await create(store, ...animals)
      for (const status of statuses) {
        const everything = await store.listAnimals({ limit: 100 })
        const all = everything.filter(each => status === undefined || each.status === status)
        for (const each of all) assert.equal(await store.findAnimalAsJson(each.id), renderAnimal(each))
        for (const limit of [1, 3, all.length - 1, all.length, 100]) {
          for (const from of [0, 1, all.length - limit, all.length].filter(index => index >= 0)) {
            const page = { limit, status, after: all[from - 1]?.id }
            const expected = all.slice(from, from + limit)
            if (status === undefined) assert.deepEqual(await store.listAnimals(page), expected)
            assert.deepEqual(await store.listAnimalsAsJson(page), {
              json: renderAnimals(expected),
              previous: from > 0 ? expected[0]?.id : undefined,
              next: from + limit < all.length ? expected.at(-1)?.id : undefined,
            })
          }
          for (const to of [0, 1, limit, all.length - 1, all.length].filter(index => index >= 0)) {
            const page = { limit, status, before: all[to]?.id ?? INT64_MAX }
            const expected = all.slice(Math.max(to - limit, 0), to)
            assert.deepEqual(await store.listAnimalsAsJson(page), {
              json: renderAnimals(expected),
              previous: to > limit ? expected[0]?.id : undefined,
              next: to < all.length ? expected.at(-1)?.id : undefined,
            })
          }
        }
      }
    })

    test('lists every animal whose creation was acknowledged before', async t => {
      const store = await openEmpty(t)
      for (let count = 1; count <= 20; count++) {
        await create(store, animal('a'))
        assert.equal((await store.listAnimals({ limit: 100 })).length, count)
      }
    })

    test('searches by name and category, and combines both with a status and a bound', async t => {
      const store = await openEmpty(t)
      const names = ['Zoë', 'Bella', 'zoe', 'Ä', 'ä', '🐈', "%_'"]
      const [first, , third] = await create(
        store,
        ...names.map((name, index) => animal(name, index === 2 ? 'sold' : undefined, BigInt(index % 2))),
      )
      const search = async (page: Omit<Page, 'limit'>) => {
        const { json } = await store.listAnimalsAsJson({ limit: 10, ...page })
        return (JSON.parse(json) as Animal[]).map(({ name }) => name)
      }
      assert.deepEqual(await search({ nameContains: 'zoe' }), ['Zoë', 'zoe'])
      assert.deepEqual(await search({ nameContains: 'a', categoryId: 1n }), ['Bella', 'Ä'])
      assert.deepEqual(await search({ categoryId: 0n, before: third }), ['Zoë'])
      assert.deepEqual(await search({ nameContains: 'zoe', status: 'sold', after: first }), ['zoe'])
      assert.deepEqual(await search({ nameContains: '%_' }), ["%_'"])
      assert.deepEqual(await search({ nameContains: '🐈' }), ['🐈'])
    })

    test('links a search to what it has not examined', async t => {
      const store = await openEmpty(t)
      const statuses: (Status | undefined)[] = ['sold', 'pending', undefined, 'sold', 'sold']
      const animals = Array.from({ length: 11 }, (_, index) =>
        animal(index % 3 === 0 ? 'Zoë' : 'Bella', statuses[index % 5], BigInt(index % 2)),
      )
      const ids = await create(store, ...animals)
      const all = animals.map((each, index): Animal => ({ id: ids[index] as bigint, ...each }))

      function expected({ limit, after, before, status, nameContains, categoryId }: Page): JsonPage {
        const listed = all.filter(each => status === undefined || each.status === status)
        const ahead =
          before === undefined
            ? listed.filter(({ id }) => id > (after ?? INT64_MIN))
            : listed.filter(({ id }) => id < before).reverse()
        const examined: bigint[] = []
        const matches: Animal[] = []
        for (const each of ahead) {
          if (matches.length === limit) break
          examined.push(each.id)
          const hasName = nameContains === undefined || foldName(each.name).includes(nameContains)
          if (hasName && (categoryId === undefined || each.categoryId === categoryId)) matches.push(each)
        }
        const [first, last] = examined.toSorted((one, other) => Number(one - other)).filter(isFirstOrLast)
        const end = last ?? first
        const isBefore = listed.some(({ id }) => first !== undefined && id < first)
        const isAfter = listed.some(({ id }) => end !== undefined && id > end)
        return {
          json: renderAnimals(matches.toSorted((one, other) => Number(one.id - other.id))),
          previous: isBefore ? first : undefined,
          next: isAfter ? end : undefined,
        }
      }
      const isFirstOrLast = (_: bigint, index: number, list: bigint[]) =>
        index === 0 || index === list.length - 1

      const bounds = [ids[0], ids[4], ids[10], INT64_MIN, INT64_MAX]
      for (const limit of [1, 2, 100])
        for (const status of [undefined, 'sold', 'available'] as const)
          for (const filter of [
            { nameContains: 'zoe' },
            { categoryId: 1n },
            { nameContains: 'be', categoryId: 0n },
          ])
            for (const bound of [{}, ...bounds.flatMap(id => [{ after: id }, { before: id }])]) {
              const page = { limit, status, ...filter, ...bound }
              assert.deepEqual(await store.listAnimalsAsJson(page), expected(page), renderJson(page))
            }
    })

    test('counts the animals that were acknowledged, by status', async t => {
      const store = await openEmpty(t)
      assert.deepEqual(await store.countAnimals(), { available: 0n, pending: 0n, sold: 0n, none: 0n })
      await create(store, animal('a', 'sold'), animal('b'), animal('c', 'sold'), animal('d', 'available'))
      const idempotency = { scope: 's', key: 'k' }
      for (let count = 0; count < 2; count++)
        await createAnimals(store, [{ animal: animal('e', 'pending'), idempotency }])
      assert.deepEqual(await store.countAnimals(), { available: 1n, pending: 1n, sold: 2n, none: 1n })
      assert.deepEqual(await store.repairDerivedData(), { searchNames: 0, corrected: undefined })
    })

    test('creates nothing for an empty batch', async t => {
      assert.deepEqual(await (await openEmpty(t)).write([]), [])
    })
  })

  suite(`Store on ${database}: changes and removals`, () => {
    const bella: NewAnimal = { name: 'Bella', categoryId: 7n, status: 'available' }
    const update = (id: bigint, changes: AnimalChanges, conditions: Conditions = {}): Write => ({
      kind: 'update',
      id,
      changes,
      conditions,
    })
    const remove = (id: bigint, conditions: Conditions = {}): Write => ({ kind: 'delete', id, conditions })
    const tag = (animal: Animal) => tagOf(renderAnimal(animal))
    const withKey = (write: Write, key: string, request = key): Write => ({
      ...write,
      idempotency: { scope: 's', key, request },
    })
    const json = async (store: Store, id: bigint) => store.findAnimalAsJson(id)
    async function openWith(t: TestContext, ...animals: readonly NewAnimal[]) {
      const store = await openEmpty(t)
      const outcomes = await createAnimals(
        store,
        animals.map(animal => ({ animal })),
      )
      return { store, ids: outcomes.map(outcome => (outcome as { animal: Animal }).animal.id) }
    }
    const kinds = (outcomes: readonly Outcome[]) => outcomes.map(({ kind }) => kind)

    for (const [what, changes, after] of [
      ['a name', { name: 'Zoë' }, { ...bella, name: 'Zoë' }],
      ['a category', { categoryId: INT64_MAX }, { ...bella, categoryId: INT64_MAX }],
      ['a status', { status: 'sold' }, { ...bella, status: 'sold' }],
      ['no status', { status: null }, { name: 'Bella', categoryId: 7n }],
      [
        'everything',
        { name: 'b', categoryId: -1n, status: 'pending' },
        { name: 'b', categoryId: -1n, status: 'pending' },
      ],
    ] as [string, AnimalChanges, NewAnimal][]) {
      test(`sets ${what}, and returns the animal as it is now`, async t => {
        const { store, ids } = await openWith(t, bella)
        const [id = 0n] = ids
        const animal = { id, ...after }
        assert.deepEqual(await store.write([update(id, changes)]), [{ kind: 'updated', animal }])
        assert.equal(await json(store, id), renderAnimal(animal))
        assert.deepEqual(await store.write([update(id, changes)]), [{ kind: 'unchanged', animal }])
      })
    }

    test('changes nothing if nothing differs, or no member is given', async t => {
      const { store, ids } = await openWith(t, bella, { name: 'b', categoryId: 1n })
      const [id = 0n, other = 0n] = ids
      const outcomes = await store.write([update(id, {}), update(other, { status: null })])
      assert.deepEqual(kinds(outcomes), ['unchanged', 'unchanged'])
    })

    test('says that an animal is missing, which no condition changes', async t => {
      const { store, ids } = await openWith(t, bella)
      const [id = 0n] = ids
      const writes = [
        update(id + 1n, { name: 'x' }),
        remove(id + 1n),
        update(INT64_MIN, {}, { ifMatch: [] }),
        remove(INT64_MAX, { ifStatus: 'sold', ifNoneMatch: '*' }),
      ]
      assert.deepEqual(kinds(await store.write(writes)), Array(4).fill('missing'))
    })

    test('removes an animal for good: it is in no list, and its id is never given again', async t => {
      const { store, ids } = await openWith(t, bella, { name: 'last', categoryId: 1n })
      const [, last = 0n] = ids
      assert.deepEqual(await store.write([remove(last)]), [{ kind: 'deleted', id: last }])
      assert.deepEqual(await store.write([remove(last)]), [{ kind: 'missing' }])
      assert.equal(await json(store, last), undefined)
      assert.equal((await store.listAnimals({ limit: 10 })).length, 1)
      const [created] = await createAnimals(store, [{ animal: bella }])
      assert.ok(created?.kind === 'created' && created.animal.id > last)
    })

    test('checks the tag, then the status, and does nothing if one does not match', async t => {
      const { store, ids } = await openWith(t, bella)
      const [id = 0n] = ids
      const own = tag({ id, ...bella })
      const other = tag({ id, ...bella, status: 'sold' })
      for (const [conditions, expected] of [
        [{ ifMatch: [own] }, 'unchanged'],
        [{ ifMatch: [other, own] }, 'unchanged'],
        [{ ifMatch: [other] }, 'other_tag'],
        [{ ifMatch: [] }, 'other_tag'],
        [{ ifNoneMatch: [other] }, 'unchanged'],
        [{ ifNoneMatch: [] }, 'unchanged'],
        [{ ifNoneMatch: [other, own] }, 'other_tag'],
        [{ ifNoneMatch: '*' }, 'other_tag'],
        [{ ifMatch: [own], ifNoneMatch: [own] }, 'other_tag'],
        [{ ifStatus: 'available' }, 'unchanged'],
        [{ ifStatus: 'sold' }, 'other_status'],
        [{ ifStatus: 'none' }, 'other_status'],
        [{ ifMatch: [other], ifStatus: 'sold' }, 'other_tag'],
        [{ ifMatch: [own], ifStatus: 'pending' }, 'other_status'],
      ] as [Conditions, string][]) {
        const [outcome] = await store.write([update(id, {}, conditions)])
        assert.equal(outcome?.kind, expected, JSON.stringify(conditions))
        if (outcome?.kind === 'other_status') assert.equal(outcome.status, 'available')
        if (expected === 'unchanged') continue
        assert.deepEqual(await store.write([update(id, { name: 'x' }, conditions), remove(id, conditions)]), [
          outcome,
          outcome,
        ])
      }
      assert.equal(await json(store, id), renderAnimal({ id, ...bella }))
    })

    test('knows the status of an animal without one as none', async t => {
      const { store, ids } = await openWith(t, { name: 'a', categoryId: 1n })
      const [id = 0n] = ids
      const [refused] = await store.write([remove(id, { ifStatus: 'sold' })])
      assert.deepEqual(refused, { kind: 'other_status', status: undefined })
      assert.deepEqual(kinds(await store.write([remove(id, { ifStatus: 'none' })])), ['deleted'])
    })

    test('has the same tag for the same state, with any characters', async t => {
      const names = ['"\\/', 'a\u0001\b\f\n\r\t\u001f', '\u007f\u2028\u{1f408}', 'Zoë', "';--", '\ufeffa']
      const { store, ids } = await openWith(t, ...names.map(name => ({ name, categoryId: INT64_MIN })))
      const writes = names.map((name, index) => {
        const id = ids[index] as bigint
        return update(id, { status: 'sold' }, { ifMatch: [tag({ id, name, categoryId: INT64_MIN })] })
      })
      assert.deepEqual(kinds(await store.write(writes)), Array(names.length).fill('updated'))
    })

    test('runs a mixed batch in order, with an animal more than once', async t => {
      const { store, ids } = await openWith(t, bella, bella)
      const [first = 0n, second = 0n] = ids
      const outcomes = await store.write([
        update(first, { status: 'pending' }, { ifStatus: 'available' }),
        { kind: 'create', animal: bella },
        update(first, { status: 'sold' }, { ifStatus: 'pending' }),
        remove(second),
        update(first, { name: 'x' }, { ifStatus: 'available' }),
        update(second, { name: 'x' }),
        remove(first, { ifStatus: 'sold' }),
        remove(first),
      ])
      assert.deepEqual(kinds(outcomes), [
        'updated',
        'created',
        'updated',
        'deleted',
        'other_status',
        'missing',
        'deleted',
        'missing',
      ])
      assert.deepEqual(await store.countAnimals(), { available: 1n, pending: 0n, sold: 0n, none: 0n })
    })

    test('counts every change of a status and every removal', async t => {
      const { store, ids } = await openWith(t, bella, bella, { name: 'c', categoryId: 1n })
      const [first = 0n, second = 0n, third = 0n] = ids
      const counts = async () => Object.values(await store.countAnimals()).join()
      assert.equal(await counts(), '2,0,0,1')
      await store.write([update(first, { status: 'sold' }), update(third, { status: 'pending' })])
      assert.equal(await counts(), '1,1,1,0')
      await store.write([update(first, { name: 'x' }), update(second, { status: null })])
      assert.equal(await counts(), '0,1,1,1')
      await createAnimals(store, [{ animal: bella }])
      await store.write([remove(first), remove(second), remove(third)])
      assert.equal(await counts(), '1,0,0,0')
      assert.deepEqual(await store.repairDerivedData(), { searchNames: 0, corrected: undefined })
    })

    test('finds an animal by its new name only, whatever alphabet it had', async t => {
      const { store, ids } = await openWith(t, { name: 'Zoë', categoryId: 1n })
      const [id = 0n] = ids
      const find = async (nameContains: string) =>
        (await store.listAnimalsAsJson({ limit: 5, nameContains })).json
      for (const [name, found, notFound] of [
        ['Bella', 'ell', 'zoe'],
        ['Çelik', 'celik', 'ell'],
        ['Żubr', 'zubr', 'celik'],
      ] as const) {
        await store.write([update(id, { name })])
        assert.equal(await find(found), `[${renderAnimal({ id, name, categoryId: 1n })}]`)
        assert.equal(await find(notFound), '[]')
      }
      assert.equal((await store.repairDerivedData()).searchNames, 0)
    })

    test('replays a change and a removal byte for byte, whatever happened to the animal since', async t => {
      const { store, ids } = await openWith(t, bella)
      const [id = 0n] = ids
      const sell = withKey(update(id, { status: 'sold' }, { ifStatus: 'available' }), 'sell')
      const removal = withKey(remove(id), 'remove')
      assert.deepEqual(kinds(await store.write([sell])), ['updated'])
      await store.write([update(id, { name: 'later' })])
      const replayed = { kind: 'replayed', id, json: renderAnimal({ id, ...bella, status: 'sold' }) }
      assert.deepEqual(await store.write([sell]), [replayed])
      assert.deepEqual(kinds(await store.write([removal])), ['deleted'])
      assert.deepEqual(await store.write([sell, removal]), [replayed, { kind: 'replayed', id, json: '' }])
    })

    test('replays a creation after its animal was changed and removed', async t => {
      const store = await openEmpty(t)
      const creation = withKey({ kind: 'create', animal: bella }, 'k')
      const [created] = await store.write([creation])
      assert.ok(created?.kind === 'created')
      const { id } = created.animal
      const replayed = { kind: 'replayed', id, json: renderAnimal(created.animal) }
      await store.write([update(id, { name: 'x' })])
      assert.deepEqual(await store.write([creation]), [replayed])
      await store.write([remove(id)])
      assert.deepEqual(await store.write([creation]), [replayed])
    })

    test('gives the key back if nothing was done, and keeps it after a change that changed nothing', async t => {
      const { store, ids } = await openWith(t, bella)
      const [id = 0n] = ids
      for (const failing of [
        update(id, { status: 'sold' }, { ifStatus: 'pending' }),
        update(id, { status: 'sold' }, { ifMatch: [] }),
        remove(id + 1n),
      ])
        assert.notEqual((await store.write([withKey(failing, 'k', 'failing')]))[0]?.kind, 'replayed')
      const unchanged = withKey(update(id, { name: 'Bella' }), 'k')
      assert.deepEqual(kinds(await store.write([unchanged, unchanged])), ['unchanged', 'replayed'])
      assert.deepEqual(kinds(await store.write([withKey(remove(id), 'k', 'other')])), ['key_reused'])
      assert.equal(await json(store, id), renderAnimal({ id, ...bella }))
    })

    test('rejects a key that belongs to another request, even for an animal that is missing', async t => {
      const { store, ids } = await openWith(t, bella, bella)
      const [id = 0n, other = 0n] = ids
      await store.write([withKey(update(id, { name: 'x' }), 'k')])
      const reused = [
        update(id, { name: 'y' }),
        update(other, { name: 'x' }),
        remove(other + 1n),
        { kind: 'create', animal: bella } as const,
      ]
      for (const write of reused)
        assert.deepEqual(kinds(await store.write([withKey(write, 'k', 'another')])), ['key_reused'])
    })

    test('lets one of many concurrent changes with the same condition win, and the same retry act once', async t => {
      const { store, ids } = await openWith(t, bella)
      const [id = 0n] = ids
      const own = tag({ id, ...bella })
      const race = (writes: readonly Write[]) => Promise.all(writes.map(write => store.write([write])))
      const byTag = await race(
        Array.from({ length: 20 }, (_, index) => update(id, { name: `n${index}` }, { ifMatch: [own] })),
      )
      assert.equal(kinds(byTag.flat()).filter(kind => kind === 'updated').length, 1)
      const byStatus = await race(
        Array.from({ length: 20 }, () => update(id, { status: 'sold' }, { ifStatus: 'available' })),
      )
      assert.equal(kinds(byStatus.flat()).filter(kind => kind === 'updated').length, 1)
      const retries = await race(Array.from({ length: 20 }, () => withKey(remove(id), 'k')))
      assert.deepEqual(kinds(retries.flat()).sort(), ['deleted', ...Array(19).fill('replayed')])
    })
  })

  suite(`Store on ${database}: idempotency`, () => {
    const idempotency = { scope: 's', key: 'k' }

    test('replays the first creation for the second', async t => {
      const store = await openEmpty(t)
      const [first] = await createAnimals(store, [{ animal: animal('a', 'sold'), idempotency }])
      const [second] = await createAnimals(store, [{ animal: animal('a', 'sold'), idempotency }])
      assert.ok(first?.kind === 'created')
      const { id } = first.animal
      assert.deepEqual(second, { kind: 'replayed', id, json: renderAnimal(first.animal) })
      assert.equal((await store.listAnimals({ limit: 10 })).length, 1)
    })

    test('replays within a batch, where a reused key does not fail the others', async t => {
      const store = await openEmpty(t)
      const outcomes = await createAnimals(store, [
        { animal: animal('a'), idempotency },
        { animal: animal('a'), idempotency },
        { animal: animal('b'), idempotency },
        { animal: animal('c') },
      ])
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['created', 'replayed', 'key_reused', 'created'],
      )
      assert.deepEqual(
        (await store.listAnimals({ limit: 10 })).map(({ name }) => name),
        ['a', 'c'],
      )
    })

    test('creates another animal for another scope or key', async t => {
      const store = await openEmpty(t)
      for (const other of [idempotency, { scope: 's2', key: 'k' }, { scope: 's', key: 'K' }]) {
        const [outcome] = await createAnimals(store, [{ animal: animal('a'), idempotency: other }])
        assert.equal(outcome?.kind, 'created')
      }
    })

    test('creates one animal for twenty concurrent creations, and replays it for the rest', async t => {
      const store = await openEmpty(t)
      const outcomes = (
        await Promise.all(
          Array.from({ length: 20 }, () => createAnimals(store, [{ animal: animal('a'), idempotency }])),
        )
      ).flat()
      assert.equal(outcomes.filter(({ kind }) => kind === 'created').length, 1)
      assert.equal(outcomes.filter(({ kind }) => kind === 'replayed').length, 19)
    })

    test('creates a new animal for a key that has expired', async t => {
      let now = NOW.getTime()
      const store = await open(t, () => now)
      await createAnimals(store, [{ animal: animal('a'), idempotency }])
      now = NOW.getTime() + IDEMPOTENCY_WINDOW_MS
      const [outcome] = await createAnimals(store, [{ animal: animal('b'), idempotency }])
      assert.equal(outcome?.kind, 'created')
    })

    test('deletes expired keys up to a limit per call, and no others', async t => {
      let now = NOW.getTime()
      const store = await open(t, () => now)
      const createWithKey = (key: string) =>
        createAnimals(store, [{ animal: animal('a'), idempotency: { scope: 's', key } }])
      for (const key of ['1', '2', '3', '4', '5']) await createWithKey(key)
      assert.equal(await store.deleteExpiredIdempotencyKeys(10), 0)
      now = NOW.getTime() + 1
      await createWithKey('6')
      now = NOW.getTime() + IDEMPOTENCY_WINDOW_MS
      assert.equal(await store.deleteExpiredIdempotencyKeys(3), 3)
      assert.equal(await store.deleteExpiredIdempotencyKeys(3), 2)
      assert.equal(await store.deleteExpiredIdempotencyKeys(3), 0)
      const [outcome] = await createWithKey('6')
      assert.equal(outcome?.kind, 'replayed')
    })
  })

  suite(`Store on ${database}: keys`, () => {
    const newKey = (name: string, options: Partial<Parameters<typeof generateKey>[0]> = {}) =>
      generateKey({ name, environment: 'production', createdAt: NOW, ...options }).apiKey
    const at = (ms: number) => new Date(NOW.getTime() + ms)

    test('finds a key by its digest, unchanged', async t => {
      const store = await openEmpty(t)
      const keys = [
        newKey('a'),
        newKey('b', { expiresAt: at(5), idempotencyScope: 'other' }),
        newKey('c', { environment: 'staging' }),
      ]
      for (const key of keys) await store.createKey(key)
      for (const key of keys) assert.deepEqual(await store.findKey(key.digest), key)
      assert.equal(await store.findKey(newKey('d').digest), undefined)
    })

    test('lists the keys of an environment, oldest first', async t => {
      const store = await openEmpty(t)
      const keys = [
        newKey('late', { createdAt: at(2) }),
        newKey('early', { createdAt: at(1) }),
        newKey('s', { environment: 'staging' }),
      ]
      for (const key of keys) await store.createKey(key)
      assert.deepEqual(
        (await store.listKeys('production')).map(({ name }) => name),
        ['early', 'late'],
      )
      assert.deepEqual(
        (await store.listKeys('staging')).map(({ name }) => name),
        ['s'],
      )
    })

    test('stores one first key per environment, even for concurrent calls', async t => {
      const store = await openEmpty(t)
      const stored = await Promise.all(
        Array.from({ length: 10 }, () => store.createFirstKey(newKey('first'))),
      )
      assert.equal(stored.filter(Boolean).length, 1)
      assert.equal(await store.createFirstKey(newKey('first', { environment: 'staging' })), true)
      const [key] = await store.listKeys('production')
      await store.revokeKey(key?.id ?? '', 'production', NOW)
      assert.equal(await store.createFirstKey(newKey('first')), false)
    })

    test('keeps the time of the first revocation', async t => {
      const store = await openEmpty(t)
      const key = newKey('a')
      await store.createKey(key)
      assert.deepEqual(await store.revokeKey(key.id, 'production', at(1)), { ...key, revokedAt: at(1) })
      assert.deepEqual(await store.revokeKey(key.id, 'production', at(2)), { ...key, revokedAt: at(1) })
      assert.deepEqual(await store.findKey(key.digest), { ...key, revokedAt: at(1) })
      assert.equal(await store.revokeKey('unknown', 'production', NOW), undefined)
      assert.equal(await store.revokeKey(key.id, 'staging', NOW), undefined)
    })

    /** A key that may replace another one. */
    const successorOf = ({ idempotencyScope, environment }: ApiKey) =>
      newKey('successor', { idempotencyScope, environment, createdAt: at(1) })

    test('rotates a key: stores its successor and shortens its lifetime, but never extends it', async t => {
      const store = await openEmpty(t)
      const unlimited = newKey('unlimited')
      const ending = newKey('ending', { expiresAt: at(5) })
      const others = [newKey('other'), newKey('staging', { environment: 'staging' })]
      for (const key of [unlimited, ending, ...others]) await store.createKey(key)
      for (const [key, end] of [
        [unlimited, at(10)],
        [ending, at(5)],
      ] as const) {
        const successor = successorOf(key)
        assert.equal(await store.rotateKey(key.id, successor, at(10)), true)
        assert.deepEqual(await store.findKey(key.digest), { ...key, expiresAt: end })
        assert.deepEqual(await store.findKey(successor.digest), successor)
      }
      for (const key of others) assert.deepEqual(await store.findKey(key.digest), key)
    })

    test('rotates no key that is unknown, of another environment, revoked, or rotated already', async t => {
      const store = await openEmpty(t)
      const [revoked, staging, rotated] = [newKey('r'), newKey('s', { environment: 'staging' }), newKey('o')]
      for (const key of [revoked, staging, rotated]) await store.createKey(key)
      await store.revokeKey(revoked.id, 'production', at(1))
      const first = successorOf(rotated)
      assert.equal(await store.rotateKey(rotated.id, first, at(10)), true)
      const before = [await store.listKeys('production'), await store.listKeys('staging')]
      for (const [id, successor] of [
        ['unknown', newKey('x', { createdAt: at(1) })],
        [staging.id, newKey('x', { idempotencyScope: staging.idempotencyScope, createdAt: at(1) })],
        [revoked.id, successorOf(revoked)],
        [rotated.id, successorOf(rotated)],
      ] as const)
        assert.equal(await store.rotateKey(id, successor, at(5)), false)
      assert.deepEqual([await store.listKeys('production'), await store.listKeys('staging')], before)
      // A successor that is lost can be revoked, and one that is not can be rotated itself.
      await store.revokeKey(first.id, 'production', at(2))
      const second = successorOf(rotated)
      assert.equal(await store.rotateKey(rotated.id, second, at(5)), true)
      const third = { ...successorOf(rotated), createdAt: at(2) }
      assert.equal(await store.rotateKey(second.id, third, at(5)), true)
    })

    test('stores the last day on which keys were used', async t => {
      const store = await openEmpty(t)
      const [used, unused] = [newKey('used'), { ...newKey('unused'), lastUsed: '2026-12-01' }]
      for (const key of [used, unused]) await store.createKey(key)
      const lastUses = async () =>
        Promise.all([used, unused].map(async ({ digest }) => (await store.findKey(digest))?.lastUsed))
      assert.deepEqual(await lastUses(), [undefined, '2026-12-01'])
      await store.storeKeyUses([used.id, 'unknown'], '2026-12-31')
      assert.deepEqual(await lastUses(), ['2026-12-31', '2026-12-01'])
      await store.storeKeyUses([unused.id, used.id], '2026-12-30')
      assert.deepEqual(await lastUses(), ['2026-12-31', '2026-12-30'])
    })

    test('rotates a key once, even for concurrent calls', async t => {
      const store = await openEmpty(t)
      const key = newKey('a')
      await store.createKey(key)
      const rotated = await Promise.all(
        Array.from({ length: 10 }, () => store.rotateKey(key.id, successorOf(key), at(10))),
      )
      assert.equal(rotated.filter(Boolean).length, 1)
      assert.equal((await store.listKeys('production')).length, 2)
    })
  })

  test(`Store on ${database} answers a ping`, async t => {
    await (await openEmpty(t)).ping()
  })
}

const FIRST: Animal = { id: INT64_MIN, name: 'first', categoryId: 1n, status: 'sold' }
const LAST: Animal = { id: INT64_MAX, name: 'last', categoryId: 1n, status: 'sold' }

/** The SQL that stores two animals, with the smallest and the largest int64 as ids. */
export const INSERT_EXTREME_IDS = `
  insert into animals (id, name, category_id, status)
  values (${FIRST.id}, 'first', 1, 'sold'), (${LAST.id}, 'last', 1, 'sold')`

/** Takes a store with these two animals only. */
export async function checkExtremeIds(store: Store): Promise<void> {
  const pages: [Page, Animal[], Omit<JsonPage, 'json'>][] = [
    [{ limit: 2 }, [FIRST, LAST], { previous: undefined, next: undefined }],
    [{ limit: 1 }, [FIRST], { previous: undefined, next: INT64_MIN }],
    [{ limit: 1, after: INT64_MIN }, [LAST], { previous: INT64_MAX, next: undefined }],
    [{ limit: 1, after: INT64_MAX }, [], { previous: undefined, next: undefined }],
    [{ limit: 1, before: INT64_MAX }, [FIRST], { previous: undefined, next: INT64_MIN }],
    [{ limit: 1, before: INT64_MIN }, [], { previous: undefined, next: undefined }],
  ]
  for (const [page, animals, links] of pages) {
    for (const status of [undefined, 'sold'] as const) {
      const expected = { json: renderAnimals(animals), ...links }
      assert.deepEqual(await store.listAnimalsAsJson({ ...page, status }), expected)
    }
    if (page.before === undefined) assert.deepEqual(await store.listAnimals(page), animals)
  }
}

/** A store, and a way to insert an animal by hand. The animals that are created after it get larger ids. */
interface OpenedStore {
  readonly store: Store
  insertAnimal(id: bigint): Promise<void>
}

/** The part of the contract that needs animals with chosen ids. */
export function int64Contract(database: string, open: (t: TestContext) => Promise<OpenedStore>): void {
  const animal = { name: 'a', categoryId: 1n, status: 'sold' } as const
  const idempotency = { scope: 's', key: 'k' }

  suite(`Store on ${database}: ids at the limits of int64`, () => {
    test('creates and replays animals with ids beyond 2^53, and stores and revokes API keys after that', async t => {
      const { store, insertAnimal } = await open(t)
      await insertAnimal(9007199254740992n)
      const [first] = await createAnimals(store, [{ animal, idempotency }])
      assert.deepEqual(first, { kind: 'created', animal: { id: 9007199254740993n, ...animal } })
      const [second] = await createAnimals(store, [{ animal, idempotency }])
      const json = renderAnimal({ id: 9007199254740993n, ...animal })
      assert.deepEqual(second, { kind: 'replayed', id: 9007199254740993n, json })
      const { apiKey } = generateKey({ name: 'a', environment: 'production', createdAt: NOW })
      await store.createKey(apiKey)
      assert.deepEqual(await store.findKey(apiKey.digest), apiKey)
      assert.equal((await store.revokeKey(apiKey.id, 'production', NOW))?.id, apiKey.id)
      assert.equal(await store.deleteExpiredIdempotencyKeys(1), 0)
      assert.deepEqual(await store.listAnimalsAsJson({ limit: 1, after: 9007199254740992n }), {
        json: renderAnimals([{ id: 9007199254740993n, ...animal }]),
        previous: 9007199254740993n,
        next: undefined,
      })
    })

    test('creates an animal with the largest id, and then nothing more', async t => {
      const { store, insertAnimal } = await open(t)
      await insertAnimal(INT64_MAX - 1n)
      const [last] = await createAnimals(store, [{ animal, idempotency }])
      assert.deepEqual(last, { kind: 'created', animal: { id: INT64_MAX, ...animal } })
      await assert.rejects(createAnimals(store, [{ animal }]), isUnavailable)
      await assert.rejects(
        createAnimals(store, [{ animal, idempotency: { scope: 's', key: 'another' } }]),
        isUnavailable,
      )
      assert.equal((await store.listAnimals({ limit: 10 })).at(-1)?.id, INT64_MAX)
    })
  })
}
