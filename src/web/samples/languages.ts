// The languages of the samples, in the order of their buttons.

import { renderCurl } from './curl.ts'
import { renderGo } from './go.ts'
import { renderJava } from './java.ts'
import { renderClient, renderFetch } from './javascript.ts'
import { renderPython } from './python.ts'
import type { SampleRequest } from './request.ts'

export interface Language {
  readonly id: string
  readonly label: string
  /** The syntax for the highlighting (highlight.ts). */
  readonly syntax: string
  readonly render: (request: SampleRequest) => string
}

export const LANGUAGES: readonly Language[] = [
  { id: 'curl', label: 'curl', syntax: 'shell', render: renderCurl },
  { id: 'client', label: 'JS client', syntax: 'javascript', render: renderClient },
  { id: 'fetch', label: 'JS fetch', syntax: 'javascript', render: renderFetch },
  { id: 'python', label: 'Python', syntax: 'python', render: renderPython },
  { id: 'go', label: 'Go', syntax: 'go', render: renderGo },
  { id: 'java', label: 'Java', syntax: 'java', render: renderJava },
]
