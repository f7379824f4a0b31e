// Copies the text of an element.

/** Returns false if the browser allows no copying. The text is selected then, so that the user can copy it. */
export async function copyText(source: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(source.textContent)
    return true
  } catch {
    // Browsers offer `navigator.clipboard` only in secure contexts. The older way works everywhere else.
    getSelection()?.selectAllChildren(source)
    const isCopied = document.execCommand('copy')
    if (isCopied) getSelection()?.removeAllRanges()
    return isCopied
  }
}
