// Splits code into tokens, so that the reference can colour them. It needs to know little: comments, strings, numbers,
// names and a few keywords. Whatever it does not know stays plain text.

interface Token {
  /** The CSS class, or undefined for plain text. */
  readonly kind: string | undefined
  readonly text: string
}

/** What the page shows in place of the body of a response that has none. */
export const NO_BODY = 'no body'

const STRING = String.raw`"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|${'`'}(?:[^${'`'}\\]|\\.)*${'`'}`
const NUMBER = String.raw`-?\b\d+(?:\.\d+)?n?\b`

/** The groups of a pattern are the kinds of its tokens. */
const PATTERNS: Readonly<Record<string, RegExp>> = {
  shell:
    /(?<comment>#.*)|(?<string>'[^']*'|"(?:[^"\\]|\\.)*")|(?<keyword>\b(?:curl|npm|export|if|then|fi|while|do|done|break)\b(?!\/)|(?<=\s)--?[\w-]+)/gm,
  json: /(?<name>"(?:[^"\\]|\\.)*")(?=\s*:)|(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\b\d[\d.eE+-]*)|(?<keyword>\b(?:true|false|null)\b)/g,
  http: /(?<name>^[\w-]+)(?=:)|(?<string>"[^"\n]*")/gm,
  javascript: programPattern(
    '//.*',
    'import|from|const|let|new|await|for|of|while|if|try|catch|throw|instanceof',
  ),
  python: programPattern('#.*', 'import|with|as|for|in|and|or|if|while|try|except|raise'),
  go: programPattern('//.*', 'package|import|func|for|range|if|nil|defer|var|struct|return'),
}

function programPattern(comment: string, keywords: string): RegExp {
  return new RegExp(
    `(?<comment>${comment})|(?<string>${STRING})|(?<number>${NUMBER})|(?<keyword>\\b(?:${keywords})\\b)`,
    'g',
  )
}

function tokenize(syntax: string, text: string): Token[] {
  const pattern = PATTERNS[syntax]
  if (pattern === undefined) return [{ kind: undefined, text }]
  const tokens: Token[] = []
  let end = 0
  for (const match of text.matchAll(pattern)) {
    if (match[0] === '') continue
    if (match.index > end) tokens.push({ kind: undefined, text: text.slice(end, match.index) })
    const [kind] = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined) ?? []
    tokens.push({ kind, text: match[0] })
    end = match.index + match[0].length
  }
  if (end < text.length) tokens.push({ kind: undefined, text: text.slice(end) })
  return tokens
}

/** The tokens of each line. A line has its line break, so that the texts together are the whole text. */
export function tokenizeLines(syntax: string, text: string): Token[][] {
  const lines: Token[][] = [[]]
  for (const token of tokenize(syntax, text))
    for (const part of token.text.split(/(?<=\n)/)) {
      lines.at(-1)?.push({ kind: token.kind, text: part })
      if (part.endsWith('\n')) lines.push([])
    }
  return lines
}
