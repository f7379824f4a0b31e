// How a status is shown: a dot and the word, so that colour is never the only sign.

import type { Status } from '../../../client/src/animal-store.ts'
import { createElement } from './elements.ts'

export function createStatusBadge(status: Status | undefined): HTMLElement {
  return createElement('span', { class: `status ${status ?? 'none'}` }, status ?? 'no status')
}
