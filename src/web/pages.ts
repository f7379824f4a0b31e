// The web pages: the catalogue and the API reference, with their scripts, styles and icon.

import { readFileSync } from 'node:fs'
import type { Environment } from '../api-key.ts'
import type { ApiDescription } from './api-description.ts'
import { renderCatalogue, renderCatalogueTools } from './catalogue.ts'
import { type Html, html } from './html.ts'
import { renderReference } from './reference.ts'
import { createScriptLoader } from './scripts.ts'

export interface PageOptions {
  readonly environment: Environment
  readonly document: () => ApiDescription
}

/**
 * The scripts of the catalogue page, the entry first. The page lists all of them, so that the browser loads them in
 * parallel instead of import by import.
 */
const CATALOGUE_MODULES = [
  'src/web/browser/catalogue',
  'src/web/browser/add-animal-form',
  'src/web/browser/animal-table',
  'src/web/browser/browser-storage',
  'src/web/browser/clipboard',
  'src/web/browser/csv',
  'src/web/browser/csv-download',
  'src/web/browser/details',
  'src/web/browser/elements',
  'src/web/browser/go-to-id',
  'src/web/browser/list-page',
  'src/web/browser/live',
  'src/web/browser/location',
  'src/web/browser/navigation',
  'src/web/browser/new-animal-fields',
  'src/web/browser/notice',
  'src/web/browser/page-loader',
  'src/web/browser/page-size',
  'src/web/browser/pager',
  'src/web/browser/panel',
  'src/web/browser/scroll-edges',
  'src/web/browser/selection',
  'src/web/browser/session',
  'src/web/browser/session-key',
  'src/web/browser/shortcuts',
  'src/web/browser/status-badge',
  'src/web/browser/stock',
  'src/web/browser/stock-count',
  'src/web/browser/waiting',
  'client/src/animal-store',
  'client/src/error',
  'client/src/json',
  'client/src/links',
  'client/src/requests',
  'src/animal',
  'src/error',
  'src/json',
]
const REFERENCE_MODULES = ['src/web/browser/try-it']

/** The last ones have the rules for small screens and paper, which must win over the others. */
const CATALOGUE_STYLES = [
  'tokens.css',
  'style.css',
  'bar.css',
  'catalogue.css',
  'stock.css',
  'list.css',
  'list-end.css',
  'panel.css',
  'notice.css',
  'small-screen.css',
  'print.css',
]
const REFERENCE_STYLES = ['tokens.css', 'style.css', 'bar.css', 'reference.css']

export function pages({ environment, document }: PageOptions) {
  const modules = [...CATALOGUE_MODULES, ...REFERENCE_MODULES]
  const loadScript = createScriptLoader(modules)
  return [
    page('/', () =>
      renderLayout({
        title: 'Animal Store',
        environment,
        content: renderCatalogue(environment),
        modules: CATALOGUE_MODULES,
        styles: CATALOGUE_STYLES,
        tools: renderCatalogueTools(),
      }),
    ),
    page('/docs', () =>
      renderLayout({
        title: 'Animal Store API reference',
        environment,
        content: renderReference(document(), environment),
        modules: REFERENCE_MODULES,
        styles: REFERENCE_STYLES,
      }),
    ),
    ...new Set([...CATALOGUE_STYLES, ...REFERENCE_STYLES])
      .values()
      .map(file => asset(file, 'text/css; charset=utf-8')),
    asset('icon.svg', 'image/svg+xml'),
    ...modules.map(name => ({
      path: scriptPath(name),
      mediaType: 'text/javascript; charset=utf-8',
      body: () => loadScript(name),
    })),
  ]
}

function page(path: string, body: () => Html) {
  return { path, mediaType: 'text/html; charset=utf-8', body: () => body().text }
}

function asset(file: string, mediaType: string) {
  const text = readFileSync(new URL(`./browser/${file}`, import.meta.url), 'utf8')
  return { path: `/assets/${file}`, mediaType, body: () => text }
}

function scriptPath(module: string): string {
  return `/assets/${module}.js`
}

interface LayoutOptions {
  readonly title: string
  readonly environment: Environment
  readonly content: Html
  readonly modules: readonly string[]
  readonly styles: readonly string[]
  /** Controls in the bar. */
  readonly tools?: Html
}

function renderLayout({ title, environment, content, modules, styles, tools }: LayoutOptions): Html {
  // Relative addresses, because a proxy may serve the pages below any prefix.
  const [entry = '', ...others] = modules.map(module => `.${scriptPath(module)}`)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="./assets/icon.svg" type="image/svg+xml">
${styles.map(file => html`<link rel="stylesheet" href="./assets/${file}">`)}
<script type="module" src="${entry}"></script>
${others.map(url => html`<link rel="modulepreload" href="${url}">`)}
</head>
<body>
<header id="bar"><div><a class="brand" href="./"><img src="./assets/icon.svg" alt="" width="24" height="24"><span>Animal Store</span></a><span class="environment ${environment}">${environment}</span>
<nav aria-label="Site"><a href="./docs">API reference</a><a href="./openapi.json">OpenAPI</a></nav>${tools}</div></header>
<main>${content}</main>
</body>
</html>
`
}
