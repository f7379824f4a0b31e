-- Run once by a superuser in psql 14 or later, with the passwords of the new roles in the environment:
--   OWNER_PASSWORD=… SERVICE_PASSWORD=… psql --dbname=animals --file=deploy/postgres/roles.sql
-- In a database `animals`, creates the role `animals_owner`, which owns the schema, and the role `animals` of the service,
-- which may only read and write rows. In another database, the roles are named after that one. Stops at the first error, and
-- then changes nothing. psql quotes names and passwords, so they may contain any character.

\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
\if :{?owner_password}
\else
  do 'begin raise ''OWNER_PASSWORD is not set.''; end';
\endif
\if :{?service_password}
\else
  do 'begin raise ''SERVICE_PASSWORD is not set.''; end';
\endif
\set service :DBNAME
\set owner :DBNAME _owner

begin;
create role :"owner" login password :'owner_password';
create role :"service" login password :'service_password';
revoke all on database :"DBNAME" from public;
grant connect on database :"DBNAME" to :"owner", :"service";
revoke all on schema public from public;
grant usage, create on schema public to :"owner";
grant usage on schema public to :"service";
alter default privileges for role :"owner" in schema public
  grant select, insert, update, delete on tables to :"service";
alter default privileges for role :"owner" in schema public
  grant usage on sequences to :"service";
commit;
