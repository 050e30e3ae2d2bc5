#!/bin/sh
# Runs once, when the data folder is new: a database, a role for Remand that owns its schema and nothing else, and one
# for Flower, which the migration lets read what its tab shows: queues, breakers and workers, no inputs or results.
# The passwords come from the environment into psql, not over its command line.
set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv password REMAND_ROLE_PASSWORD
\getenv reader REMAND_READER_ROLE_PASSWORD
create role remand login password :'password' nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
create role remand_reader login password :'reader' nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
alter role remand_reader set default_transaction_read_only = on;
create database remand;
revoke all on database remand, postgres, template1 from public;
grant connect on database remand to remand, remand_reader;
\connect remand
revoke all on schema public from public;
create schema remand authorization remand;
grant usage on schema remand to remand_reader;
SQL
