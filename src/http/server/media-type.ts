// The media type of a JSON body (RFC 9110, section 8.3).

const JSON_TYPE = /^application\/json[ \t]*(?:$|(?=;))/i

/** A parameter and the semicolon before it. Its value is a quoted string, or ends at the next semicolon. */
const PARAMETER = /;([^;=]*)(?:=(?:"((?:[^"\\]|\\.)*)"[^;]*|([^;]*)))?/g

const UTF_8 = /^utf-?8$/i

/** Returns whether a `Content-Type` is `application/json`, in UTF-8 if it names a charset. Takes linear time. */
export function isJson(contentType: string): boolean {
  // Almost every client sends exactly this.
  if (contentType === 'application/json') return true
  if (!JSON_TYPE.test(contentType)) return false
  let charsets = 0
  for (const [, name = '', quoted, plain = ''] of contentType.matchAll(PARAMETER)) {
    if (name.trim().toLowerCase() !== 'charset') continue
    const charset = quoted?.replace(/\\(.)/g, '$1') ?? plain.trim()
    if (++charsets > 1 || !UTF_8.test(charset)) return false
  }
  return true
}
