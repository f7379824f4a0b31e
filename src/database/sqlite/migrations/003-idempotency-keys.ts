// An animal never changes, so a reference to it is enough to repeat the first response.
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
