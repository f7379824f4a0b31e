// Prepares a release in release/: both packages, a bill of materials, the section of the changelog, and checksums.
// .github/workflows/release.yml publishes these files. Takes the tag, such as v1.0.0.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

const tag = process.argv[2] ?? ''
for (const file of ['package.json', 'client/package.json']) {
  const { version } = JSON.parse(readFileSync(file, 'utf8'))
  if (`v${version}` !== tag) fail(`${file} has version ${version}, but the tag is ${tag}.`)
}
const notes = changesOf(tag.slice(1))

rmSync('release', { recursive: true, force: true })
mkdirSync('release')
npm('run', 'build')
const bill = JSON.parse(npm('sbom', '--prefix', 'dist', '--package-lock-only', '--sbom-format=cyclonedx'))
// npm writes the name of the folder.
bill.metadata.component.name = 'animal-store'
writeFileSync('release/sbom.cdx.json', `${JSON.stringify(bill, null, 2)}\n`)
npm('pack', './dist', './client', '--pack-destination', 'release')
const sums = readdirSync('release').map(file => `${sha256(`release/${file}`)}  ${file}\n`)
writeFileSync('release/SHA256SUMS', sums.join(''))
writeFileSync('release/notes.md', notes)

/** The section of a version in the changelog. Its links lead to the files of the tag. */
function changesOf(version: string): string {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
  const section = sections.find(text => /^\S+/.exec(text)?.[0] === version)
  if (section === undefined) return fail(`CHANGELOG.md has no section ${version}.`)
  const { homepage } = JSON.parse(readFileSync('package.json', 'utf8'))
  const files = `${homepage.replace(/#.*/, '')}/blob/${tag}/`
  return section.replace(/^.*\n+/, '').replaceAll(/\]\((?!https?:)/g, `](${files}`)
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
