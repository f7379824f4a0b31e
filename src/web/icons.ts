// The icons of the pages: simple line drawings on a grid of 16 units. They are decoration, so assistive technology
// ignores them; the control around an icon has a name of its own.

import { type Html, html } from './html.ts'

const PATHS = {
  plus: 'M8 3v10M3 8h10',
  more: 'M3.2 8h.01M8 8h.01M12.8 8h.01',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14',
  first: 'M8 4 4 8l4 4M12.5 4l-4 4 4 4',
  previous: 'M10 4 6 8l4 4',
  up: 'M8 13V3.5M4 7.5l4-4 4 4',
  next: 'M6 4l4 4-4 4',
  download: 'M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  link: 'M6.5 9.5l3-3M7.5 4.5l1-1a2.8 2.8 0 0 1 4 4l-1 1M8.5 11.5l-1 1a2.8 2.8 0 0 1-4-4l1-1',
  check: 'M3 8.5 6.5 12 13 4.5',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8Z',
} as const

export function icon(name: keyof typeof PATHS): Html {
  return html`<svg class="icon icon-${name}" viewBox="0 0 16 16" aria-hidden="true"><path d="${PATHS[name]}"></path></svg>`
}

/** The illustration of an empty list: a sleeping cat, drawn with one line. */
export const SLEEPING_CAT = html`<svg class="icon illustration" viewBox="0 0 160 80" aria-hidden="true"><path d="M4 70h34c-9-4-14-12-12-23 1-7 2-13 1-22 5 1 9 4 12 8 5-1 10-1 15 0 3-4 7-7 12-8-1 6-1 11 1 16 13-9 30-12 44-6 20 8 27 22 21 33-3 5-10 5-13 1M38 70h74M40 47c2 2 4 2 6 0M54 47c2 2 4 2 6 0M132 68c9 4 20 3 24-7"></path></svg>`
