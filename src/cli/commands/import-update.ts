// `animal-store import --update`: changes the animals that the rows of a file name by their ids. A row with a tag changes its
// animal only if that is still as it was exported, and a row that was not edited changes nothing (docs/import-export.md).

import { addAbortSignal } from 'node:stream'
import type { Animal, AnimalChanges, Status } from '../../animal.ts'
import { findProblems, parseAnimalJson, renderAnimal } from '../../animal-json.ts'
import { spreadsheetSafe } from '../../csv.ts'
import { nameOf } from '../../database/open.ts'
import { TAG_DIGITS, tagOf } from '../../etag.ts'
import { INT64_MAX, INT64_MIN } from '../../int64.ts'
import { formatCount, formatNumber } from '../../number-format.ts'
import type { Store } from '../../store.ts'
import type { Outcome, Write } from '../../write.ts'
import { CommandFailed } from '../command.ts'
import { secondsSince } from '../progress.ts'
import { SettingsError } from '../read-settings.ts'
import { createIdSet, type IdSet } from './id-set.ts'
import {
  BATCH_SIZE,
  type ImportTask,
  type LineRange,
  linesOf,
  notStored,
  storeBatches,
  tell,
} from './import-batches.ts'
import {
  BeyondFile,
  CHANGED_ANIMALS,
  type Entry,
  InvalidEntry,
  type Row,
  readEntries,
  rejectProblems,
} from './import-file.ts'

export interface UpdateTask extends ImportTask {
  readonly dryRun: boolean
  readonly overwrite: boolean
}

/** Changes animals, or, in a dry run, only finds out what it would change. If it ends early, the error says how to resume. */
export async function updateAll(task: UpdateTask, store: Store): Promise<void> {
  const { source, progress, fromLine, dryRun, say } = task
  const skipInvalid = task.skipInvalid || dryRun
  const start = performance.now()
  const ids = createIdSet()
  const counts = { changed: 0, unchanged: 0, rejected: 0 }
  /** A batch that is not complete can be read again: what it has changed is unchanged then. */
  let next = fromLine
  let comparesTags: boolean | undefined = task.overwrite ? false : undefined

  function describeCounts(): string {
    const { changed, unchanged, rejected } = counts
    return `${formatCount(changed, 'animal')} changed, ${formatNumber(unchanged)} unchanged, ${formatNumber(rejected)} rejected in ${nameOf(task.databaseUrl)}`
  }

  function describeEarlyEnd(error: unknown): string {
    const isResumable = next > 1 && !dryRun && !(error instanceof BeyondFile)
    return `${dryRun ? describeDryRun() : `${describeCounts()}.`}${isResumable ? ` Resume with --from-line ${next}.` : ''}`
  }

  function describeDryRun(): string {
    return `Without --dry-run: ${describeCounts()}. Nothing was stored.`
  }

  function reject(row: LineRange, reason: string): void {
    const message = `${linesOf(row)}: ${reason}`
    counts.rejected++
    if (!skipInvalid) throw new CommandFailed(message)
    tell(task, message)
  }

  async function updateBatch({ rows, ...lines }: Batch): Promise<void> {
    comparesTags ??= requireTags(rows, source.name)
    let open: readonly CheckedRow[] = rows.map(row => checkRow(row, ids, comparesTags === true))
    while (open.length > 0) {
      const animals = await findAnimals(store, open.filter(isEdit), lines)
      const sent: Edit[] = []
      const writes: Write[] = []
      for (const row of open) {
        const decision = isEdit(row) ? planWrite(row, animals.get(row.id)) : row
        if (decision === 'unchanged') counts.unchanged++
        else if ('rejected' in decision) reject(row as LineRange, decision.rejected)
        else {
          sent.push(row as Edit)
          writes.push(decision)
        }
      }
      if (dryRun) counts.changed += writes.length
      // Those that somebody else has changed since they were read are decided once more.
      open = dryRun || writes.length === 0 ? [] : await writeEdits(sent, writes, lines)
    }
    next = lines.lastLine + 1
    progress.update(counts.changed + counts.unchanged + counts.rejected, source.share())
  }

  /** Returns those that were not written because their animals are no longer what was read. */
  async function writeEdits(
    edits: readonly Edit[],
    writes: readonly Write[],
    lines: LineRange,
  ): Promise<Edit[]> {
    const outcomes = await store.write(writes).catch(error => {
      throw notStored(lines, error)
    })
    const lost: Outcome | undefined = outcomes.find(({ kind }) => kind === 'unavailable')
    counts.changed += outcomes.filter(({ kind }) => kind === 'updated').length
    counts.unchanged += outcomes.filter(({ kind }) => kind === 'unchanged').length
    if (lost?.kind === 'unavailable') throw notStored(lines, lost.cause)
    return edits.filter((_, index) => ['other_tag', 'missing'].includes(outcomes[index]?.kind ?? ''))
  }

  if (task.overwrite) say('No ETags are compared: what was changed since the export will be overwritten.')
  await storeBatches(task, batchesOf(task), updateBatch, describeEarlyEnd)
  if (dryRun) {
    if (counts.rejected > 0 && !task.skipInvalid)
      throw new CommandFailed(
        `${describeDryRun()} Without --skip-invalid, a run would stop at the first row that is rejected.`,
      )
    return say(describeDryRun())
  }
  say(`${describeCounts()} in ${secondsSince(start)} s.`)
}

