// The forms of the API reference: send what was filled in, and show the answer exactly as it came.

const apiKey = /** @type {HTMLInputElement | null} */ (document.getElementById('api-key'))

for (const form of document.querySelectorAll('form.try')) {
  if (form instanceof HTMLFormElement) prepare(form)
}

/** @param {HTMLFormElement} form */
function prepare(form) {
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

/** @param {HTMLFormElement} form */
function requestOf(form) {
  let path = form.dataset.path ?? ''
  const query = new URLSearchParams()
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${apiKey?.value.trim() || '<API_KEY>'}` }
  /** @type {string | undefined} */
  let body
  for (const field of form.querySelectorAll('[data-in]')) {
    const { name, value, dataset } = /** @type {HTMLInputElement} */ (field)
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

/** @typedef {ReturnType<typeof requestOf>} TriedRequest */

/** @param {TriedRequest} request */
function curlFor({ method, url, headers, body }) {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`]
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quote(`${name}: ${value}`)}`)
  if (body !== undefined) parts.push(`--data-raw ${quote(body)}`)
  return parts.join(' \\\n  ')
}

/** @param {string} text */
function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** @param {TriedRequest} request */
async function answerTo({ method, url, headers, body }) {
  try {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
    const shown = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    return `${response.status} ${response.statusText}\n${shown.join('\n')}\n\n${spread(await response.text())}`
  } catch (error) {
    return `The request could not be sent: ${error instanceof Error ? error.message : error}`
  }
}

/**
 * Lays JSON out over lines without parsing it, so that no digit of a large number is lost.
 * @param {string} json
 */
function spread(json) {
  let depth = 0
  return json.replace(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, token => {
    if (token === ':') return ': '
    if (token === ',') return `,\n${'  '.repeat(depth)}`
    if (token === '{' || token === '[') return `${token}\n${'  '.repeat(++depth)}`
    if (token === '}' || token === ']') return `\n${'  '.repeat(--depth)}${token}`
    return token
  })
}
