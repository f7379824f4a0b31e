// The HTML of the panel beside the list: the details of one animal, or the form for a new one.

import { STATUSES } from '../animal.ts'
import { type Html, html } from './html.ts'
import { icon } from './icons.ts'

export function renderPanel(): Html {
  return html`<aside id="panel" aria-labelledby="details-name" hidden>
${renderDetails()}
${renderAddForm()}
</aside>
<div id="backdrop" hidden></div>`
}

function renderDetails(): Html {
  return html`<div id="details" hidden>
<div class="panel-heading"><h2 id="details-name" tabindex="-1" dir="auto"></h2>${renderCopyButton('link', 'Copy link', 'link')}${renderCloseButton()}</div>
<span id="details-link" class="visually-hidden" aria-hidden="true"></span>
<p id="not-listed" hidden>This animal is not on this page. <button type="button">Show it in the list</button></p>
<dl>
<div><dt>Id</dt><dd><span id="details-id" class="number"></span>${renderCopyButton('id', 'Copy id')}</dd></div>
<div><dt>Category</dt><dd><span id="details-category" class="number"></span></dd></div>
<div><dt>Status</dt><dd><span id="details-status"></span></dd></div>
</dl>
<div class="json-heading"><h3>JSON</h3>${renderCopyButton('json', 'Copy JSON')}</div>
<pre id="details-json" tabindex="0" aria-label="JSON"></pre>
</div>`
}

function renderAddForm(): Html {
  return html`<div id="add-animal" hidden>
<div class="panel-heading"><h2 id="add-title">New animal</h2><span id="added-count"></span>${renderCloseButton()}</div>
<form novalidate>
<fieldset>
<label for="name">Name</label>
<input id="name" name="name" autocomplete="off" aria-describedby="name-hint">
<p id="name-hint" class="hint" data-hint="As customers know it."></p>
<label for="category">Category</label>
<input id="category" name="category" inputmode="numeric" autocomplete="off" aria-describedby="category-hint">
<p id="category-hint" class="hint" data-hint="The number of the category, such as 7."></p>
<div id="new-status" role="radiogroup" aria-labelledby="new-status-label"><span id="new-status-label" class="label">Status</span>
<div class="choices">${['', ...STATUSES].map(status => html`<label><input type="radio" name="status" value="${status}"${status === '' && html` checked`}><span class="status ${status || 'none'}">${status || 'no status'}</span></label>`)}</div></div>
<p id="add-problem" class="problem" role="alert"></p>
<div class="actions"><button class="primary" type="submit">Add</button><div class="check"><input id="add-another" type="checkbox"><label for="add-another">Add another</label></div></div>
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
