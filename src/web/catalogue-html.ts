// The HTML of the catalogue page. Most parts are hidden until browser/catalogue.ts shows them.

import { STATUS_NAMES, STATUSES, type StatusName } from '../animal.ts'
import { type Environment, KEY_PREFIX, READ_ONLY_PREFIX } from '../api-key.ts'
import { PAGE_LIMIT } from '../page.ts'
import { type Html, html } from './html.ts'
import { icon, SLEEPING_CAT } from './icons.ts'

const PAGE_SIZES = [10, PAGE_LIMIT.default, 50, PAGE_LIMIT.maximum]

interface Shortcut {
  readonly keys: readonly string[]
  readonly action: string
  /** A key that can only read does not have it. */
  readonly writes?: true
}

const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['n'], action: 'New animal', writes: true },
  { keys: ['/'], action: 'Search, or go to an id' },
  { keys: ['j', '↓'], action: 'Next animal' },
  { keys: ['k', '↑'], action: 'Previous animal' },
  { keys: [']'], action: 'Next page' },
  { keys: ['['], action: 'Previous page' },
  { keys: ['s', '1–4'], action: 'Set the status', writes: true },
  { keys: ['z'], action: 'Undo the last change of status', writes: true },
  { keys: ['x'], action: 'Mark, to set the status of several', writes: true },
  { keys: ['e'], action: 'Edit', writes: true },
  { keys: ['f'], action: 'Filter by status' },
  { keys: ['o'], action: 'Oldest or newest first' },
  { keys: ['c'], action: 'Copy the link to the animal' },
  { keys: ['Esc'], action: 'Close the panel or the question in front' },
  { keys: ['?'], action: 'Show this list' },
]

/** The search in the bar, before the links of all pages. */
export function renderCatalogueSearch(): Html {
  return html`<form id="search" role="search" hidden><label class="visually-hidden" for="search-field">Search or id</label>${icon('search')}<input id="search-field" type="search" autocomplete="off" spellcheck="false" placeholder="Search or id" aria-keyshortcuts="/" aria-describedby="search-hint"><kbd aria-hidden="true">/</kbd><div id="search-hint" class="hint" role="status"></div></form>`
}

/** The buttons in the bar, after the links of all pages. */
export function renderCatalogueTools(): Html {
  return html`<div id="tools" hidden>
<button class="new-animal primary writes" type="button" aria-keyshortcuts="n">${icon('plus')}<span>New animal</span><kbd aria-hidden="true">n</kbd></button>
<button id="more" class="icon-button" type="button" popovertarget="menu" aria-label="More" title="More">${icon('more')}</button>
<div id="menu" popover>
<a href="./docs">API reference</a>
<a href="./openapi.json">OpenAPI document</a>
<button id="show-shortcuts" type="button" popovertarget="menu" popovertargetaction="hide">Keyboard shortcuts<kbd aria-hidden="true">?</kbd></button>
<label>Single-key shortcuts<input id="single-keys" type="checkbox" role="switch" checked></label>
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
${renderInventory()}
<div id="workspace">
<div id="list">
${renderMarks()}
${renderToolbar()}
<div class="progress" aria-hidden="true"></div>
<table aria-labelledby="title" aria-busy="true"><thead><tr><th id="id-column" class="number" scope="col">Id</th><th scope="col">Name</th><th class="number" scope="col">Category</th><th scope="col">Status</th></tr></thead>
<tbody id="rows"></tbody></table>
${renderListMessage()}
</div>
${renderPanel()}
<nav id="pager" class="row" aria-label="Pages"><a id="first" class="button quiet" data-page aria-disabled="true">${icon('first')}<span>First</span></a><a id="previous" class="button quiet" data-page rel="prev" aria-disabled="true">${icon('previous')}<span>Previous</span></a>
<span id="page-ids" class="hint"></span>
<a id="next" class="button quiet" data-page rel="next" aria-disabled="true"><span>Next</span>${icon('next')}</a>
<button class="new-animal primary writes" type="button" aria-label="New animal">${icon('plus')}New</button></nav>
</div>
</section>
${renderShortcuts()}
<p id="announcement" class="visually-hidden" role="status"></p>
<div id="notices">${['connection', 'export', 'message'].map(name => html`<div id="${name}-notice" class="notice row" role="status" hidden><span></span><b aria-hidden="true"></b><button class="link" type="button" hidden></button></div>`)}</div>`
}

