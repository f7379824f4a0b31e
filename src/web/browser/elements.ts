// Finds and creates elements of the page. Content is always set as text, never as HTML, because names may contain markup.

/** Throws if the page, or this part of it, has no such element. */
export function find<Kind extends Element>(selector: string, kind: new () => Kind, within?: Element): Kind {
  const found = (within ?? document).querySelector(selector)
  if (!(found instanceof kind)) throw new Error(`the page has no element ${selector}`)
  return found
}

/** A status is shown as a dot and a word, so that colour is never the only sign. */
export function createStatusBadge(status = 'none'): HTMLElement {
  return createElement('span', { class: `status ${status}` }, status === 'none' ? 'no status' : status)
}

export function createElement<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** A screen reader would announce the same text again if it were set again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** What had the focus has disappeared, or has been left. */
export function isFocusLost(): boolean {
  const { activeElement } = document
  return activeElement === document.body || activeElement?.checkVisibility() !== true
}

/** A hidden or disabled element loses the focus, and the keyboard would start at the top of the page again. */
export function keepFocus(element: Element): void {
  if (document.activeElement === element) find('#title', HTMLElement).focus({ preventScroll: true })
}

/** With these keys the browser opens a link in a new tab or window. */
export function opensNewTab({ ctrlKey, metaKey, shiftKey }: MouseEvent): boolean {
  return ctrlKey || metaKey || shiftKey
}
