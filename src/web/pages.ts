// The web pages: the catalogue and the API reference, with their scripts, styles and icon.

import { readFileSync } from 'node:fs'
import type { Environment } from '../api-key.ts'
import { renderCatalogue, renderCatalogueSearch, renderCatalogueTools } from './catalogue-html.ts'
import { type Html, html } from './html.ts'
import { renderReference } from './reference-html.ts'
import { createScriptLoader } from './scripts.ts'

interface PageOptions {
  readonly environment: Environment
  /** The OpenAPI document. */
  readonly document: () => object
}

/** The styles of a page are one style sheet of several files, so that a browser needs one request. */
const STYLES = {
  catalogue: ['tokens.css', 'style.css', 'catalogue.css', 'list.css', 'panel.css'],
  reference: ['tokens.css', 'style.css', 'reference.css'],
}

const SCRIPTS = { catalogue: 'src/web/browser/catalogue', reference: 'src/web/browser/reference' }

export function createPages({ environment, document }: PageOptions) {
  const loadScript = createScriptLoader(Object.values(SCRIPTS))
  const catalogue = () =>
    renderLayout({
      title: 'Animal Store',
      environment,
      content: renderCatalogue(environment),
      otherPage: html`<a href="./docs">API<span> reference</span></a>`,
      assets: 'catalogue',
      description:
        'The catalogue of animals: search it, see the inventory, and add, edit and remove animals.',
      search: renderCatalogueSearch(),
      tools: renderCatalogueTools(),
    })
  const reference = () =>
    renderLayout({
      title: 'Animal Store API reference',
      environment,
      ...renderReference(document(), environment),
      otherPage: html`<a href="./">Catalogue</a>`,
      assets: 'reference',
      description: 'How to list, search, count, add, change and remove animals with the API of Animal Store.',
    })
  const assets = (['catalogue', 'reference'] as const).flatMap(name => [
    file(`/assets/${name}.js`, 'text/javascript; charset=utf-8', () => loadScript(SCRIPTS[name])),
    file(`/assets/${name}.css`, 'text/css; charset=utf-8', readStyles(STYLES[name])),
  ])
  return [
    file('/', 'text/html; charset=utf-8', () => catalogue().text),
    file('/docs', 'text/html; charset=utf-8', () => reference().text),
    ...assets,
    file('/assets/icon.svg', 'image/svg+xml', read(['icon.svg'])),
  ]
}

function file(path: string, mediaType: string, body: () => string | Promise<string>) {
  return { path, mediaType, body }
}

function read(files: readonly string[]): () => string {
  const text = files.map(name => readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8')).join('')
  return () => text
}

/** Without the comments and the indentation, which are a third of the bytes. */
function readStyles(files: readonly string[]): () => string {
  const text = read(files)()
    .replaceAll(/\/\*.*?\*\/\n?/gs, '')
    .replaceAll(/(?<=[{};,]|\n)\s+/g, '')
  return () => text
}

interface LayoutOptions {
  readonly title: string
  readonly environment: Environment
  readonly content: Html
  /** The link in the bar to the other page. */
  readonly otherPage: Html
  /** The name of the page's script and style sheet. */
  readonly assets: string
  /** For search engines and previews of links. */
  readonly description: string
  /** Controls in the bar, before and after its links. */
  readonly search?: Html
  readonly tools?: Html
  /** The table of contents, beside the content. */
  readonly navigation?: Html
}

function renderLayout(options: LayoutOptions): Html {
  const { title, environment, content, otherPage, assets, description, search, tools, navigation } = options
  // Relative addresses, because a proxy may serve the pages below any prefix.
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#fefdfc" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#161513" media="(prefers-color-scheme: dark)">
<meta name="description" content="${description}">
<title>${title}</title>
<link rel="icon" href="./assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="./assets/${assets}.css">
<script type="module" src="./assets/${assets}.js"></script>
</head>
<body>
<a class="button skip" href="#content">Skip to the content</a>
<header id="bar"><div class="row"><a class="brand row" href="./"><img src="./assets/icon.svg" alt="" width="24" height="24"><span>Animal Store</span></a><span class="badges row"><span class="environment ${environment}">${environment}</span><span class="reads environment-note">read-only</span></span>
${search}<nav aria-label="Site">${otherPage}<a href="./openapi.json">OpenAPI</a></nav>${tools}</div></header>
${navigation}
<main id="content">${content}</main>
</body>
</html>
`
}
