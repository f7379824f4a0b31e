#!/bin/sh
# Patroni runs this once, on the first leader, with the URL of the server as its argument.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$1" \
  --command='create database animals' \
  --command='\connect animals' \
  --file="$(dirname "$0")/../postgres/roles.sql"
