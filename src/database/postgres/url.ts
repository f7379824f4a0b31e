// Parses the URL of a PostgreSQL database. Like libpq, it accepts several hosts:
// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS

/** The values of parameters that have only a few. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  uselibpqcompat: ['true', 'false'],
  // The service needs a writable server, so it uses one whatever the value is.
  target_session_attrs: ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'],
}

/** The parameters that have an effect. */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'application_name', 'options', 'sslrootcert', 'sslcert', 'sslkey'],
  ...Object.keys(CHOICES),
]

/**
 * For these values of `sslmode`, pg does the same as for `verify-full`, and prints a warning of a dozen lines. With
 * `uselibpqcompat`, pg follows libpq instead.
 */
const SAME_AS_VERIFY_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/

const DEFAULT_PORT = '5432'

const PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/

/** One of the hosts before the path: an IPv6 address in brackets, or a name, an address or a folder with a socket. */
const HOST_AND_PORT = /^(\[[\da-f:.]+\]|[^:[\]]*)(?::(\d*))?$/i

const IPV6 = /^[\da-f.]*:[\da-f:.]*$/i

/** Thrown for a malformed URL. The message completes the sentence "… must be". */
export class MalformedUrl extends Error {}

const EXPECTED =
  'postgres://user:password@host:port/database (user and password percent-encoded), or the same with several hosts separated by commas'

interface PostgresUrl {
  /** One URL for each host, in the given order, as pg understands it. */
  readonly urls: readonly string[]
  /** The URL without user name, password and parameters, for messages. */
  readonly name: string
}

interface Host {
  readonly host: string
  readonly port: string
}

export function parsePostgresUrl(given: string): PostgresUrl {
  const text = given.includes('uselibpqcompat=') ? given : given.replace(SAME_AS_VERIFY_FULL, '$1verify-full')
  const match = PARTS.exec(text)
  if (match === null || !isDecodable(match[1] ?? '')) throw new MalformedUrl(EXPECTED)
  const [, user, authority = '', database, query = ''] = match
  const parameters = readParameters(query)
  const hosts = readHosts(authority, parameters)
  const path = database === undefined ? '' : `/${database}`
  const name = `postgres://${hosts.map(hostAndPort).join()}${path}`
  // pg reads the URL of one host itself, with its own defaults for what is missing.
  const urls = hosts.length === 1 ? [text] : hosts.map(host => urlOf(host, user, path, parameters))
  if (!urls.every(url => URL.canParse(url))) throw new MalformedUrl(EXPECTED)
  return { urls, name }
}

/** An unknown parameter is rejected: it may be a mistyped `sslmode`. */
function readParameters(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query)
  for (const [name, value] of parameters) {
    if (!PARAMETERS.includes(name)) {
      // A password with a question mark continues here, up to the @, and no message may show it.
      if (query.includes('@')) throw new MalformedUrl(EXPECTED)
      throw new MalformedUrl(`a URL whose parameters are among ${PARAMETERS.join(', ')}, without ${name}`)
    }
    if (CHOICES[name]?.includes(value) === false)
      throw new MalformedUrl(`a URL whose ${name} is one of ${CHOICES[name].join(', ')}`)
    if (parameters.getAll(name).length > 1) throw new MalformedUrl(`a URL that has ${name} only once`)
  }
  return parameters
}

/** The parameters `host` and `port` win over the part before the path. One port may count for all hosts. */
function readHosts(authority: string, parameters: URLSearchParams): Host[] {
  const listed = authority.split(',').map(part => HOST_AND_PORT.exec(part))
  const hostList = parameters.get('host')
  const portList = parameters.get('port')
  const hosts = hostList?.split(',') ?? listed.map(match => match?.[1] ?? '')
  const ports = portList?.split(',') ?? (hostList === null ? listed.map(match => match?.[2] ?? '') : [''])
  const isValid =
    !listed.includes(null) &&
    [1, hosts.length].includes(ports.length) &&
    ports.every(isPort) &&
    hosts.every(isDecodable)
  if (!isValid) throw new MalformedUrl(EXPECTED)
  return hosts.map((host, index) => ({
    host: hostList === null ? decodeURIComponent(host).replace(/^\[(.*)\]$/, '$1') : host,
    port: (ports.length === 1 ? ports[0] : ports[index]) || DEFAULT_PORT,
  }))
}

/** Host and port are parameters, because pg takes the folder of a socket only in this form. */
function urlOf(
  { host, port }: Host,
  user: string | undefined,
  path: string,
  parameters: URLSearchParams,
): string {
  const own = new URLSearchParams(parameters)
  own.delete('target_session_attrs')
  own.set('host', host || 'localhost')
  own.set('port', port)
  return `postgres://${user === undefined ? '' : `${user}@`}localhost${path}?${own}`
}

function hostAndPort({ host, port }: Host): string {
  const shown = IPV6.test(host) ? `[${host}]` : host || 'localhost'
  return port === DEFAULT_PORT ? shown : `${shown}:${port}`
}

/** An empty port is the default. */
function isPort(text: string): boolean {
  return /^\d{0,5}$/.test(text) && Number(text) <= 65_535
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
