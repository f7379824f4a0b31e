// The HTML of the catalogue page. Most parts are hidden until browser/catalogue.ts shows them.

import { STATUSES } from '../animal.ts'
import { type Environment, KEY_PREFIX } from '../api-key.ts'
import { PAGE_LIMIT } from '../page.ts'
import { type Html, html } from './html.ts'
import { icon, SLEEPING_CAT } from './icons.ts'

const PAGE_SIZES = [10, PAGE_LIMIT.default, 50, PAGE_LIMIT.maximum]

const SHORTCUTS: readonly (readonly [keys: readonly string[], action: string])[] = [
  [['n'], 'New animal'],
  [['/'], 'Search, or go to an id'],
  [['j', '↓'], 'Next animal'],
  [['k', '↑'], 'Previous animal'],
  [[']'], 'Next page'],
  [['['], 'Previous page'],
  [['f'], 'Filter by status'],
  [['o'], 'Oldest or newest first'],
  [['c'], 'Copy the link to the animal'],
  [['Esc'], 'Close the panel'],
  [['?'], 'Show this list'],
]

/** The search in the bar, before the links of all pages. */
export function renderCatalogueSearch(): Html {
  return html`<form id="search" role="search" hidden><label class="visually-hidden" for="search-field">Search or id</label>${icon('search')}<input id="search-field" type="search" autocomplete="off" spellcheck="false" placeholder="Search or id" aria-keyshortcuts="/" aria-describedby="search-hint"><kbd aria-hidden="true">/</kbd><div id="search-hint" class="hint" role="status"></div></form>`
}

/** The buttons in the bar, after the links of all pages. */
export function renderCatalogueTools(): Html {
  return html`<div id="tools" hidden>
<button class="new-animal primary" type="button" aria-keyshortcuts="n">${icon('plus')}<span>New animal</span><kbd aria-hidden="true">n</kbd></button>
<button id="more" class="icon-button" type="button" popovertarget="menu" aria-label="More" title="More">${icon('more')}</button>
<div id="menu" popover>
<a href="./docs">API reference</a>
<a href="./openapi.json">OpenAPI document</a>
<button id="show-shortcuts" type="button" popovertarget="menu" popovertargetaction="hide">Keyboard shortcuts<kbd aria-hidden="true">?</kbd></button>
<hr>
<p id="key-in-use" class="hint"></p>
<button id="sign-out" type="button" popovertarget="menu" popovertargetaction="hide">Sign out</button>
</div>
</div>`
}

export function renderCatalogue(environment: Environment): Html {
  return html`<noscript><p class="card">This page needs JavaScript. Programs can use the API at <code>/v1/pets</code>: see the <a href="./docs">API reference</a>.</p></noscript>
${renderSignIn(environment)}
<section id="catalogue" aria-labelledby="title" hidden>
${renderStock()}
<div id="workspace">
<div id="list">
${renderToolbar()}
<div class="progress" aria-hidden="true"></div>
<table aria-labelledby="title" aria-busy="true"><thead><tr><th id="id-column" class="number" scope="col">Id</th><th scope="col">Name</th><th class="number" scope="col">Category</th><th scope="col">Status</th></tr></thead>
<tbody id="rows"></tbody></table>
${renderListMessage()}
<nav id="pager" class="row" aria-label="Pages"><a id="first" class="button quiet" data-page aria-disabled="true">${icon('first')}<span>First</span></a><a id="previous" class="button quiet" data-page rel="prev" aria-disabled="true">${icon('previous')}<span>Previous</span></a>
<a id="next" class="button quiet" data-page rel="next" aria-disabled="true"><span>Next</span>${icon('next')}</a>
<button class="new-animal primary" type="button" aria-label="New animal">${icon('plus')}New</button></nav>
</div>
${renderPanel()}
</div>
</section>
${renderShortcuts()}
<div id="notices">${['connection', 'export', 'message'].map(name => html`<div id="${name}-notice" class="notice row" role="status" hidden><span></span><button class="link" type="button" hidden></button></div>`)}</div>`
}

function renderSignIn(environment: Environment): Html {
  const other = environment === 'production' ? 'staging' : 'production'
  return html`<section id="sign-in" class="card" aria-labelledby="sign-in-title" data-environment="${environment}" data-own-prefix="${KEY_PREFIX[environment]}" data-other-environment="${other}" data-other-prefix="${KEY_PREFIX[other]}" hidden>
<h1 id="sign-in-title" tabindex="-1">Sign in</h1>
<p class="hint">This is the <strong>${environment}</strong> catalogue. Sign in with an API key. <a href="./docs#authentication">How do I get a key?</a></p>
<form>
<label class="label" for="key">API key</label>
<div class="row"><input id="key" name="key" type="password" required autocomplete="off" spellcheck="false" placeholder="${KEY_PREFIX[environment]}…" aria-describedby="sign-in-problem"><button id="show-key" type="button" aria-controls="key">Show key</button></div>
<p id="sign-in-problem" class="problem" role="alert"></p>
<div class="check row"><input id="remember" type="checkbox" aria-describedby="remember-hint"><label for="remember">Remember on this device</label></div>
<p id="remember-hint" class="hint"><span>The key is forgotten when you close the tabs of this catalogue.</span><span class="warning">Everybody who uses this browser can then see the catalogue and add to it, until you sign out. Leave this off on a shared computer.</span></p>
<button class="primary">Sign in</button>
</form>
</section>`
}

