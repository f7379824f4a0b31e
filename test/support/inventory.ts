// Compares the inventory with a walk through the list.

import assert from 'node:assert/strict'
import type { Animal, Inventory } from '../../src/animal.ts'
import type { TestService } from './service.ts'

/** Counts the animals in all pages of the list. */
async function walkInventory({ send }: Pick<TestService, 'send'>): Promise<Inventory> {
  const counted = { available: 0n, pending: 0n, sold: 0n, none: 0n }
  for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined; ) {
    const { json, headers } = await send('GET', path)
    for (const { status = 'none' } of json as Animal[]) counted[status]++
    path = /<([^>]+)>; rel="next"/.exec(String(headers.link))?.[1]
  }
  return counted
}

/** Fails if the inventory is not what the list shows. Returns it. */
export async function assertInventory(service: Pick<TestService, 'send'>): Promise<Inventory> {
  const { status, json, text } = await service.send('GET', '/v1/store/inventory')
  assert.equal(status, 200, text)
  assert.deepEqual({ ...(json as Inventory) }, await walkInventory(service))
  return json as Inventory
}
