import type { DatabaseSync } from 'node:sqlite'

// The folded name of an animal whose name is not ASCII (docs/decisions/search.md). SQLite has no "add column if not exists".
export default (database: DatabaseSync) => {
  const columns = database.prepare("select name from pragma_table_info('animals')").all()
  if (columns.some(({ name }) => name === 'search_name')) return
  database.exec('alter table animals add column search_name text')
}