interface Batch extends LineRange {
  readonly rows: readonly ReadRow[]
}

interface ReadRow extends LineRange {
  /** An error if it is malformed. */
  readonly row: Row | InvalidEntry
}

async function* batchesOf(task: ImportTask): AsyncGenerator<Batch> {
  const { source, format, fromLine, signal } = task
  const stream = addAbortSignal(signal, source.stream)
  let rows: ReadRow[] = []
  const take = () => ({
    rows,
    firstLine: rows[0]?.firstLine ?? 0,
    lastLine: rows.at(-1)?.lastLine ?? 0,
  })
  for await (const entry of readEntries(stream, CHANGED_ANIMALS, format, fromLine, text =>
    tell(task, text),
  )) {
    rows.push({ firstLine: entry.firstLine, lastLine: entry.lastLine, row: readRow(entry) })
    if (rows.length < BATCH_SIZE) continue
    yield take()
    rows = []
  }
  if (rows.length > 0) yield take()
}

function readRow(entry: Entry): Row | InvalidEntry {
  try {
    return entry.row()
  } catch (error) {
    if (error instanceof InvalidEntry) return error
    throw error
  }
}

/** Returns true if the file has tags, and undefined if no row can be read. Throws a SettingsError for a file without tags. */
function requireTags(rows: readonly ReadRow[], file: string): true | undefined {
  const readable = rows.map(({ row }) => row).filter(row => 'members' in row)
  if (readable.some(({ members }) => members.etag !== undefined)) return true
  if (readable.length === 0) return undefined
  throw new SettingsError([
    `Nothing was changed: ${file} has no ETags, so it would overwrite what was changed since the export. Use a file from export --etags, or add --overwrite.`,
  ])
}

/** What a row makes of an animal. */
interface Edit extends LineRange {
  readonly id: bigint
  readonly tag: string | undefined
  readonly changes: AnimalChanges
  readonly isCsv: boolean
}

const TAG = new RegExp(`^"?([0-9a-f]{${TAG_DIGITS}})"?$`)

/** A row that cannot be written, and why. */
interface Rejected extends LineRange {
  readonly rejected: string
}

/** A row that was not edited is unchanged, whatever became of its animal. */
type CheckedRow = Edit | Rejected | 'unchanged'

function isEdit(row: CheckedRow): row is Edit {
  return row !== 'unchanged' && 'changes' in row
}

function checkRow({ row, ...lines }: ReadRow, ids: IdSet, hasTags: boolean): CheckedRow {
  try {
    if (row instanceof InvalidEntry) throw row
    const edit = { ...lines, ...parseEdit(row, ids, hasTags) }
    return isUnedited(edit) ? 'unchanged' : edit
  } catch (error) {
    if (error instanceof InvalidEntry) return { ...lines, rejected: error.message }
    throw error
  }
}

function parseEdit(row: Row, ids: IdSet, hasTags: boolean): Omit<Edit, keyof LineRange> {
  const { isCsv, members } = row
  const { id, name, categoryId, etag } = members
  // An empty cell, or null, takes the status away.
  const status = members.status ?? undefined
  const tag = typeof etag === 'string' ? TAG.exec(etag)?.[1] : undefined
  const found = findProblems({ name, categoryId, status })
  // Whether an apostrophe belongs to the name depends on the animal, so such a name is checked later.
  const isLater = (member: string) => member === 'name' && isCsv && String(name).startsWith("'")
  const problems = [
    { member: 'id', problem: problemOfId(id, ids) },
    { member: 'etag', problem: hasTags && tag === undefined ? problemOfTag(etag) : undefined },
    ...found.filter(({ member }) => member in members && !isLater(member)),
  ]
  rejectProblems(problems.filter(isProblem), row)
  return {
    id: id as bigint,
    tag: hasTags ? tag : undefined,
    changes: {
      ...('name' in members && { name: name as string }),
      ...('categoryId' in members && { categoryId: categoryId as bigint }),
      ...('status' in members && { status: (status ?? null) as Status | null }),
    },
    isCsv,
  }
}

