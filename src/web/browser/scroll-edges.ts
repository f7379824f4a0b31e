// Shows that a row of controls can be scrolled sideways: the edge behind which there is more fades out.

/** Sets `data-more` to the edges behind which there is more. The style sheet fades them. */
export function enableScrollEdges(): void {
  for (const row of document.querySelectorAll<HTMLElement>('.scroll-edges')) {
    const update = () => {
      const hidden = row.scrollWidth - row.clientWidth
      const edges = [row.scrollLeft > 1 && 'start', row.scrollLeft < hidden - 1 && 'end']
      row.dataset.more = edges.filter(Boolean).join(' ')
    }
    row.addEventListener('scroll', update, { passive: true })
    new ResizeObserver(update).observe(row)
    if (row.firstElementChild) new ResizeObserver(update).observe(row.firstElementChild)
  }
}
