// Checks a page with axe, in every colour scheme and width.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const COLOR_SCHEMES = ['light', 'dark'] as const
const WIDTHS = [320, 768, 1440]

interface Axe {
  readonly axe: { run(options: object): Promise<{ violations: unknown[] }> }
}

/** Checks what the page shows now, in every colour scheme and width. */
export async function checkAccessibility(page: Page, state: string): Promise<void> {
  await page.evaluate(AXE)
  for (const colorScheme of COLOR_SCHEMES) {
    await page.emulateMedia({ colorScheme })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      // Only the colours differ in the dark scheme.
      const options = colorScheme === 'light' ? {} : { runOnly: ['color-contrast'] }
      const { violations, overflow } = await page.evaluate(async options => {
        const { axe } = globalThis as unknown as Axe
        const { violations } = await axe.run(options)
        return { violations, overflow: document.documentElement.scrollWidth - innerWidth }
      }, options)
      const shown = `${state}, in ${colorScheme} at ${width} pixels`
      assert.deepEqual(violations, [], shown)
      assert.ok(overflow <= 0, `${shown}, is ${overflow} pixels too wide`)
    }
  }
}