function renderSignIn(environment: Environment): Html {
  const other = environment === 'production' ? 'staging' : 'production'
  return html`<section id="sign-in" class="card" aria-labelledby="sign-in-title" data-environment="${environment}" data-own-prefixes="${KEY_PREFIX[environment]} ${READ_ONLY_PREFIX[environment]}" data-read-only-prefixes="${Object.values(READ_ONLY_PREFIX).join(' ')}" data-other-environment="${other}" data-other-prefixes="${KEY_PREFIX[other]} ${READ_ONLY_PREFIX[other]}" hidden>
<h1 id="sign-in-title" tabindex="-1">Sign in</h1>
<p class="hint">This is the <strong>${environment}</strong> catalogue. Sign in with an API key. <a href="./docs#authentication">How do I get a key?</a></p>
<form>
<label class="label" for="key">API key</label>
<div class="row"><input id="key" name="key" type="password" required autocomplete="off" spellcheck="false" placeholder="${KEY_PREFIX[environment]}…" aria-describedby="sign-in-problem"><button id="show-key" type="button" aria-controls="key">Show key</button></div>
<p id="sign-in-problem" class="problem" role="alert"></p>
<div class="check row"><input id="remember" type="checkbox" aria-describedby="remember-hint"><label for="remember">Remember on this device</label></div>
<p id="remember-hint" class="hint"><span>The key is forgotten when you close the tabs of this catalogue.</span><span class="warning">Everybody who uses this browser can then see, change and remove animals, until you sign out. Leave this off on a shared computer.</span></p>
<button class="primary">Sign in</button>
</form>
</section>`
}

/** The filter is the legend of the bar beside it, and has the numbers. */
function renderInventory(): Html {
  const choices = [['', 'All'], ...STATUS_NAMES.map(name => [name, labelOf(name)])] as const
  return html`<section id="inventory" class="row" aria-label="Inventory">
<h1 id="title" class="visually-hidden" tabindex="-1">Animals</h1>
<div id="filter" class="row" role="group" aria-label="Filter by status">${choices.map(([status = '', label = '']) => html`<button type="button" class="quiet ${status || 'all'}" data-status="${status}" aria-pressed="${String(status === '')}"${status === '' && html` aria-keyshortcuts="f"`}>${label} <b></b></button>`)}</div>
<svg id="inventory-bar" viewBox="0 0 1000 8" preserveAspectRatio="none" role="img" aria-label="The animals have not been counted yet.">${STATUS_NAMES.map(status => html`<rect class="${status}" x="0" y="0" width="0" height="8"></rect>`)}</svg>
</section>`
}

function renderToolbar(): Html {
  return html`<div id="toolbar" class="row">
<div id="list-line" class="row"><p id="list-status" class="hint"><span role="status"></span> <span id="search-progress" aria-hidden="true"></span> <button id="stop-search" class="link" type="button" hidden></button> <button id="clear-search" class="link" type="button" hidden>Clear</button></p>
<button id="new-animals" class="quiet" type="button" hidden><span></span>${icon('up')}</button></div>
<div id="view" class="row">
<div role="group" aria-label="Order" class="row"><button id="newest" class="quiet" type="button" aria-pressed="true" aria-keyshortcuts="o">Newest first</button><button id="oldest" class="quiet" type="button" aria-pressed="false">Oldest first</button></div>
<select id="limit" aria-label="Animals per page" title="Animals per page">${PAGE_SIZES.map(size => html`<option>${size}</option>`)}</select>
<button id="export" class="icon-button" type="button" aria-label="Download CSV" title="Download this list as CSV. Names that a spreadsheet would run as a formula get a leading apostrophe.">${icon('download')}</button>
</div>
</div>`
}

/** Covers the line above the table, so that no row moves. An outcome covers only the left part of the line. */
function renderMarks(): Html {
  return html`<div id="marks" class="writes" hidden><div class="row"><p></p>
<div class="row" role="group" aria-label="Set the status">${STATUS_NAMES.map((status, index) => html`<button class="status-button ${status}" type="button">${labelOf(status)}<kbd aria-hidden="true">${String(index + 1)}</kbd></button>`)}</div>
<button class="undo link" type="button" aria-keyshortcuts="z" hidden>Undo</button><button class="retry link" type="button" hidden>Try again</button><button class="clear link" type="button">Clear</button></div></div>`
}

function labelOf(status: StatusName): string {
  return status === 'none' ? 'no status' : status
}

function renderListMessage(): Html {
  return html`<div id="list-message" hidden>${SLEEPING_CAT}<h2></h2><p></p>
<div class="actions row"><a class="button" data-page href="./"></a><button class="new-animal primary writes" type="button">${icon('plus')}New animal</button></div></div>`
}

/** The details of one animal, or the form for a new one. */
function renderPanel(): Html {
  return html`<aside id="panel" aria-labelledby="details-name" hidden>
${renderDetails()}
<div id="missing" hidden><div class="panel-heading"><h2 id="missing-title" tabindex="-1"></h2>${renderCloseButton()}</div><p id="missing-hint" class="hint"></p></div>
${renderAddForm()}
${renderEditForm()}
</aside>
<div id="backdrop" hidden></div>`
}

