// The check of histories: it finds every kind of violation, and accepts what overlapping requests may be answered.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { findViolations, type Operation } from '../experiments/faults/history.ts'
import type { Animal } from '../src/animal.ts'
import { INT64_MAX } from '../src/int64.ts'

const animal = (id: number, name = `n${id}`): Animal => ({ id: BigInt(id), name, categoryId: 7n })
const animals = (ids: readonly number[]) => ids.map(id => animal(id))

/** A creation that was answered with these ids: none if there was no 201. */
function create(start: number, end: number, name: string, ...ids: number[]): Operation {
  return keyed(undefined, start, end, name, ...ids)
}

function keyed(
  idempotencyKey: string | undefined,
  start: number,
  end: number,
  name: string,
  ...ids: number[]
): Operation {
  const answer = ids.length > 0 ? ids.map(id => animal(id, name)) : undefined
  return {
    request: { kind: 'create', sent: { name, categoryId: 7n }, idempotencyKey },
    start,
    end,
    animals: answer,
  }
}

function list(
  start: number,
  end: number,
  page: { limit: number; after?: bigint; before?: bigint },
  ids: readonly number[] | undefined,
): Operation {
  return { request: { kind: 'list', ...page }, start, end, animals: ids && animals(ids) }
}

function fetched(start: number, end: number, id: number, ...shown: Animal[]): Operation {
  return { request: { kind: 'fetch', id: BigInt(id) }, start, end, animals: shown }
}

/** A change that was acknowledged, unless `isAcknowledged` is false. */
function change(start: number, end: number, sent: Animal, isAcknowledged = true): Operation {
  const { id, ...after } = sent
  const request = { kind: 'change', id, sent: after } as const
  return { request, start, end, animals: isAcknowledged ? [sent] : undefined }
}

function remove(start: number, end: number, id: number, isAcknowledged = true): Operation {
  const request = { kind: 'remove', id: BigInt(id) } as const
  return { request, start, end, animals: isAcknowledged ? [] : undefined }
}

const SOLD: Animal = { ...animal(2), status: 'sold' }

/** The animals 1 to 4, created one after the other from 0 to 80 ms. */
const FOUR = [1, 2, 3, 4].map(id => create(id * 20 - 20, id * 20 - 10, `n${id}`, id))
const NEWEST = { limit: 2, before: INT64_MAX }

