// The catalogue page in all its states, checked by axe in both colour schemes, narrow and wide.

import { suite, test } from 'node:test'
import { checkAccessibility } from './axe.ts'
import {
  changeAnimal,
  newAnimals,
  readInventory,
  readRows,
  signIn,
  startWithAnimals,
  useCatalogue,
} from './catalogue-page.ts'

const open = useCatalogue()

suite('the catalogue page', () => {
  test('has no violation that axe finds, in any state, light or dark, narrow or wide', async t => {
    const longName = { name: 'long'.repeat(250), categoryId: -9223372036854775808n }
    const animals = [...newAnimals(25, ['available', 'pending', 'sold', undefined]), longName]
    const service = await startWithAnimals(t, animals)
    const { address } = service
    const { page } = await open(t, service, { context: { reducedMotion: 'reduce' }, isSignedIn: false })
    await checkAccessibility(page, 'the sign-in form')
    await signIn(page)
    await readRows(page)
    await checkAccessibility(page, 'the list')
    await page.goto(`${address}/?order=oldest&after=20`)
    await readRows(page)
    await checkAccessibility(page, 'the last page')
    await page.locator('#rows tr').last().click()
    await checkAccessibility(page, 'the details')
    await page
      .getByRole('group', { name: 'Status', exact: true })
      .getByRole('button', { name: 'pending' })
      .click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.keyboard.press('x')
    await page.getByRole('button', { name: 'Remove' }).click()
    await checkAccessibility(page, 'a changed status, a marked row and the question before a removal')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine')
    await changeAnimal(service, 26, { name: 'Theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Take theirs' }).waitFor()
    await checkAccessibility(page, 'a field that somebody else has changed too')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.keyboard.press('Escape')
    await page.keyboard.press('s')
    await checkAccessibility(page, 'the bar above the table')
    await page.keyboard.press('3')
    await page.locator('#marks').getByText('was pending').waitFor()
    await service.send('DELETE', '/v1/pets/22')
    await page.goto(`${address}/?status=pending`)
    await readRows(page)
    await page.keyboard.press('j')
    await page
      .getByRole('group', { name: 'Status', exact: true })
      .getByRole('button', { name: 'sold' })
      .click()
    await page.locator('tr.left').waitFor()
    await checkAccessibility(page, 'an animal that has left the list')
    await page.keyboard.press('Escape')
    await page.goto(`${address}/?status=sold`)
    await readRows(page)
    await readInventory(page)
    await checkAccessibility(page, 'the newest sold animals')
    await page.keyboard.press('n')
    await page.getByRole('textbox', { name: 'Name' }).fill(' ')
    await page.getByRole('textbox', { name: 'Category' }).fill('7')
    await checkAccessibility(page, 'the form')
    await page.getByRole('textbox', { name: 'Name' }).fill('Kim')
    await page.getByLabel('Add another').check()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    // A notice stays while its button has the focus.
    await page.getByRole('button', { name: 'Show' }).focus()
    await checkAccessibility(page, 'the notice of a new animal')
    await page.getByLabel('Add another').press('Escape')
    await page.keyboard.press('?')
    await checkAccessibility(page, 'the shortcuts')
    await page.keyboard.press('Escape')
    await page.locator('#more').click()
    await checkAccessibility(page, 'the menu')
    await page.goto(`${address}/?limit=500`)
    await page.getByText('must be a number from 1 to 100').waitFor()
    await checkAccessibility(page, 'the message for an invalid URL')
    await page.goto(`${address}/?q=animal`)
    await page.getByText('20 shown, there may be more').waitFor()
    await page.getByLabel('Search or id').focus()
    await checkAccessibility(page, 'the search')
    await page.getByLabel('Search or id').fill('12')
    await checkAccessibility(page, 'the hint of the search')
    await page.goto(`${address}/?animal=99999`)
    await page.getByRole('heading', { name: 'No animal has id 99999' }).waitFor()
    await checkAccessibility(page, 'a link to no animal')
    await page.getByLabel('Search or id').fill('99999')
    await page.keyboard.press('Enter')
    await page.locator('#search-hint.problem').waitFor()
    await checkAccessibility(page, 'an id that does not exist')
    await page.goto(address)
    await readRows(page)
    await page.route('**/v1/pets**', route => route.abort())
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('The server cannot be reached').waitFor()
    await checkAccessibility(page, 'the list while the server is down')
    // Without an answer, the old rows are dimmed. The newest handler comes first.
    await page.route('**/v1/pets**', () => {})
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.locator('table[aria-busy=true]').waitFor()
    await checkAccessibility(page, 'the list while the server does not answer')
  })
})
