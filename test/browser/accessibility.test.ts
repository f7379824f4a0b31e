// The catalogue page in all its states, checked by axe in both colour schemes, narrow and wide.

import { suite, test } from 'node:test'
import { checkAccessibility } from './axe.ts'
import { newAnimals, readRows, readStock, signIn, startWithAnimals, useCatalogue } from './catalogue-page.ts'

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
    await page.keyboard.press('Escape')
    await page.goto(`${address}/?status=sold`)
    await readRows(page)
    await readStock(page)
    await checkAccessibility(page, 'the newest sold animals')
    await page.keyboard.press('n')
    await page.getByLabel('Name').fill(' ')
    await page.getByLabel('Category').fill('7')
    await checkAccessibility(page, 'the form')
    await page.getByLabel('Name').fill('Kim')
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
    await page.getByText('limit must be').waitFor()
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
