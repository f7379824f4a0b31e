// The contents of the API reference: search, the section that is in view, and the drawer on small screens.

import { createElement, find } from './elements.ts'

/** The last section that begins above a line this far from the top of the screen is in view. */
const LINE_PX = 150

/** The search shows at most this many parts of a section. */
const MAX_PARTS = 6

/** The samples of the guide are not searched: whoever searches for a language looks for an operation. */
const SEARCHED = '.text, .operation .code, .block:not(.samples)'

/** The descriptions of a section, of a parameter, attribute or header, and of an error. */
const DESCRIPTIONS = '.text > p:not(.target), dd:last-child, td span'

export function enableContents(): void {
  const contents = find('#contents', HTMLElement)
  const search = find('#search', HTMLInputElement)
  const entries = [...contents.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')].map(link => {
    const section = find(link.hash, HTMLElement)
    return {
      link,
      section,
      item: link.closest('li') ?? link,
      sentence: firstSentence(section),
      keywords: section.dataset.keywords?.split(', ') ?? [],
      text: [
        section.dataset.keywords,
        ...[link, ...section.querySelectorAll(SEARCHED)].map(({ textContent }) => textContent),
      ]
        .join(' ')
        .toLowerCase(),
      /** The parameters, attributes, headers and errors of the section. */
      parts: [...section.querySelectorAll<HTMLElement>('[data-title]')].map(part => ({
        id: part.id,
        title: part.dataset.title ?? '',
        sentence: firstSentence(part),
        text: part.textContent.toLowerCase(),
      })),
    }
  })

  function showMatches(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const matches = ({ text }: { readonly text: string }) => words.every(word => text.includes(word))
    for (const { item, parts, text, sentence } of entries) {
      item.hidden = !matches({ text })
      for (const result of item.querySelectorAll(':scope > :not(a)')) result.remove()
      if (words.length === 0) continue
      const found = parts.filter(matches).slice(0, MAX_PARTS)
      item.append(
        createElement('small', {}, sentence),
        createElement(
          'ul',
          {},
          ...found.map(({ id, title, sentence }) =>
            createElement(
              'li',
              {},
              createElement('a', { href: `#${id}` }, title),
              createElement('small', {}, sentence),
            ),
          ),
        ),
      )
    }
    for (const heading of contents.querySelectorAll('h2'))
      heading.hidden = !heading.nextElementSibling?.querySelector('li:not([hidden])')
    const best = bestMatch()
    for (const link of contents.querySelectorAll('a')) link.classList.toggle('best', link === best)
    markCurrent()
    const isEmpty = entries.every(({ item }) => item.hidden)
    find('#no-match', HTMLElement).textContent = isEmpty ? 'Nothing matches.' : ''
  }

  function shownLinks(): HTMLAnchorElement[] {
    return [...contents.querySelectorAll<HTMLAnchorElement>('li:not([hidden]) > a')]
  }

  /**
   * What Enter opens. Prefers what has this name, then what has it as a keyword, then what has it in its name, to what has it
   * in its text.
   */
  function bestMatch(): HTMLAnchorElement | undefined {
    const query = search.value.trim().toLowerCase()
    if (query === '') return undefined
    const links = shownLinks()
    const named = links.filter(({ textContent }) => textContent.toLowerCase().includes(query))
    return (
      named.find(({ textContent }) => textContent.length === query.length) ??
      entries.find(({ keywords }) => keywords.includes(query))?.link ??
      named[0] ??
      links[0]
    )
  }

  function markCurrent(): void {
    const isAbove = ({ section }: { readonly section: HTMLElement }) =>
      section.getBoundingClientRect().top < LINE_PX
    const current = search.value === '' ? (entries.findLast(isAbove) ?? entries[0])?.link : undefined
    for (const { link } of entries) link.ariaCurrent = link === current ? 'location' : null
    // The field for the search scrolls with the contents.
    if (current !== undefined && document.activeElement !== search) showInContents(current)
  }

  /** `scrollIntoView` would also move the place where Tab goes on. */
  function showInContents({ offsetTop, offsetHeight }: HTMLElement): void {
    const { scrollTop, clientHeight } = contents
    const isShown = offsetTop >= scrollTop && offsetTop + offsetHeight <= scrollTop + clientHeight
    if (!isShown) contents.scrollTop = offsetTop - clientHeight / 2
  }

  function closeDrawer(): void {
    if (contents.matches(':popover-open')) contents.hidePopover()
  }

  search.addEventListener('input', showMatches)
  search.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') bestMatch()?.click()
  })
  // The arrow keys move between the search and what it has found.
  contents.addEventListener('keydown', event => {
    const step = event.key === 'ArrowDown' ? 1 : -1
    const stops: HTMLElement[] = [search, ...shownLinks()]
    const index = event.target instanceof HTMLElement ? stops.indexOf(event.target) : -1
    if (index === -1 || !/^Arrow(Down|Up)$/.test(event.key)) return
    event.preventDefault()
    stops[index + step]?.focus()
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
  contents.addEventListener('toggle', () => {
    const current = contents.querySelector<HTMLAnchorElement>('[aria-current]')
    if (contents.matches(':popover-open:not(:focus-within)')) (current ?? search).focus()
  })
  // On a wide screen the contents are not a drawer.
  matchMedia('(width >= 62.5rem)').addEventListener('change', closeDrawer)
  addEventListener('scroll', markCurrent, { passive: true })
  addEventListener('resize', markCurrent)
  markCurrent()
}

function firstSentence(element: Element): string {
  const texts = [...element.querySelectorAll(DESCRIPTIONS)].map(({ textContent }) => textContent)
  const sentences = texts.map(text => /^.*?\.(?=\s|$)/s.exec(text)?.[0])
  return sentences.find(sentence => sentence !== undefined) ?? ''
}
