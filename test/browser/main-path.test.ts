// What most visitors of the catalogue page do: sign in, look at the list, and add an animal.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  newAnimals,
  openAddForm,
  readRows,
  signIn,
  startWithAnimals,
  useCatalogue,
} from './catalogue-page.ts'

const open = useCatalogue()

test('a visitor signs in, sees the animals, adds one and looks at it', async t => {
  const service = await startWithAnimals(t, newAnimals(3, ['available', 'sold', undefined]))
  const { page } = await open(t, service, { isSignedIn: false })
  await signIn(page)
  assert.deepEqual(
    (await readRows(page)).map(([id, name]) => [id, name]),
    [
      ['3', 'Animal 3'],
      ['2', 'Animal 2'],
      ['1', 'Animal 1'],
    ],
  )
  await openAddForm(page)
  await page.getByRole('textbox', { name: 'Name' }).fill('Bella')
  await page.getByRole('textbox', { name: 'Category' }).fill('9007199254740993')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.locator('#rows').getByText('Bella').click()
  await page.locator('#details').getByText('9007199254740993').first().waitFor()
  const [animal] = await service.store.listAnimals({ limit: 1, after: 3n })
  assert.deepEqual(animal, { id: 4n, name: 'Bella', categoryId: 9_007_199_254_740_993n })
})
