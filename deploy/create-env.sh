#!/bin/sh
# Writes the passwords of deploy/compose.yaml to deploy/env/, one file for each program, so that each program gets only
# the secrets that it needs. If env/postgres.env exists, nothing is written. A value may contain any character except a
# line break.
set -eu

cd "$(dirname "$0")"
umask 077
mkdir -p env
if [ -e env/postgres.env ]; then
  echo 'env/postgres.env exists; nothing was changed.' >&2
  exit 1
fi

secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
owner=$(secret)
service=$(secret)
printf 'PGPASSWORD=%s\n' "$owner" > env/migrate.env
printf 'PGPASSWORD=%s\nANIMAL_STORE_API_KEY=%s\n' "$service" "$(secret)" > env/animals.env
cat >> env/animals.env << 'END'
# Daily backups are for a database in a SQLite file: BACKUP_FOLDER=/app/backups, with a volume there. For PostgreSQL, see
# docs/postgresql.md, Backup.
END
printf 'POSTGRES_PASSWORD=%s\nOWNER_PASSWORD=%s\nSERVICE_PASSWORD=%s\n' "$(secret)" "$owner" "$service" > env/postgres.env
