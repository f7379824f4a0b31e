// The deprecation of getPet: since when, until when, and the headers that announce it.

/** 15 November 2026, in the format of RFC 9745. */
export const DEPRECATED_SINCE = '@1794700800'

/** Written out here instead of formatted by `Intl`, which would take 7 MiB of memory at the start. */
export const REMOVAL_DATE = '5 December 2030'

export const REMOVED_AT = new Date(`${REMOVAL_DATE} UTC`)

/** Returns alternating names and values. `/docs` has the same prefix as `/v1`. */
export function deprecationHeaders(basePath: string): readonly string[] {
  const docs = `${basePath.slice(0, -'/v1'.length)}/docs#getPet`
  return [
    ['deprecation', DEPRECATED_SINCE],
    ['sunset', REMOVED_AT.toUTCString()],
    ['link', `<${docs}>; rel="deprecation"; type="text/html", <${basePath}/pets>; rel="successor-version"`],
  ].flat()
}
