// The HTML of the catalogue page. Most parts are hidden until browser/catalogue.ts shows them.

import { NAME_MAX_LENGTH, PAGE_LIMIT, STATUSES } from '../animal.ts'
import { type Environment, KEY_PREFIX } from '../api-key.ts'
import { INT64_MAX, INT64_MIN } from '../json.ts'
import { type Html, html } from './html.ts'

const PAGE_SIZES = [10, PAGE_LIMIT.default, 50, PAGE_LIMIT.maximum]

export function renderCatalogue(environment: Environment): Html {
  return html`<noscript><p class="panel">This page needs JavaScript. Programs can use the API at <code>/v1/pets</code>: see the <a href="./docs">API reference</a>.</p></noscript>
${renderSignIn(environment)}
<section id="catalogue" aria-labelledby="title" hidden>
<div class="heading"><h1 id="title" tabindex="-1">Animals</h1><button id="add" type="button">Add an animal</button></div>
${renderOverview()}
${renderFilters()}
<p id="summary" role="status"></p>
<div id="list">
<table aria-labelledby="title" aria-busy="true"><thead><tr><th scope="col">Name</th><th scope="col">Id</th><th scope="col">Category</th><th scope="col">Status</th></tr></thead>
<tbody id="rows"></tbody></table>
<div id="list-message" class="panel" hidden><h2></h2><p></p><a class="button" href="./">Show the first page</a></div>
</div>
<nav class="pages" aria-label="Pages"><a id="first">First page</a><a id="previous" rel="prev">Previous</a><a id="next" rel="next">Next</a></nav>
</section>
${renderAddDialog()}
<div id="notice" role="status" hidden><span></span> <button id="retry" type="button">Try now</button></div>`
}

function renderSignIn(environment: Environment): Html {
  return html`<section id="sign-in" class="panel" aria-labelledby="sign-in-title" hidden>
<h1 id="sign-in-title">Animal Store</h1>
<p>This is the <strong>${environment}</strong> catalogue. Sign in with an API key. This tab stores the key until you sign out or close the tab.</p>
<form>
<label for="key">API key</label>
<input id="key" name="key" type="password" required autocomplete="off" spellcheck="false" placeholder="${KEY_PREFIX[environment]}…" aria-describedby="sign-in-problem">
<p id="sign-in-problem" class="problem" role="alert"></p>
<button>Sign in</button>
</form>
</section>`
}

function renderOverview(): Html {
  return html`<section class="overview" aria-labelledby="overview-title">
<h2 id="overview-title">Seen in this tab</h2>
<svg id="chart" viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-labelledby="overview-text">${[...STATUSES, 'none'].map(status => html`<rect class="${status}" x="0" y="0" width="0" height="24"></rect>`)}</svg>
<ul id="legend">${[...STATUSES, 'none'].map(status => html`<li class="${status}"><span>${status === 'none' ? 'no status' : status}</span> <b>0</b></li>`)}</ul>
<p id="overview-text"></p>
</section>`
}

function renderFilters(): Html {
  return html`<form id="filters">
<label for="status">Status</label> <select id="status" name="status"><option value="">all</option>${STATUSES.map(status => html`<option>${status}</option>`)}</select>
<label for="limit">Per page</label> <select id="limit" name="limit">${PAGE_SIZES.map(size => html`<option>${size}</option>`)}</select>
</form>`
}

function renderAddDialog(): Html {
  return html`<dialog id="add-dialog" aria-labelledby="add-dialog-title">
<form novalidate>
<h2 id="add-dialog-title">Add an animal</h2>
<fieldset>
<label for="name">Name</label>
<input id="name" name="name" autocomplete="off" aria-describedby="name-rule">
<p id="name-rule" class="rule" data-rule="1 to ${NAME_MAX_LENGTH} characters, not blank."></p>
<label for="category">Category</label>
<input id="category" name="category" inputmode="numeric" autocomplete="off" aria-describedby="category-rule">
<p id="category-rule" class="rule" data-rule="A whole number from ${INT64_MIN} to ${INT64_MAX}."></p>
<label for="new-status">Status</label>
<select id="new-status" name="status"><option value="">none</option>${STATUSES.map(status => html`<option>${status}</option>`)}</select>
<p id="add-problem" class="problem" role="alert"></p>
<div class="actions"><button type="submit">Add</button> <button type="button" class="secondary" id="cancel">Cancel</button></div>
</fieldset>
</form>
</dialog>`
}
