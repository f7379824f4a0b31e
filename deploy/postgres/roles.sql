-- Runs once in psql, when the database is created. Creates the role that owns the schema, and the role of the service,
-- which may only read and write rows. psql quotes the passwords, so they may contain any character.

\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
create role animals_owner login password :'owner_password';
create role animals login password :'service_password';
revoke all on database animals from public;
grant connect on database animals to animals_owner, animals;
revoke all on schema public from public;
grant usage, create on schema public to animals_owner;
grant usage on schema public to animals;
alter default privileges for role animals_owner in schema public
  grant select, insert, update, delete on tables to animals;
alter default privileges for role animals_owner in schema public
  grant usage on sequences to animals;
