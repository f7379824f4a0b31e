// The contents of the API reference: search, the section that is in view, and the drawer on small screens.

import { createElement, find } from './elements.ts'

/** The last section that begins above a line this far from the top of the screen is in view. */
const LINE_PX = 150

/** The search shows at most this many parts of a section. */
const MAX_PARTS = 6

/** The samples of the guide are not searched: whoever searches for a language looks for an operation. */
const SEARCHED = '.text, .operation .code, .block:not(.samples)'

export function enableContents(): void {
  const contents = find('#contents', HTMLElement)
  const search = find('#search', HTMLInputElement)
  const entries = [...contents.querySelectorAll('a')].map(link => {
    const section = find(link.hash, HTMLElement)
    return {
      link,
      section,
      item: link.closest('li') ?? link,
      text: [link, ...section.querySelectorAll(SEARCHED)]
        .map(({ textContent }) => textContent)
        .join(' ')
        .toLowerCase(),
      /** The parameters, attributes and errors of the section. */
      parts: [...section.querySelectorAll<HTMLElement>('[data-title]')].map(
        ({ id, dataset, textContent }) => ({
          id,
          title: dataset.title ?? '',
          text: textContent.toLowerCase(),
        }),
      ),
    }
  })

  function showMatches(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const matches = ({ text }: { readonly text: string }) => words.every(word => text.includes(word))
    for (const { item, parts, text } of entries) {
      item.hidden = !matches({ text })
      item.querySelector('ul')?.remove()
      const found = words.length === 0 ? [] : parts.filter(matches).slice(0, MAX_PARTS)
      const links = found.map(({ id, title }) => createElement('a', { href: `#${id}` }, title))
      if (links.length > 0)
        item.append(createElement('ul', {}, ...links.map(link => createElement('li', {}, link))))
    }
    for (const heading of contents.querySelectorAll('h2'))
      heading.hidden = !heading.nextElementSibling?.querySelector('li:not([hidden])')
    const isEmpty = entries.every(({ item }) => item.hidden)
    find('#no-match', HTMLElement).textContent = isEmpty ? 'Nothing matches.' : ''
  }

  /** Prefers what has this name, then what has it in its name, to what has it in its text. */
  function openFirstMatch(): void {
    const links = [...contents.querySelectorAll<HTMLAnchorElement>('li:not([hidden]) > a')]
    const query = search.value.trim().toLowerCase()
    const named = links.filter(({ textContent }) => textContent.toLowerCase().includes(query))
    const link = named.find(({ textContent }) => textContent.length === query.length) ?? named[0] ?? links[0]
    if (query !== '') link?.click()
  }

  function markCurrent(): void {
    const isAbove = ({ section }: { readonly section: HTMLElement }) =>
      section.getBoundingClientRect().top < LINE_PX
    const current = entries.findLast(isAbove) ?? entries[0]
    for (const { link } of entries) link.ariaCurrent = link === current?.link ? 'location' : null
  }

  function closeDrawer(): void {
    if (contents.matches(':popover-open')) contents.hidePopover()
  }

  search.addEventListener('input', showMatches)
  search.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') openFirstMatch()
  })
  document.addEventListener('keydown', event => {
    const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    if (!contents.checkVisibility()) contents.showPopover()
    search.focus()
  })
  contents.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a') !== null) closeDrawer()
  })
  // On a wide screen the contents are not a drawer.
  matchMedia('(width >= 62.5rem)').addEventListener('change', closeDrawer)
  addEventListener('scroll', markCurrent, { passive: true })
  addEventListener('resize', markCurrent)
  markCurrent()
}
