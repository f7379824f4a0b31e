// What a key may do, and the day on which it was last used, such as 2026-11-19.
export default `
  alter table api_keys
    add column if not exists access text not null default 'write' check (access in ('read', 'write')),
    add column if not exists last_used text;
`