suite('a history', () => {
  test('without a contradiction has no violations', () => {
    assert.deepEqual(findViolations([]), [])
    const history = [
      ...FOUR,
      list(90, 99, { limit: 10 }, [1, 2, 3, 4]),
      list(90, 99, { limit: 4 }, [1, 2, 3, 4]),
      list(90, 99, { limit: 2, after: 1n }, [2, 3]),
      list(90, 99, { limit: 2, before: 4n }, [2, 3]),
      list(90, 99, NEWEST, [3, 4]),
      list(90, 99, { limit: 9, after: 4n }, []),
      fetched(90, 99, 3, animal(3)),
      fetched(90, 99, 5),
      // It overlaps the creation of 4, so both answers are right.
      list(65, 68, NEWEST, [2, 3]),
      list(65, 68, NEWEST, [3, 4]),
      fetched(5, 8, 1),
      // Nobody got an answer to this one, but it was stored.
      create(100, 101, 'n9'),
      list(105, 110, NEWEST, [3, 4]),
      list(111, 112, NEWEST, [4, 9]),
      // This one was never stored, or nobody looked.
      create(100, 101, 'lost'),
      list(120, 130, NEWEST, undefined),
      // Retries of one creation, the first two without an answer, the last one a replay.
      keyed('k', 200, 210, 'n12'),
      keyed('k', 211, 220, 'n12'),
      keyed('k', 215, 230, 'n12', 12),
      keyed('k', 231, 240, 'n12', 12),
      // The larger id became visible first.
      create(300, 320, 'n21', 21),
      create(300, 310, 'n22', 22),
      list(312, 314, NEWEST, [12, 22]),
      list(321, 330, NEWEST, [21, 22]),
      // Changes and removals: what overlaps one may be answered either way.
      change(400, 410, SOLD, false),
      fetched(402, 405, 2, SOLD),
      fetched(403, 404, 2, animal(2)),
      change(415, 420, SOLD),
      change(421, 430, { ...SOLD, name: 'n2 renamed' }),
      fetched(425, 426, 2, SOLD),
      fetched(431, 440, 2, { ...SOLD, name: 'n2 renamed' }),
      // A replay of the change is no read.
      change(441, 450, SOLD),
      remove(500, 510, 2, false),
      fetched(501, 505, 2, { ...SOLD, name: 'n2 renamed' }),
      list(502, 506, { limit: 2 }, [1, 3]),
      remove(511, 520, 2),
      fetched(521, 530, 2),
      keyed('k', 540, 550, 'n12', 12),
    ]
    assert.deepEqual(findViolations(history), [])
    assert.deepEqual(findViolations(history.toReversed()), [])
  })

  const VIOLATIONS: readonly [name: string, operations: readonly Operation[], expected: RegExp][] = [
    ['a list without an acknowledged animal', [list(90, 99, { limit: 9 }, [1, 2, 4])], /lacks 3 \(n3\)/],
    ['a first page that skips one', [list(90, 99, { limit: 2 }, [1, 3])], /lacks 2/],
    ['a next page that skips one', [list(90, 99, { limit: 2, after: 1n }, [3, 4])], /lacks 2/],
    ['a page backwards that skips one', [list(90, 99, { limit: 2, before: 4n }, [1, 3])], /lacks 2/],
    ['a newest page without the newest animal', [list(90, 99, NEWEST, [2, 3])], /list of 90 ms lacks 4/],
    ['an empty list', [list(90, 99, { limit: 9 }, [])], /lacks 1/],
    ['a fetch that finds nothing', [fetched(90, 99, 2)], /fetch of 90 ms lacks 2/],
    [
      'an animal without a 201 that disappears after a list had it',
      [create(80, 81, 'n5'), list(90, 99, NEWEST, [4, 5]), list(100, 101, NEWEST, [3, 4])],
      /list of 100 ms lacks 5 \(n5\), shown at 99 ms/,
    ],
    ['a name with two ids', [create(80, 81, 'n4', 8)], /the name n4 has the ids 4 and 8/],
    [
      'a key with two animals',
      [keyed('k', 80, 81, 'a', 8), keyed('k', 82, 83, 'b', 9)],
      /the key k has the ids 8 and 9/,
    ],
    [
      'a retry that was stored twice, in a list only',
      [
        keyed('k', 80, 81, 'n8'),
        keyed('k', 82, 83, 'n8', 8),
        {
          ...list(90, 99, { limit: 9, after: 4n }, []),
          animals: [animal(8), animal(9, 'n8')],
        },
      ],
      /the name n8 has the ids 8 and 9/,
    ],
    ['an id with two animals', [create(80, 81, 'b', 4)], /the id 4 has the names n4 and b/],
    [
      'another animal in the answer to a creation',
      [{ ...create(80, 81, 'n5'), animals: [animal(4)] }],
      /the create of n5 was answered with .*n4/,
    ],
    [
      'another content',
      [fetched(90, 99, 2, { ...animal(2), categoryId: 8n })],
      /n2 differs from what was sent/,
    ],
    ['an added status', [fetched(90, 99, 2, { ...animal(2), status: 'sold' })], /n2 differs/],
    [
      'an animal that nobody sent',
      [list(90, 99, { limit: 9, after: 4n }, [5])],
      /n5 is there before it was sent/,
    ],
    [
      'an animal before it was sent',
      [list(30, 35, { limit: 9 }, [1, 2, 3])],
      /n3 is there before it was sent/,
    ],
    ['a wrong order', [list(90, 99, { limit: 9 }, [1, 3, 2, 4])], /has 2 out of order/],
    ['a page that is too long', [list(90, 99, { limit: 2 }, [1, 2, 3])], /has 3 animals, more than 2/],
    ['an animal twice', [list(90, 99, { limit: 9 }, [1, 2, 2, 3, 4])], /has 2 out of order/],
    [
      'an animal before the page',
      [list(90, 99, { limit: 9, after: 2n }, [2, 3, 4])],
      /has 2 out of order or outside/,
    ],
    [
      'an animal after the page',
      [list(90, 99, { limit: 9, before: 3n }, [1, 2, 3])],
      /has 3 out of order or outside/,
    ],
    [
      'a fetch without an acknowledged change',
      [change(80, 85, SOLD), fetched(90, 99, 2, animal(2))],
      /has 2 as it was before the change/,
    ],
    [
      'a list without an acknowledged change',
      [change(80, 85, SOLD), list(90, 99, { limit: 2 }, [1, 2])],
      /list of 90 ms has 2 as it was before/,
    ],
    [
      'a change that a read had shown, and that is gone',
      [change(80, 200, SOLD, false), fetched(90, 95, 2, SOLD), fetched(100, 101, 2, animal(2))],
      /fetch of 100 ms has 2 as it was before the change that was shown at 95 ms/,
    ],
    [
      'a change before it was sent',
      [change(80, 85, SOLD), fetched(70, 75, 2, SOLD)],
      /n2 is there before it was sent/,
    ],
    [
      'another answer to a change',
      [{ ...change(80, 85, SOLD), animals: [animal(2)] }],
      /the change of n2 was answered with/,
    ],
    [
      'a change of another animal',
      [change(80, 85, SOLD), fetched(90, 99, 3, { ...SOLD, id: 3n })],
      /the name n2 has the ids 2 and 3/,
    ],
    [
      'an animal after its removal',
      [remove(80, 85, 2), fetched(90, 99, 2, animal(2))],
      /has 2, removed at 85 ms/,
    ],
    [
      'a removed animal that comes back',
      [remove(80, 200, 2, false), fetched(90, 95, 2), fetched(100, 101, 2, animal(2))],
      /has 2, removed at 95 ms/,
    ],
    [
      'an animal that is gone before its removal',
      [fetched(90, 95, 2), remove(100, 101, 2)],
      /fetch of 90 ms lacks 2/,
    ],
    [
      'a removed animal that a retry has added again',
      [remove(80, 85, 2), { ...list(90, 99, { limit: 9, after: 4n }, []), animals: [animal(9, 'n2')] }],
      /the name n2 has the ids 2 and 9/,
    ],
    ['another animal than the fetched one', [fetched(90, 99, 2, animal(3))], /has 3 out of order or outside/],
  ]
  for (const [name, operations, expected] of VIOLATIONS) {
    test(`with ${name} has a violation`, () => {
      assert.match(findViolations([...FOUR, ...operations]).join('\n'), expected)
    })
  }
})