/** The filter is the legend of the bar beside it, and has the numbers. */
function renderStock(): Html {
  const kinds = [['', 'All'], ...STATUSES.map(status => [status, status]), ['none', 'no status']] as const
  return html`<section id="stock" class="row" aria-label="Stock">
<h1 id="title" class="visually-hidden" tabindex="-1">Animals</h1>
<div id="filter" class="row" role="group" aria-label="Filter by status">${kinds.map(([kind = '', label = '']) => html`<button type="button" class="quiet ${kind || 'all'}" data-status="${kind}" aria-pressed="${String(kind === '')}"${kind === '' && html` aria-keyshortcuts="f"`}>${label} <b></b></button>`)}</div>
<svg id="stock-bar" viewBox="0 0 1000 8" preserveAspectRatio="none" role="img" aria-label="The animals have not been counted yet.">${[...STATUSES, 'none'].map(kind => html`<rect class="${kind}" x="0" y="0" width="0" height="8"></rect>`)}</svg>
</section>`
}

function renderToolbar(): Html {
  return html`<div id="toolbar" class="row">
<p id="list-status" class="hint"><span role="status"></span> <button id="stop-search" class="link" type="button" hidden></button> <button id="clear-search" class="link" type="button" hidden>Clear</button></p>
<div id="view" class="row">
<div role="group" aria-label="Order" class="row"><button id="newest" class="quiet" type="button" aria-pressed="true" aria-keyshortcuts="o">Newest first</button><button id="oldest" class="quiet" type="button" aria-pressed="false">Oldest first</button></div>
<select id="limit" aria-label="Animals per page" title="Animals per page">${PAGE_SIZES.map(size => html`<option>${size}</option>`)}</select>
<button id="export" class="icon-button" type="button" aria-label="Download CSV" title="Download this list as CSV. Names that a spreadsheet would run as a formula get a leading apostrophe.">${icon('download')}</button>
</div>
</div>`
}

function renderListMessage(): Html {
  return html`<div id="list-message" hidden>${SLEEPING_CAT}<h2></h2><p></p>
<div class="actions row"><a class="button" data-page href="./"></a><button class="new-animal primary" type="button">${icon('plus')}New animal</button></div></div>`
}

/** The details of one animal, or the form for a new one. */
function renderPanel(): Html {
  return html`<aside id="panel" aria-labelledby="details-name" hidden>
${renderDetails()}
<div id="missing" hidden><div class="panel-heading"><h2 id="missing-title" tabindex="-1"></h2>${renderCloseButton()}</div><p class="hint">Animals are never deleted, so the number in this link is wrong.</p></div>
${renderAddForm()}
</aside>
<div id="backdrop" hidden></div>`
}

function renderDetails(): Html {
  return html`<div id="details" hidden>
<div class="panel-heading"><h2 id="details-name" tabindex="-1" dir="auto"></h2>${renderCopyButton('link', 'Copy link', 'link')}${renderCloseButton()}</div>
<p id="not-listed" class="hint" hidden>This animal is not on this page. <button class="link" type="button">Show it in the list</button></p>
<dl>
<div class="row"><dt>Id</dt><dd class="row"><span id="details-id" class="number"></span>${renderCopyButton('id', 'Copy id')}</dd></div>
<div class="row"><dt>Category</dt><dd class="row"><a id="details-category" class="number" data-page></a></dd></div>
<div class="row"><dt>Status</dt><dd class="row"><span id="details-status"></span></dd></div>
<div class="row"><dt>JSON</dt><dd class="row">${renderCopyButton('json', 'Copy JSON')}</dd></div>
</dl>
<pre id="details-json" tabindex="0" aria-label="JSON"></pre>
</div>`
}

function renderAddForm(): Html {
  return html`<div id="add-animal" hidden>
<div class="panel-heading"><h2 id="add-title">New animal</h2><span id="added-count" class="hint"></span>${renderCloseButton()}</div>
<form novalidate>
<fieldset>
<label class="label" for="name">Name</label>
<input id="name" name="name" autocomplete="off" aria-describedby="name-hint">
<p id="name-hint" class="hint" data-hint="As customers know it."></p>
<label class="label" for="category">Category</label>
<input id="category" name="category" inputmode="numeric" autocomplete="off" aria-describedby="category-hint">
<p id="category-hint" class="hint" data-hint="The number of the category, such as 7."></p>
<div id="new-status" role="radiogroup" aria-labelledby="new-status-label"><span id="new-status-label" class="label">Status</span>
<div class="choices">${['', ...STATUSES].map(status => html`<label class="row"><input type="radio" name="status" value="${status}"${status === '' && html` checked`}><span class="status ${status || 'none'}">${status || 'no status'}</span></label>`)}</div></div>
<p class="hint">An animal cannot be changed after it was added.</p>
<p id="add-problem" class="problem" role="alert"></p>
<div class="actions row"><button class="primary" type="submit">Add</button><div class="check row"><input id="add-another" type="checkbox"><label for="add-another">Add another</label></div></div>
</fieldset>
</form>
</div>`
}

function renderCloseButton(): Html {
  return html`<button class="close icon-button" type="button" aria-label="Close" title="Close">${icon('close')}</button>`
}

function renderCopyButton(source: string, label: string, sign: 'copy' | 'link' = 'copy'): Html {
  return html`<button id="copy-${source}" class="icon-button copy" type="button" aria-label="${label}" title="${label}"${source === 'link' && html` aria-keyshortcuts="c"`}>${icon(sign)}${icon('check')}</button>`
}

function renderShortcuts(): Html {
  return html`<dialog id="shortcuts" aria-labelledby="shortcuts-title">
<form method="dialog"><h2 id="shortcuts-title" tabindex="-1" autofocus>Keyboard shortcuts</h2><button class="icon-button" aria-label="Close" title="Close">${icon('close')}</button></form>
<dl>${SHORTCUTS.map(([keys, action]) => html`<div><dt>${action}</dt><dd class="row">${keys.map(key => html`<kbd>${key}</kbd>`)}</dd></div>`)}</dl>
</dialog>`
}
