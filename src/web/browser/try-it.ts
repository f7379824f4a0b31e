// The forms of the API reference: send what was filled in, and show the answer exactly as it came.

interface Tried {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const apiKey = document.querySelector<HTMLInputElement>('#api-key')

for (const form of document.querySelectorAll<HTMLFormElement>('form.try')) prepare(form)

function prepare(form: HTMLFormElement): void {
  const curl = form.querySelector('pre.curl')
  const output = form.querySelector('output')
  if (!curl || !output) return
  const showCurl = () => {
    curl.textContent = curlFor(requestOf(form))
  }
  form.addEventListener('input', showCurl)
  apiKey?.addEventListener('input', showCurl)
  showCurl()
  form.addEventListener('submit', async event => {
    event.preventDefault()
    output.hidden = false
    output.textContent = 'Waiting for the answer …'
    output.textContent = await answerTo(requestOf(form))
  })
}

function requestOf(form: HTMLFormElement): Tried {
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
  return { method: form.dataset.method ?? 'GET', url: location.origin + path + search, headers, body }
}

function curlFor({ method, url, headers, body }: Tried): string {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`]
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) parts.push(`--data-raw ${quote(body)}`)
  return parts.join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

async function answerTo({ method, url, headers, body }: Tried): Promise<string> {
  try {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
    const shown = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    return `${response.status} ${response.statusText}\n${shown.join('\n')}\n\n${spread(await response.text())}`
  } catch (error) {
    return `The request could not be sent: ${error instanceof Error ? error.message : error}`
  }
}

/** Lays JSON out over lines without parsing it, so that no digit of a large number is lost. */
function spread(json: string): string {
  let depth = 0
  return json.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, token => {
    if (token === ':') return ': '
    if (token === ',') return `,\n${'  '.repeat(depth)}`
    if (token === '{' || token === '[') return `${token}\n${'  '.repeat(++depth)}`
    if (token === '}' || token === ']') return `\n${'  '.repeat(--depth)}${token}`
    return token
  })
}