function renderDetails(): Html {
  return html`<div id="details" hidden>
<div class="panel-heading"><h2 id="details-name" tabindex="-1" dir="auto"></h2>${renderCopyButton('link', 'Copy link', 'link')}${renderCloseButton()}</div>
<p id="not-listed" class="hint" hidden>This animal is not on this page. <button class="link" type="button">Show it in the list</button></p>
<dl>
<div class="row"><dt>Id</dt><dd class="row"><span id="details-id" class="number"></span>${renderCopyButton('id', 'Copy id')}</dd></div>
<div class="row"><dt>Category</dt><dd class="row"><a id="details-category" class="number" data-page></a><button id="edit" class="writes" type="button" aria-keyshortcuts="e">Edit</button></dd></div>
<div class="row reads"><dt>Status</dt><dd class="row"><span id="details-status"></span></dd></div>
</dl>
<div id="status" class="writes"><div class="row" role="group" aria-label="Status">${STATUS_NAMES.map(status => html`<button class="status-button ${status}" type="button" data-status="${status}" aria-pressed="false">${labelOf(status)}</button>`)}</div>
<p id="status-note" class="hint"><span></span> <button id="undo" class="link" type="button" aria-keyshortcuts="z" hidden>Undo</button><button id="retry" class="link" type="button" hidden>Try again</button></p></div>
<dl><div class="row"><dt>JSON</dt><dd class="row">${renderCopyButton('json', 'Copy JSON')}</dd></div></dl>
<pre id="details-json" tabindex="0" role="region" aria-label="JSON"></pre>
<div id="removal" class="writes"><button id="remove" class="danger" type="button">Remove</button>
<div id="question" role="group" aria-labelledby="question-text" hidden><p id="question-text"></p><div class="row"><button id="keep" type="button">Keep</button><button id="confirm-removal" class="danger" type="button">Remove</button></div></div></div>
</div>`
}

/** The name and the category of an animal. The ids begin with the prefix. */
function renderFields(prefix: string, besides: (field: string) => Html | undefined = () => undefined): Html {
  return html`<label class="label" for="${prefix}name">Name</label>
<input id="${prefix}name" name="name" autocomplete="off" aria-describedby="${prefix}name-hint">
<p id="${prefix}name-hint" class="hint" data-hint="As customers know it."></p>
${besides('name')}<label class="label" for="${prefix}category">Category</label>
<input id="${prefix}category" name="category" inputmode="numeric" autocomplete="off" aria-describedby="${prefix}category-hint">
<p id="${prefix}category-hint" class="hint" data-hint="The number of the category, such as 7."></p>
${besides('category')}`
}

function renderEditForm(): Html {
  return html`<div id="edit-animal" hidden>
<div class="panel-heading"><h2 id="edit-title"></h2>${renderCloseButton()}</div>
<form novalidate tabindex="-1">
<fieldset>
${renderFields('edit-', field => html`<div id="edit-${field}-conflict" class="conflict" role="group" aria-label="${field}, changed by somebody else" hidden><span role="alert"></span><div class="row"><button type="button">Save mine</button><button type="button">Take theirs</button></div></div>`)}
<p id="edit-note" class="hint" role="status"></p>
<p id="edit-problem" class="problem" role="alert"></p>
<div class="actions row"><button class="primary" type="submit">Save</button><button id="cancel-edit" class="quiet" type="button">Cancel</button></div>
</fieldset>
</form>
</div>`
}

function renderAddForm(): Html {
  return html`<div id="add-animal" hidden>
<div class="panel-heading"><h2 id="add-title">New animal</h2><span id="added-count" class="hint"></span>${renderCloseButton()}</div>
<form novalidate tabindex="-1">
<fieldset>
${renderFields('')}
<div id="new-status" role="radiogroup" aria-labelledby="new-status-label"><span id="new-status-label" class="label">Status</span>
<div class="choices">${[...STATUSES, ''].map(status => html`<label class="row"><input type="radio" name="status" value="${status}"${status === '' && html` checked`}><span class="status ${status || 'none'}">${status || 'no status'}</span></label>`)}</div></div>
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
<dl>${SHORTCUTS.map(({ keys, action, writes }) => html`<div${writes && html` class="writes"`}><dt>${action}</dt><dd class="row">${keys.map(key => html`<kbd>${key}</kbd>`)}</dd></div>`)}</dl>
<p class="hint">You can turn off shortcuts of a single key in the menu.</p>
</dialog>`
}
