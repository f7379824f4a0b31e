// The contents of the API reference: search, the section that is in view, and the drawer on small screens.

import { createElement, find } from './elements.ts'

/**
 * The section that crosses a line this far from the top of the screen is in view. A link to a section scrolls its
 * heading above the line, and even the shortest section then ends below the line.
 */
const LINE_PX = 150

/** The search shows at most this many parts of a section. */
const MAX_PARTS = 6

interface Entry {
  readonly link: HTMLAnchorElement
  readonly item: HTMLElement
  readonly section: HTMLElement
  /** All text of the section, with its code. */
  readonly text: string
  /** The parameters, attributes and errors of the section. */
  readonly parts: readonly Part[]
}

interface Part {
  readonly id: string
  readonly title: string
  readonly text: string
}

export function enableContents(): void {
  const contents = find('#contents', HTMLElement)
  const search = find('#search', HTMLInputElement)
  const noMatch = find('#no-match', HTMLElement)
  const entries = findEntries(contents)

  function showMatches(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const matches = ({ text }: { readonly text: string }) => words.every(word => text.includes(word))
    for (const entry of entries) {
      entry.item.hidden = !matches(entry)
      entry.item.querySelector('ul')?.remove()
      const parts = words.length === 0 ? [] : entry.parts.filter(matches).slice(0, MAX_PARTS)
      if (parts.length > 0) entry.item.append(renderParts(parts))
    }
    for (const heading of contents.querySelectorAll('h2'))
      heading.hidden = !heading.nextElementSibling?.querySelector('li:not([hidden])')
    noMatch.textContent = entries.every(({ item }) => item.hidden) ? 'Nothing matches.' : ''
  }

  /** Prefers what has this name, then what has it in its name, to what has it in its text. */
  function openFirstMatch(): void {
    const links = [...contents.querySelectorAll<HTMLAnchorElement>('li:not([hidden]) > a')]
    const query = search.value.trim().toLowerCase()
    const named = links.filter(({ textContent }) => textContent.toLowerCase().includes(query))
    const link = named.find(({ textContent }) => textContent.length === query.length) ?? named[0] ?? links[0]
    if (query !== '') link?.click()
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
    if (target instanceof Element && target.closest('a') !== null) closeDrawer(contents)
  })
  // On a wide screen the contents are not a drawer.
  matchMedia('(width >= 62.5rem)').addEventListener('change', () => closeDrawer(contents))
  markCurrent(entries)
}

function findEntries(contents: HTMLElement): Entry[] {
  return [...contents.querySelectorAll('a')].map(link => {
    const section = find(link.hash, HTMLElement)
    const parts = [...section.querySelectorAll<HTMLElement>('[data-title]')].map(part => ({
      id: part.id,
      title: part.dataset.title ?? '',
      text: part.textContent.toLowerCase(),
    }))
    return {
      link,
      section,
      item: link.closest('li') ?? link,
      text: `${link.textContent} ${section.textContent}`.toLowerCase(),
      parts,
    }
  })
}

function renderParts(parts: readonly Part[]): HTMLElement {
  const items = parts.map(({ id, title }) =>
    createElement('li', {}, createElement('a', { href: `#${id}` }, title)),
  )
  return createElement('ul', {}, ...items)
}

function closeDrawer(contents: HTMLElement): void {
  if (contents.matches(':popover-open')) contents.hidePopover()
}

/** Marks the section that crosses a line just below what sticks to the top of the screen. */
function markCurrent(entries: readonly Entry[]): void {
  let observer: IntersectionObserver | undefined

  function observe(): void {
    observer?.disconnect()
    observer = new IntersectionObserver(showCurrent, {
      rootMargin: `-${LINE_PX}px 0px ${LINE_PX + 1 - innerHeight}px 0px`,
    })
    for (const { section } of entries) observer.observe(section)
  }

  function showCurrent(changes: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of changes) {
      const link = entries.find(({ section }) => section === target)?.link
      if (isIntersecting) link?.setAttribute('aria-current', 'location')
      else link?.removeAttribute('aria-current')
    }
  }

  addEventListener('resize', observe)
  observe()
}
