// What a person sees in a browser: the welcome page and the API reference, served from the package itself.

import { readFileSync } from 'node:fs'
import type { Environment } from '../api-key.ts'
import { type Html, html } from './html.ts'
import { type ApiDescription, reference } from './reference.ts'

export interface PageOptions {
  readonly environment: Environment
  readonly document: () => ApiDescription
}

export function pages({ environment, document }: PageOptions) {
  return [
    page('/', () => layout('Animal Store', environment, welcome(environment))),
    page('/docs', () => layout('Animal Store API reference', environment, reference(document()))),
    asset('/docs/style.css', 'text/css; charset=utf-8', 'style.css'),
    asset('/docs/icon.svg', 'image/svg+xml', 'icon.svg'),
    asset('/docs/try-it.js', 'text/javascript; charset=utf-8', 'try-it.js'),
  ]
}

function page(path: string, body: () => Html) {
  return { path, mediaType: 'text/html; charset=utf-8', body: () => body().text }
}

function asset(path: string, mediaType: string, file: string) {
  const text = readFileSync(new URL(`./browser/${file}`, import.meta.url), 'utf8')
  return { path, mediaType, body: () => text }
}

function layout(title: string, environment: Environment, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/style.css">
<script type="module" src="/docs/try-it.js"></script>
</head>
<body>
<header class="bar"><a class="brand" href="/">Animal Store</a><span class="environment ${environment}">${environment}</span>
<nav><a href="/docs">API reference</a><a href="/openapi.json">OpenAPI</a></nav></header>
<main>${content}</main>
</body>
</html>
`
}

function welcome(environment: Environment): Html {
  return html`<section class="welcome">
<h1>Animal Store</h1>
<p>A store’s catalogue of animals over HTTP. This is the <strong>${environment}</strong> environment, and it is running.</p>
<p><a class="button" href="/docs">Read the API reference</a></p>
<ul>
<li><a href="/openapi.json">The OpenAPI 3.1 document</a>, for generators and other tools</li>
<li><a href="/readyz">Readiness</a> and <a href="/livez">liveness</a>, for whoever runs this</li>
</ul>
</section>`
}
