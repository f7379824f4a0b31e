// A real Chromium for the tests of the pages. It is an npm package, so the tests need no browser on the machine.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core'

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/chromium/', import.meta.url))

/** Starts one browser for all tests of a file. Returns a function that creates a separate profile for a test. */
export function useBrowser(): (t: TestContext, options?: BrowserContextOptions) => Promise<BrowserContext> {
  let browser: Browser
  before(async () => {
    browser = await launchBrowser()
  })
  after(() => browser.close())
  return async (t, options = {}) => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(30_000)
    t.after(() => context.close())
    return context
  }
}

export async function launchBrowser(): Promise<Browser> {
  const folder = await unpack()
  return chromium.launch({
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
  // The package always unpacks to the temporary folder.
  const { TMPDIR } = process.env
  process.env.TMPDIR = unfinished
  try {
    const { inflate } = await import('@sparticuz/chromium')
    const archives = ['chromium.br', 'fonts.tar.br', 'swiftshader.tar.br', 'al2023.tar.br']
    await Promise.all(archives.map(archive => inflate(join(PACKAGE, 'bin', archive))))
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
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
