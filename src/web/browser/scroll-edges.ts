// A row of controls that can be scrolled sideways: the edge behind which there is more fades out.

/** The width of a faded edge, as in list.css. */
const FADE_PX = 48

/** Sets `data-more` to the edges behind which there is more. The style sheet fades them. */
export function enableScrollEdges(): void {
  for (const row of document.querySelectorAll<HTMLElement>('.scroll-edges')) {
    const update = () => {
      const hidden = row.scrollWidth - row.clientWidth
      const edges = [row.scrollLeft > 1 && 'start', row.scrollLeft < hidden - 1 && 'end']
      row.dataset.more = edges.filter(Boolean).join(' ')
    }
    row.addEventListener('scroll', update, { passive: true })
    row.addEventListener('focusin', ({ target }) => {
      if (target instanceof HTMLElement) scrollIntoRow(target)
    })
    new ResizeObserver(update).observe(row)
    const content = row.firstElementChild
    if (content === null) continue
    new ResizeObserver(() => {
      const pressed = row.querySelector<HTMLElement>('[aria-pressed=true]')
      if (pressed !== null) scrollIntoRow(pressed)
      update()
    }).observe(content)
  }
}

/** Scrolls the row sideways until this control stands between the faded edges. The page itself is not scrolled. */
export function scrollIntoRow(control: HTMLElement): void {
  const row = control.closest('.scroll-edges')
  if (row === null) return
  const [outer, inner] = [row.getBoundingClientRect(), control.getBoundingClientRect()]
  const hidden =
    Math.max(0, inner.right + FADE_PX - outer.right) || Math.min(0, inner.left - FADE_PX - outer.left)
  row.scrollLeft += hidden
}
