#!/bin/sh
# Stands in for the entrypoint of the postgres image: the part of it that docker-compose.yml relies on.
set -eu
PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
export PATH PGDATA=/var/lib/postgresql/data
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  # shellcheck disable=SC2086 # a list of options
  initdb --username=postgres --pwfile=/tmp/password --auth-local=trust --encoding=UTF8 --locale=C.UTF-8 \
    ${POSTGRES_INITDB_ARGS:-}
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  pg_ctl --wait --options="-c listen_addresses=''" start
  for script in /docker-entrypoint-initdb.d/*.sh; do "$script"; done
  pg_ctl --wait --mode=fast stop
fi
exec postgres -c listen_addresses='*'
