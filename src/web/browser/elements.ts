// Elements of the page, found by what they are and made without any HTML: what an animal is called is text.

/** The one element that fits; the page is broken without it. */
export function find<Kind extends Element>(selector: string, kind: new () => Kind): Kind {
  const found = document.querySelector(selector)
  if (!(found instanceof kind)) throw new Error(`there is no ${selector}`)
  return found
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

/** A link that leads nowhere is no link, but stays where it is. */
export function lead(link: HTMLAnchorElement, address: string | undefined): void {
  if (address === undefined) {
    link.removeAttribute('href')
    link.setAttribute('aria-disabled', 'true')
  } else {
    link.href = address
    link.removeAttribute('aria-disabled')
  }
}

export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
}
