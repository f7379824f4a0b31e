// Bundles the modules of a page into one script, so that a browser needs one request instead of forty. It supports the
// imports and exports that our own sources use, and throws for any other.

/** Returns the JavaScript of a module. Takes its path without extension. */
type ReadModule = (path: string) => string

interface Module {
  /** The constant that has its exports. */
  readonly variable: string
  readonly names: readonly string[]
}

const IMPORT = /^import\s*\{([^}]*)\}\s*from\s*'([^']+)';?/gm
const EXPORT_LIST = /^export\s*\{([^}]*)\}(?:\s*from\s*'([^']+)')?;?/gm
const EXPORT_DECLARATION = /^export\s+((?:async\s+)?function\s*\*?|class|const)\s+([\w$]+)/gm
const UNSUPPORTED = /^\s*(?:import|export)\b.*/m

const COMMENT_LINES = /^[ \t]*(?:\/\/.*|\/\*\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*)\n/gm
const BLANK_LINES = /^[ \t]*\n/gm

/** A function at the top level of a module that has several lines: the last one begins with its brace. */
const FUNCTION = /^(?:export\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)(?!.*\}[;\s]*$)[\s\S]*?^\}\n/gm

/** Also what stripped types leave at the end of a line. No module of a page has a text over several lines. */
const INDENTATION = /^[ \t]+|[ \t]+$/gm

/**
 * Each module becomes a function that is called once, after the modules that it imports, and returns its exports. So
 * modules may use the same names. An import becomes a constant, which is enough because there are no import cycles and
 * no exported variables. The bundle exports what the entry exports. Comments on lines of their own, indentation, and functions
 * that only the service uses are left out.
 */
export function bundle(entry: string, read: ReadModule): string {
  const sources = new Map<string, string>()
  const modules = new Map<string, Module>()
  const calls: string[] = []

  function load(path: string): void {
    if (sources.has(path)) return
    const code = read(path).replaceAll(COMMENT_LINES, '')
    sources.set(path, code)
    for (const [, , specifier] of [...code.matchAll(IMPORT), ...code.matchAll(EXPORT_LIST)])
      if (specifier !== undefined) load(resolve(path, specifier))
  }

  function add(path: string): Module {
    const known = modules.get(path)
    if (known !== undefined) return known
    /** The value of each exported name. */
    const exported = new Map<string, string>()
    const code = (sources.get(path) ?? '')
      .replaceAll(IMPORT, (_, list: string, specifier: string) => {
        const { variable } = add(resolve(path, specifier))
        return `const { ${parseNames(list).join(', ')} } = ${variable};`
      })
      .replaceAll(EXPORT_LIST, (_, list: string, specifier: string | undefined) => {
        const prefix = specifier === undefined ? '' : `${add(resolve(path, specifier)).variable}.`
        for (const name of parseNames(list)) exported.set(name, prefix + name)
        return ''
      })
      .replaceAll(EXPORT_DECLARATION, (_, kind: string, name: string) => {
        exported.set(name, name)
        return `${kind} ${name}`
      })
      .replaceAll(BLANK_LINES, '')
      .replaceAll(INDENTATION, '')
    const unsupported = UNSUPPORTED.exec(code)
    if (unsupported) throw new Error(`${path} cannot be bundled, because of "${unsupported[0].trim()}"`)
    const module = { variable: `$${calls.length}`, names: [...exported.keys()] }
    const result = [...exported]
      .map(([name, value]) => (name === value ? name : `${name}: ${value}`))
      .join(', ')
    modules.set(path, module)
    calls.push(`const ${module.variable} = (() => {\n${code}\nreturn { ${result} };\n})();\n`)
    return module
  }

  load(entry)
  leaveOutUnused(sources, entry)
  const { variable, names } = add(entry)
  return calls.join('') + (names.length === 0 ? '' : `export const { ${names.join(', ')} } = ${variable};\n`)
}

/** Leaves out functions that nothing else mentions. Each may have been the only one that mentions another. */
function leaveOutUnused(sources: Map<string, string>, entry: string): void {
  let isComplete = false
  while (!isComplete) {
    isComplete = true
    const mentions = countNames([...sources.values()].join('\n'))
    for (const [path, code] of sources) {
      if (path === entry) continue
      const used = code.replaceAll(FUNCTION, (text, name: string) =>
        mentions.get(name) === countNames(text).get(name) ? '' : text,
      )
      if (used !== code) isComplete = false
      sources.set(path, used)
    }
  }
}

function countNames(code: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [name] of code.matchAll(/[\w$]+/g)) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function parseNames(list: string): string[] {
  return list
    .split(',')
    .map(name => name.trim())
    .filter(Boolean)
}

function resolve(importer: string, specifier: string): string {
  return new URL(specifier, `file:///${importer}`).pathname.slice(1).replace(/\.[jt]s$/, '')
}
