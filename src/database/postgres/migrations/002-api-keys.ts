// Times are in milliseconds since 1970.
export default `
  create table api_keys (
    id text primary key,
    name text not null,
    environment text not null check (environment in ('production', 'staging')),
    digest bytea not null unique check (length(digest) = 32),
    scope text not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint
  );
`
