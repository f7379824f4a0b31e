// In version 1.0 an animal could not change, so a reference to it was enough to repeat the first answer. Migration 008 stores answers.
export default `
  create table idempotency_keys (
    scope text not null,
    key text not null,
    animal_id integer not null references animals (id),
    created_at integer not null,
    primary key (scope, key)
  ) strict, without rowid;

  create index idempotency_keys_by_age on idempotency_keys (created_at);
`
