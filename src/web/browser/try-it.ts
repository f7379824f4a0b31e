// The forms of the API reference: they send a request and show the response without rounding any number.

interface TryRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const apiKey = document.querySelector<HTMLInputElement>('#api-key')

for (const form of document.querySelectorAll<HTMLFormElement>('form.try')) enableForm(form)

function enableForm(form: HTMLFormElement): void {
  const curl = form.querySelector('pre.curl')
  const output = form.querySelector('output')
  if (!curl || !output) return
  const showCurl = () => {
    curl.textContent = renderCurl(readForm(form))
  }
  form.addEventListener('input', showCurl)
  apiKey?.addEventListener('input', showCurl)
  showCurl()
  form.addEventListener('submit', async event => {
    event.preventDefault()
    output.hidden = false
    output.textContent = 'Waiting for the response …'
    output.textContent = await sendRequest(readForm(form))
  })
}

function readForm(form: HTMLFormElement): TryRequest {
  let path = form.dataset.path ?? ''
  const query = new URLSearchParams()
  const headers: Record<string, string> = {
    Authorization: `Bearer ${apiKey?.value.trim() || '<API_KEY>'}`,
  }
  let body: string | undefined
  for (const field of form.querySelectorAll<HTMLInputElement>('[data-in]')) {
    const { name, value, dataset } = field
    if (dataset.in === 'body') {
      body = value
      headers['Content-Type'] = 'application/json'
    } else if (dataset.in === 'path')
      path = path.replace(`{${name}}`, encodeURIComponent(value) || `{${name}}`)
    else if (value !== '' && dataset.in === 'query') query.append(name, value)
    else if (value !== '') headers[name] = value
  }
  const search = query.size > 0 ? `?${query}` : ''
  return {
    method: form.dataset.method ?? 'GET',
    url: new URL('.', location.href).href + path + search,
    headers,
    body,
  }
}

function renderCurl({ method, url, headers, body }: TryRequest): string {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`]
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) parts.push(`--data-raw ${quote(body)}`)
  return parts.join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

async function sendRequest({ method, url, headers, body }: TryRequest): Promise<string> {
  try {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
    const headerLines = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    return `${response.status} ${response.statusText}\n${headerLines.join('\n')}\n\n${indentJson(await response.text())}`
  } catch (error) {
    return `The request could not be sent: ${error instanceof Error ? error.message : error}`
  }
}

/** Indents JSON without parsing it, because parsing would round large integers. */
function indentJson(json: string): string {
  let depth = 0
  return json.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, token => {
    if (token === ':') return ': '
    if (token === ',') return `,\n${'  '.repeat(depth)}`
    if (token === '{' || token === '[') return `${token}\n${'  '.repeat(++depth)}`
    if (token === '}' || token === ']') return `\n${'  '.repeat(--depth)}${token}`
    return token
  })
}
