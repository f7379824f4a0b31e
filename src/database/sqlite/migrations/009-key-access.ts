import type { DatabaseSync } from 'node:sqlite'

// What a key may do, and the day on which it was last used, such as 2026-11-19. SQLite has no "add column if not exists".
export default (database: DatabaseSync) => {
  const columns = database.prepare("select name from pragma_table_info('api_keys')").all()
  if (columns.some(({ name }) => name === 'access')) return
  database.exec(`
    alter table api_keys add column access text not null default 'write' check (access in ('read', 'write'));
    alter table api_keys add column last_used text;
  `)
}
