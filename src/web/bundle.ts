// Bundles the modules of a page into one script, so that a browser needs one request instead of forty. It supports the
// imports and exports that our own sources use, and throws for any other.

/** Returns the JavaScript of a module. Takes its path without extension. */
export type ReadModule = (path: string) => string

interface Module {
  /** The constant that has its exports. */
  readonly variable: string
  readonly exported: ReadonlySet<string>
}

interface Name {
  readonly name: string
  readonly alias: string
}

const IMPORT = /^import\s*\{([^}]*)\}\s*from\s*'([^']+)';?/gm
const EXPORT_LIST = /^export\s*\{([^}]*)\}(?:\s*from\s*'([^']+)')?;?/gm
const EXPORT_DECLARATION = /^export\s+((?:async\s+)?function\s*\*?|class|const)\s+([\w$]+)/gm
const UNSUPPORTED = /^\s*(?:import|export)\b.*/m

const COMMENT_LINES = /^[ \t]*(?:\/\/.*|\/\*\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*)\n/gm
const BLANK_LINES = /^[ \t]*\n/gm

/**
 * Each module becomes a function that is called once, after the modules that it imports, and returns its exports. So
 * modules may use the same names. An import becomes a constant, which is enough because there are no import cycles and
 * no exported variables. The bundle exports what the entry exports. Comments on lines of their own are left out.
 */
export function bundle(entry: string, read: ReadModule): string {
  const modules = new Map<string, Module>()
  const calls: string[] = []

  function add(path: string): Module {
    const known = modules.get(path)
    if (known !== undefined) return known
    /** The value of each exported name. */
    const exported = new Map<string, string>()
    const importFrom = (specifier: string, names: readonly Name[]): string => {
      const target = add(resolve(path, specifier))
      for (const { name } of names) {
        if (!target.exported.has(name))
          throw new Error(`${path} imports ${name}, which ${specifier} does not export`)
      }
      return target.variable
    }
    const code = read(path)
      .replaceAll(IMPORT, (_, list: string, specifier: string) => {
        const names = parseNames(list)
        const locals = names.map(({ name, alias }) => (name === alias ? name : `${name}: ${alias}`))
        return `const { ${locals.join(', ')} } = ${importFrom(specifier, names)};`
      })
      .replaceAll(EXPORT_LIST, (_, list: string, specifier: string | undefined) => {
        const names = parseNames(list)
        const prefix = specifier === undefined ? '' : `${importFrom(specifier, names)}.`
        for (const { name, alias } of names) exported.set(alias, prefix + name)
        return ''
      })
      .replaceAll(EXPORT_DECLARATION, (_, kind: string, name: string) => {
        exported.set(name, name)
        return `${kind} ${name}`
      })
      .replaceAll(COMMENT_LINES, '')
      .replaceAll(BLANK_LINES, '')
    const unsupported = UNSUPPORTED.exec(code)
    if (unsupported) throw new Error(`${path} cannot be bundled, because of "${unsupported[0].trim()}"`)
    const module = { variable: `$${calls.length}`, exported: new Set(exported.keys()) }
    const result = [...exported]
      .map(([name, value]) => (name === value ? name : `${name}: ${value}`))
      .join(', ')
    modules.set(path, module)
    calls.push(`const ${module.variable} = (() => {\n${code}\nreturn { ${result} };\n})();\n`)
    return module
  }

  const { variable, exported } = add(entry)
  const names = [...exported].join(', ')
  return calls.join('') + (names === '' ? '' : `export const { ${names} } = ${variable};\n`)
}

/** Parses `a, b as c` to names and their aliases. Without `as`, the alias is the name itself. */
function parseNames(list: string): Name[] {
  return list
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => {
      const [name = '', alias = name] = part.split(/\s+as\s+/)
      return { name, alias }
    })
}

function resolve(importer: string, specifier: string): string {
  return new URL(specifier, `file:///${importer}`).pathname.slice(1).replace(/\.[jt]s$/, '')
}
