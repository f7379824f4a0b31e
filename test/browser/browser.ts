// A real Chromium for the tests of the pages. It is an npm package, so the tests need no browser on the machine.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/chromium', import.meta.url))

/** Ten times what the slowest step takes on a slow machine. */
const HANG_MS = 120_000

/** Starts one browser for all tests of a file. Returns a function that creates a separate profile for a test. */
export function useBrowser(): (t: TestContext, options?: BrowserContextOptions) => Promise<BrowserContext> {
  let browser: Browser
  before(async () => {
    browser = await launchBrowser()
  })
  after(() => browser.close())
  return async (t, options = {}) => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(HANG_MS)
    t.after(async () => {
      // The page may still send requests in the background. Their handlers would fail when the context closes.
      for (const page of context.pages()) await page.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    })
    return context
  }
}

export async function launchBrowser(): Promise<Browser> {
  const folder = await unpack()
  return chromium.launch({
    timeout: HANG_MS,
    executablePath: join(folder, 'chromium'),
    args: ['--no-sandbox', '--font-render-hinting=none'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
    },
  })
}

/** Unpacks the browser once. Processes may do this at the same time, so the folder is renamed when it is complete. */
async function unpack(): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
  const folder = join(CACHE, version)
  if (existsSync(folder)) return folder
  mkdirSync(CACHE, { recursive: true })
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'))
  const archives = ['chromium.br', 'fonts.tar.br', 'swiftshader.tar.br', 'al2023.tar.br']
  const script = `
    const { inflate } = await import(${JSON.stringify(import.meta.resolve('@sparticuz/chromium'))})
    await Promise.all(${JSON.stringify(archives.map(archive => join(PACKAGE, 'bin', archive)))}.map(path => inflate(path)))`
  // The package always unpacks to the temporary folder of its process. To choose the folder, a new process unpacks, with
  // its own TMPDIR.
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH: process.env.PATH ?? '', TMPDIR: unfinished },
  })
  // The package's own configuration has the font folders of AWS Lambda. Chromium exits if it finds no fonts.
  writeFileSync(
    join(unfinished, 'fonts.conf'),
    `<fontconfig><dir>${folder}/fonts</dir><cachedir>${folder}/fonts-cache</cachedir></fontconfig>`,
  )
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
  return folder
}
