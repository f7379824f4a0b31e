// The contents of the API reference: search, the section that is in view, and the drawer on small screens.

import { find } from './elements.ts'

/**
 * The section that crosses a line this far from the top of the screen is in view. A link to a section scrolls its
 * heading above the line, and even the shortest section then ends below the line.
 */
const LINE_PX = 150

interface Entry {
  readonly link: HTMLAnchorElement
  readonly item: HTMLElement
  readonly section: HTMLElement
  /** What the search looks through. */
  readonly text: string
}

export function enableContents(): void {
  const contents = find('#contents', HTMLElement)
  const search = find('#search', HTMLInputElement)
  const noMatch = find('#no-match', HTMLElement)
  const entries = findEntries(contents)

  function showMatches(): void {
    const words = search.value.toLowerCase().split(/\s+/)
    for (const { item, text } of entries) item.hidden = !words.every(word => text.includes(word))
    for (const heading of contents.querySelectorAll('h2'))
      heading.hidden = !heading.nextElementSibling?.querySelector('li:not([hidden])')
    noMatch.textContent = entries.every(({ item }) => item.hidden) ? 'Nothing matches.' : ''
  }

  search.addEventListener('input', showMatches)
  search.addEventListener('keydown', ({ key }) => {
    // Enter opens the first match.
    if (key === 'Enter' && search.value.trim() !== '') entries.find(({ item }) => !item.hidden)?.link.click()
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
    const texts = [...section.querySelectorAll('.text')].map(part => part.textContent)
    return {
      link,
      section,
      item: link.closest('li') ?? link,
      text: `${link.textContent} ${texts.join(' ')}`.toLowerCase(),
    }
  })
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
