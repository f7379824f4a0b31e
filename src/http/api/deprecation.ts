// The deprecation of getPet: since when, until when, and the headers that announce it.

/** 15 November 2026, in the format of RFC 9745. */
export const DEPRECATED_SINCE = '@1794700800'

export const REMOVED_AT = new Date('2030-12-05T00:00:00Z')

/** The date of removal in words: 5 December 2030. */
export const REMOVAL_DATE = REMOVED_AT.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

/** Returns alternating names and values. The reference is beside `/v1`, below the same prefix. */
export function deprecationHeaders(basePath: string): readonly string[] {
  const docs = `${basePath.slice(0, -'/v1'.length)}/docs#getPet`
  return [
    ['deprecation', DEPRECATED_SINCE],
    ['sunset', REMOVED_AT.toUTCString()],
    ['link', `<${docs}>; rel="deprecation"; type="text/html", <${basePath}/pets>; rel="successor-version"`],
  ].flat()
}
