// The languages of the samples, in the order of their buttons.

import { renderCurl } from './curl.ts'
import { renderGo } from './go.ts'
import { renderJavaScript } from './javascript.ts'
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
  { id: 'javascript', label: 'JavaScript', syntax: 'javascript', render: renderJavaScript },
  { id: 'python', label: 'Python', syntax: 'python', render: renderPython },
  { id: 'go', label: 'Go', syntax: 'go', render: renderGo },
]
