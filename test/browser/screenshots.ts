// Takes the screenshots in docs/: the catalogue page on a large light screen and on a small dark one.

import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import type { NewAnimal, Status } from '../../src/animal.ts'
import { startService } from '../../src/cli/service/service.ts'
import { createAnimals } from '../support/animals.ts'
import { launchBrowser } from './browser.ts'

const KEY = 'screenshots-0123456789-abcdefghij'
const COUNT = 1204
const NAMES = ['Bella', 'Kim', 'Rex', 'Mina', 'Otto', 'Luna', 'Pip', 'Nala', 'Hugo', 'Zoë', 'Sushi', 'Momo']
const KINDS = ['the cat', 'the parrot', 'the tortoise', 'the rabbit', 'the gecko']
const STATUSES: (Status | undefined)[] = ['available', 'available', 'sold', 'available', 'pending', undefined]

function animalAt(index: number): NewAnimal {
  const status = STATUSES[(index * 7) % STATUSES.length]
  const name = `${NAMES[index % NAMES.length]} ${KINDS[index % KINDS.length]}`
  const categoryId = index === 4 ? 9007199254740993n : BigInt(1 + (index % KINDS.length))
  return status === undefined ? { name, categoryId } : { name, categoryId, status }
}

const service = await startService({
  port: 0,
  database: { kind: 'sqlite-memory' },
  apiKey: KEY,
  shutdownDelay: 0,
  logLevel: 'silent',
  logStream: { write() {} },
})
const browser = await launchBrowser()
try {
  await createAnimals(
    service.store,
    Array.from({ length: COUNT }, (_, index) => ({ animal: animalAt(index) })),
  )
  await takeScreenshot(browser, 'catalogue.png', { width: 1200, height: 760 }, 'light', async page => {
    await page.locator('#rows tr').nth(3).click()
    await page.locator('#status').getByRole('button', { name: 'sold' }).click()
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.mouse.move(0, 0)
  })
  await takeScreenshot(browser, 'catalogue-small.png', { width: 390, height: 760 }, 'dark', async () => {})
} finally {
  await browser.close()
  await service.stop()
}

async function takeScreenshot(
  browser: Browser,
  file: string,
  viewport: { width: number; height: number },
  colorScheme: 'light' | 'dark',
  prepare: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor: 1.5 })
  const page = await context.newPage()
  await page.goto(service.address)
  await page.getByLabel('API key').fill(KEY)
  await page.keyboard.press('Enter')
  await page.getByText(`of ${COUNT.toLocaleString('en')}`).waitFor()
  await prepare(page)
  await page.screenshot({ path: fileURLToPath(new URL(`../../docs/${file}`, import.meta.url)) })
  await context.close()
}
