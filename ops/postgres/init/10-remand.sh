#!/bin/sh
# Runs once, when the data folder is new: a database, and a role for Remand that owns its schema and nothing else.
# The password comes from the environment into psql, not over its command line.
set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv password REMAND_ROLE_PASSWORD
create role remand login password :'password' nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
create database remand;
revoke all on database remand, postgres, template1 from public;
grant connect on database remand to remand;
\connect remand
revoke all on schema public from public;
create schema remand authorization remand;
SQL
