// Checks a page with axe, in both colour schemes and in several widths.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const WIDTHS = [320, 768, 1440]
/** Only the colours differ in the dark scheme, and they do not depend on the width. At 768 pixels everything must only fit. */
const CHECKS = [
  { colorScheme: 'light', width: 320, rules: {} },
  { colorScheme: 'light', width: 1440, rules: {} },
  { colorScheme: 'dark', width: 1440, rules: { runOnly: ['color-contrast'] } },
] as const

interface Axe {
  readonly axe: { run(options: object): Promise<{ violations: unknown[] }> }
}

/** Checks what the page shows now, in both colour schemes, narrow and wide. */
export async function checkAccessibility(page: Page, state: string): Promise<void> {
  await page.evaluate(AXE)
  for (const { colorScheme, width, rules } of CHECKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    const violations = await page.evaluate(async rules => {
      const { violations } = await (globalThis as unknown as Axe).axe.run(rules)
      return violations
    }, rules)
    assert.deepEqual(violations, [], `${state}, in ${colorScheme} at ${width} pixels`)
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 })
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(overflow <= 0, `${state} is ${overflow} pixels too wide at ${width} pixels`)
  }
}
