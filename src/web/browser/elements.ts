// Finds and creates elements of the page. Content is always set as text, never as HTML, because names may contain markup.

/** Throws if the page has no such element. */
export function find<Kind extends Element>(selector: string, kind: new () => Kind): Kind {
  const found = document.querySelector(selector)
  if (!(found instanceof kind)) throw new Error(`the page has no element ${selector}`)
  return found
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

/** Without a URL, the link is disabled but stays visible, so that the other links do not move. */
export function setLink(link: HTMLAnchorElement, url: string | undefined): void {
  if (url === undefined) {
    link.removeAttribute('href')
    link.setAttribute('aria-disabled', 'true')
  } else {
    link.href = url
    link.removeAttribute('aria-disabled')
  }
}

export function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}
