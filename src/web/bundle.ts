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

/** Also what stripped types leave at the end of a line. No module of a page has a text over several lines. */
const INDENTATION = /^[ \t]+|[ \t]+$/gm

/**
 * Each module becomes a function that is called once, after the modules that it imports, and returns its exports. So
 * modules may use the same names. An import becomes a constant, which is enough because there are no import cycles and
 * no exported variables. The bundle exports what the entry exports. Comments on lines of their own and indentation are left out.
 */
export function bundle(entry: string, read: ReadModule): string {
  const modules = new Map<string, Module>()
  const calls: string[] = []

  function add(path: string): Module {
    const known = modules.get(path)
    if (known !== undefined) return known
    /** The value of each exported name. */
    const exported = new Map<string, string>()
    const code = read(path)
      .replaceAll(COMMENT_LINES, '')
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

  const { variable, names } = add(entry)
  return calls.join('') + (names.length === 0 ? '' : `export const { ${names.join(', ')} } = ${variable};\n`)
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
