// Import of CSV files as spreadsheets write them.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { run } from './support/command.ts'
import { runInProcess } from './support/in-process.ts'
import { temporaryFolder } from './support/service.ts'

const BELLA = '"name":"Bella","categoryId":7,"status":"available"'
const REX = '"name":"Rex; the \\"gecko\\"","categoryId":9007199254740993'

const ACCEPTED: Record<string, string> = {
  semicolons: 'name;categoryId;status\nBella;7;available\n"Rex; the ""gecko""";9007199254740993;\n',
  tabs: 'name\tcategoryId\tstatus\nBella\t7\tavailable\n"Rex; the ""gecko"""\t9007199254740993\t\n',
  'a sep= line':
    'sep=;\r\nname;categoryId;status\r\nBella;7;available\r\n"Rex; the ""gecko""";9007199254740993;\r\n',
  'a quoted sep= line':
    '"sep=\t"\nname\tcategoryId\tstatus\nBella\t7\tavailable\n"Rex; the ""gecko"""\t9007199254740993\t\n',
  'a byte order mark':
    '\ufeffname;categoryId;status\nBella;7;available\n"Rex; the ""gecko""";9007199254740993;\n',
  'names of columns in any letter case, with spaces':
    'STATUS, Category ID ,Name\navailable,7,Bella\n,9007199254740993,"Rex; the ""gecko"""\n',
  'names of columns with underscores':
    'name,category_id,status\nBella,7,available\n"Rex; the ""gecko""",9007199254740993,\n',
  'empty rows at the end':
    'name,categoryId,status\nBella,7,available\n"Rex; the ""gecko""",9007199254740993,\n,,\n,,\n',
  'empty lines before the header':
    '\n\nname;categoryId;status\nBella;7;available\n"Rex; the ""gecko""";9007199254740993;\n',
}

/** The value is shown as it was found, with the reason. */
const FOUND = (text: string) => new RegExp(`Line 2: categoryId must be an integer .* \\(found ${text}`)

const REJECTED: Record<string, [text: string, message: RegExp]> = {
  'a number that a spreadsheet has shortened': [
    'name,categoryId\nBella,9.0072E+15\n',
    /Line 2: .*\(found "9\.0072E\+15", which has an exponent and may have lost digits/,
  ],
  'a shortened number with a decimal comma': [
    'name;categoryId\nBella;9,0072E+15\n',
    /Line 2: .*has an exponent/,
  ],
  'a thousands separator': [
    'name;categoryId\nBella;1.000\n',
    FOUND('"1\\.000", which has a thousands separator'),
  ],
  'two thousands separators': [
    'name\tcategoryId\nBella\t12,000,000\n',
    FOUND('"12,000,000", which has a thousands'),
  ],
  'a thousands separator that is a space': [
    'name;categoryId\nBella;12 000\n',
    FOUND('"12 000", which has a thousands'),
  ],
  'a fraction': ['name;categoryId\nBella;1,5\n', FOUND('"1,5", which has a fraction')],
  'a fraction of zero': ['name;categoryId\nBella;7.0\n', FOUND('"7\\.0", which has a fraction')],
  'an exponent': ['name;categoryId\nBella;1e3\n', FOUND('"1e3", which has an exponent')],
  'spaces around a number': [
    'name;categoryId\nBella; 7 \n',
    FOUND('" 7 ", which has spaces around the digits'),
  ],
  'a plus sign': ['name;categoryId\nBella;+7\n', FOUND('"\\+7", which has a plus sign')],
  'a leading zero': ['name;categoryId\nBella;007\n', FOUND('"007", which has a leading zero')],
  'a number that is too large': [
    'name;categoryId\nBella;9223372036854775808\n',
    FOUND('"9223372036854775808"'),
  ],
  'a long text for a number': [`name;categoryId\nBella;${'x'.repeat(60)}\n`, FOUND(`"x{40}…"`)],
  'no number': ['name;categoryId\nBella;\n', /Line 2: categoryId is required\./],
  'another status': ['name;categoryId;status\nBella;7;Sold\n', /status must be one of .* \(found "Sold"\)/],
  'unknown names of columns': [
    'Animal;Category\nBella;7\n',
    /the first line must name the columns: .* It has "Animal", "Category"\./,
  ],
  'two columns of one name': ['name,Name,categoryId\nBella,Rex,7\n', /It has "name", "Name", "categoryId"\./],
  'a row with a field too many': [
    'name;categoryId\nBella;7;8\n',
    /Line 2: the line must have 2 fields, not 3\./,
  ],
  'another character set': [
    'name,categoryId\nB\xe9la,7\n',
    /Line 2: the line must be UTF-8; spreadsheets call/,
  ],
}

suite('import from a spreadsheet', () => {
  const folder = temporaryFolder({ after })

  async function importText(text: string, name: string) {
    const database = join(folder, `${name.replaceAll(/\W/g, '-')}.db`)
    const file = join(folder, 'input.csv')
    writeFileSync(file, text, text.includes('\xe9') ? 'latin1' : 'utf8')
    const env = { DATABASE_URL: `sqlite:${database}` }
    const imported = await runInProcess(['import', file], env)
    const output = `${database}.jsonl`
    await runInProcess(['export', output], env)
    return { ...imported, stored: readFileSync(output, 'utf8') }
  }

  for (const [name, text] of Object.entries(ACCEPTED)) {
    test(`${name}: imported`, async () => {
      const { code, err, stored } = await importText(text, name)
      assert.equal(code, 0, err)
      assert.equal(stored, `{"id":1,${BELLA}}\n{"id":2,${REX}}\n`)
    })
  }

  for (const [name, [text, message]] of Object.entries(REJECTED)) {
    test(`${name}: rejected, and no animal is stored`, async () => {
      const { code, err, stored } = await importText(text, name)
      assert.equal(code, 1)
      assert.match(err, message)
      assert.equal(stored, '')
    })
  }

  test('an import that resumes in a file with a sep= line counts that line', async () => {
    const file = join(folder, 'resumed.csv')
    writeFileSync(file, 'sep=;\nname;categoryId\nBella;7\nRex;8\n')
    const env = { DATABASE_URL: `sqlite:${join(folder, 'resumed.db')}` }
    const { code, err } = await runInProcess(['import', file, '--from-line', '4'], env)
    assert.equal(code, 0, err)
    assert.match(err, /^1 animal imported/m)
  })

  test('a JSON array is rejected with an explanation', async () => {
    const file = join(folder, 'array.jsonl')
    writeFileSync(file, '[\n{"name":"Bella","categoryId":7}\n]\n')
    const env = { DATABASE_URL: `sqlite:${join(folder, 'array.db')}` }
    const { code, err } = await runInProcess(['import', file], env)
    assert.equal(code, 1)
    assert.match(err, /Line 1: the file must not be a JSON array: write one animal per line/)
  })

  test('the format of standard input, and of a file without an ending, is recognised by the content', async t => {
    const contents = {
      csv: 'name;categoryId\nBella;7\n',
      jsonl: ' {"name":"Bella","categoryId":7}\n',
      empty: '',
    }
    for (const [name, input] of Object.entries(contents)) {
      const env = { DATABASE_URL: `sqlite:${join(folder, `stdin-${name}.db`)}` }
      const { code, err } = await run(t, ['import', '-'], { cwd: folder, env, input })
      assert.equal(code, 0, err)
      assert.match(err, name === 'empty' ? /^0 animals imported/m : /^1 animal imported/m)
      const file = join(folder, `${name}-without-ending`)
      writeFileSync(file, input)
      assert.equal((await runInProcess(['import', file], env)).code, 0)
    }
  })
})
