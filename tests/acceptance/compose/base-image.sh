#!/usr/bin/env bash
# Make the base image NAME of stand-in.yml from Debian's packages (about a minute, as root, with debootstrap):
#   tests/acceptance/compose/base-image.sh remand-test-base:bookworm
# If PIP_CERT names a bundle of certificates, the image trusts it: for registries behind a proxy of one's own.
set -euo pipefail
name=${1:?usage: $0 NAME:TAG}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,postgresql,redis-server,prometheus,wget \
  bookworm "$root" > /dev/null
# As in the official image of Postgres; Docker gives a tmpfs the mode of the folder below it.
chroot "$root" install -d -o postgres -g postgres -m 1777 /var/lib/postgresql/data
chroot "$root" install -d -o postgres -g postgres -m 3777 /run/postgresql
# As in the official image of Prometheus.
chroot "$root" install -d -o nobody -g nogroup /prometheus
bundle=/etc/ssl/certs/ca-certificates.crt
variables="PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
if [ -n "${PIP_CERT:-}" ]; then
  cp "$PIP_CERT" "$root$bundle"
  variables="$variables PIP_CERT=$bundle"
fi
tar -C "$root" -c . | docker import --change "ENV $variables" - "$name"