function isProblem(found: { member: string; problem: string | undefined }): found is {
  member: string
  problem: string
} {
  return found.problem !== undefined
}

function problemOfId(id: unknown, ids: IdSet): string | undefined {
  if (id === undefined || id === null) return 'id is required'
  if (typeof id !== 'bigint') return `id must be an integer from ${INT64_MIN} to ${INT64_MAX}`
  return ids.add(id) ? undefined : `id must not be that of an earlier row${roundingHint(id)}`
}

function problemOfTag(etag: unknown): string {
  return etag === undefined || etag === null
    ? 'etag is required, because other rows have one'
    : `etag must be as it was exported, ${TAG_DIGITS} hexadecimal digits in quotes`
}

/** Whether the row is as it was exported: its values are those of its tag. */
function isUnedited({ id, tag, changes: { name, categoryId, status }, isCsv }: Edit): boolean {
  // An export to JSON Lines has no status for an animal without one.
  const hasAll = name !== undefined && categoryId !== undefined && (!isCsv || status !== undefined)
  if (tag === undefined || !hasAll) return false
  const names = [name, ...(isCsv && hasSafetyApostrophe(name) ? [name.slice(1)] : [])]
  return names.some(
    name => tagOf(renderAnimal({ id, name, categoryId, status: status ?? undefined })) === tag,
  )
}

/** Whether an export with --spreadsheet-safe may have added the apostrophe. */
function hasSafetyApostrophe(name: string): boolean {
  return name.startsWith("'") && spreadsheetSafe(name.slice(1)) === name
}

interface Found {
  readonly animal: Animal
  readonly tag: string
}

async function findAnimals(
  store: Store,
  edits: readonly Edit[],
  lines: LineRange,
): Promise<ReadonlyMap<bigint, Found>> {
  // On PostgreSQL, the store sends them together.
  const found = await Promise.all(edits.map(({ id }) => store.findAnimalAsJson(id))).catch(error => {
    throw notStored(lines, error)
  })
  return new Map(
    found
      .filter(json => json !== undefined)
      .map(json => {
        const animal = parseAnimalJson(json) as Animal
        return [animal.id, { animal, tag: tagOf(json) }]
      }),
  )
}

/** A write has the tag of what was read as its condition, so that no change by somebody else is lost. */
function planWrite(edit: Edit, found: Found | undefined): Write | Pick<Rejected, 'rejected'> | 'unchanged' {
  const { id, tag } = edit
  if (found === undefined) return { rejected: `no animal has the id ${id}${roundingHint(id)}.` }
  const changes = changesOf(edit, found.animal)
  if (Object.keys(changes).length === 0) return 'unchanged'
  const [problem] = findProblems({ ...found.animal, name: changes.name ?? found.animal.name })
  if (problem !== undefined) return { rejected: `${problem.problem}.` }
  if (tag !== undefined && tag !== found.tag)
    return { rejected: `the animal ${id} was changed since the export${roundingHint(id)}.` }
  return { kind: 'update', id, changes, conditions: { ifMatch: [found.tag] } }
}

/** The digits that a spreadsheet keeps of a number. */
const SPREADSHEET_DIGITS = 15

function roundingHint(id: bigint): string {
  const digits = `${id}`.replace('-', '').length
  return digits > SPREADSHEET_DIGITS
    ? `; spreadsheets round ids of more than ${SPREADSHEET_DIGITS} digits`
    : ''
}

/** Returns the members in which the row differs from the animal as it is. */
function changesOf({ changes, isCsv }: Edit, animal: Animal): AnimalChanges {
  const { categoryId, status } = changes
  const name =
    isCsv && changes.name !== undefined ? withoutSafetyApostrophe(changes.name, animal.name) : changes.name
  return {
    ...(name !== undefined && name !== animal.name && { name }),
    ...(categoryId !== undefined && categoryId !== animal.categoryId && { categoryId }),
    ...(status !== undefined && (status ?? undefined) !== animal.status && { status }),
  }
}

/**
 * Returns the name that a cell stands for: without the apostrophe if --spreadsheet-safe gives one to the name as it is. A name that
 * was not edited stays, whichever way it was exported.
 */
function withoutSafetyApostrophe(cell: string, name: string): string {
  const exported = spreadsheetSafe(name)
  if (exported === name || cell === name) return cell
  return cell.replace(/^'/, '')
}
