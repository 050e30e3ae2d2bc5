#!/usr/bin/env bash
# Try docker-compose.yml for real, in a project of its own that is removed at the end. Needs a Docker engine.
#   tests/acceptance/compose/try.sh                            with the images the file names
#   tests/acceptance/compose/try.sh remand-test-base:bookworm  with one image of base-image.sh for all of them
# Exit code: 0 all held · 1 something did not · 77 no Docker engine answers.
set -uo pipefail
cd "$(dirname "$0")/../../.."
here=tests/acceptance/compose
base=${1:-}
docker info > /dev/null 2>&1 || { echo "no Docker engine answers" >&2; exit 77; }
docker buildx version > /dev/null 2>&1 || export DOCKER_BUILDKIT=0

settings=$(mktemp)
for name in POSTGRES DATABASE READER REDIS FLOWER ADMIN GRAFANA; do
  echo "REMAND_${name}_PASSWORD=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done > "$settings"
cat >> "$settings" <<END
REMAND_IMAGE=remand:try
REMAND_FLOWER_PORT=15555
REMAND_API_PORT=18484
REMAND_GRAFANA_PORT=13000
REMAND_DASHBOARD_URL=http://127.0.0.1:18484
REMAND_HANDLERS=remand_examples.payments.handlers,remand_examples.data_import.handlers,flows.slow
REMAND_TEMPLATES=examples,flows
END
files=(-f docker-compose.yml -f $here/flows.yml)
if [ -n "$base" ]; then
  files+=(-f $here/stand-in.yml)
  for name in BASE POSTGRES REDIS PROMETHEUS; do echo "REMAND_${name}_IMAGE=$base"; done >> "$settings"
fi

dc() { docker compose --project-name remand-try --env-file "$settings" "${files[@]}" "$@"; }
remand() { dc exec -T maintenance-worker remand "$@"; }
sql() { dc exec -T postgres psql -U postgres -p 5432 -d remand -Atc "$1"; }
secret() { sed -n "s/^REMAND_$1_PASSWORD=//p" "$settings"; }
submit_slow() { remand submit flows/slow --input "{\"seconds\": $1}" --json | grep -o '[0-9a-f-]\{36\}' | head -1; }
step() { sql "select $2 from remand.steps where workflow_id = '$1'"; }
holder() {
  sql "select split_part(w.hostname, '@', 2) from remand.steps s join remand.workers w on w.id = s.worker
        where s.workflow_id = '$1' and s.state = 'in_progress'"
}
health() { docker inspect --format '{{.State.Health.Status}}' "$(dc ps -q "$1")"; }
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
# until_is SECONDS WANTED COMMAND...: succeed once the command prints what is wanted.
until_is() {
  local end=$((SECONDS + $1)) wanted=$2; shift 2
  while [ "$("$@")" != "$wanted" ]; do [ $SECONDS -lt $end ] || return 1; sleep 0.3; done
}

failures=0
check() {
  local what=$1; shift
  if "$@"; then echo "ok      $what"; else echo "FAILED  $what"; failures=$((failures + 1)); fi
}
is() { [ "$1" = "$2" ] || { echo "        wanted '$2', got '$1'"; return 1; }; }
clean_up() { dc --profile demo --profile monitoring down --volumes --remove-orphans > /dev/null 2>&1; docker rmi remand:try > /dev/null 2>&1; rm -f "$settings" "$settings.log"; }
trap clean_up EXIT

no_start_without_passwords() {
  ! docker compose --project-name remand-try --env-file /dev/null config -q 2> /dev/null
}
builds() { dc build > "$settings.log" 2>&1 || { tail -20 "$settings.log"; return 1; }; }
starts() { dc up -d --wait > "$settings.log" 2>&1 || { tail -20 "$settings.log"; dc ps --all; return 1; }; }
completes() { remand submit "$1" --wait --timeout 60 > /dev/null; }
retries_by_policy() {
  dc --profile demo up -d --wait gateway > /dev/null 2>&1 || return 1
  local order id
  order='{"order_id": "o-1", "amount": 895, "currency": "EUR", "items": [{"sku": "tea", "quantity": 1, "unit_price": 895}],
          "customer": {"id": "c-1", "email": "ada@example.com", "card": "tok_unavailable"}}'
  id=$(remand submit payments/order --input "$order" --wait --timeout 60 --json | grep -o '[0-9a-f-]\{36\}' | head -1)
  is "$(sql "select state, attempt, failures from remand.steps where workflow_id = '$id' and name = 'charge'")" "complete|3|2"
}
completes_for_a_celery_app() {
  dc exec -T maintenance-worker python - <<'END'
import os
from celery import Celery
from remand import Client
client = Client(Celery("shop", broker=os.environ["REMAND_BROKER_URL"]), timeout=20)
order = client.submit("flows/slow", {"seconds": 0.1})
assert client.wait(order.workflow_id, timeout=30)["state"] == "complete"
END
}
scales() { dc up -d --wait --scale step-worker=3 > /dev/null 2>&1 && is "$(dc ps -q step-worker | wc -l)" 3; }
rescues() {
  local id killed started
  id=$(submit_slow 5); until_is 20 in_progress step "$id" state || return 1
  killed=$(holder "$id"); started=$SECONDS
  docker kill --signal SIGKILL "$killed" > /dev/null
  until_is 20 "in_progress|2|1" step "$id" "state, attempt, lost_attempts" || return 1
  echo "        taken back and begun again about $((SECONDS - started)) s after the kill"
  until_is 20 complete step "$id" state
}
is_lone() { dc up -d --wait --scale step-worker=1 > /dev/null 2>&1; }
stops_warmly() {
  local id container started
  id=$(submit_slow 5); until_is 20 in_progress step "$id" state || return 1
  container=$(holder "$id"); started=$SECONDS
  dc stop step-worker > /dev/null 2>&1
  echo "        stopped in $((SECONDS - started)) s"
  is "$(docker inspect --format '{{.State.ExitCode}}' "$container")" 0 &&
    is "$(step "$id" "state, attempt, lost_attempts")" "complete|1|0" &&
    docker logs "$container" 2>&1 | grep -q "Warm shutdown"
}
gives_long_steps_back() {
  local id started
  dc start step-worker > /dev/null 2>&1
  id=$(submit_slow 40); until_is 30 in_progress step "$id" state || return 1
  started=$SECONDS; dc stop step-worker > /dev/null 2>&1
  echo "        stopped in $((SECONDS - started)) s"
  is "$(step "$id" "state, failures, lost_attempts")" "enqueued|0|0" || return 1
  dc start step-worker > /dev/null 2>&1
  until_is 30 in_progress step "$id" state && until_is 60 complete step "$id" state
}
hears_after_reconnects() {
  local redis; redis=$(dc ps -q redis)
  for _ in 1 2 3; do docker restart --time 0 "$redis" > /dev/null; done
  dc exec -T redis redis-cli client kill type normal > /dev/null
  until_is 30 healthy health redis && completes data_import/airports
}
goes_red_when_deaf() {
  local id
  dc exec -T maintenance-worker celery -A remand_workers control cancel_consumer steps > /dev/null 2>&1
  id=$(submit_slow 0.1)
  until_is 90 unhealthy health step-worker || return 1
  dc exec -T maintenance-worker celery -A remand_workers control add_consumer steps > /dev/null 2>&1
  until_is 30 complete step "$id" state && until_is 60 healthy health step-worker
}
flower_asks_for_a_login() {
  local url=http://127.0.0.1:15555
  is "$(status $url/)" 401 && is "$(status $url/api/workers)" 401 &&
    is "$(status -u "remand:$(secret FLOWER)" $url/)" 200 &&
    is "$(status $url/remand)" 401 && is "$(status -u "remand:$(secret FLOWER)" $url/remand)" 200 &&
    is "$(status -u "remand:$(secret FLOWER)" -X POST $url/api/worker/shutdown/any)" 403
}
shows_no_password() {
  local page
  for page in workers broker tasks remand api/remand; do
    curl -s -u "remand:$(secret FLOWER)" "http://127.0.0.1:15555/$page"
  done > "$settings.seen"
  dc logs --no-color >> "$settings.seen" 2>&1
  local found=0
  for name in POSTGRES DATABASE READER REDIS FLOWER ADMIN GRAFANA; do grep -q -F "$(secret $name)" "$settings.seen" && found=1; done
  rm -f "$settings.seen"
  is $found 0
}
publishes_two_doors_on_loopback() {
  is "$(docker ps --filter label=com.docker.compose.project=remand-try --format '{{.Ports}}' | grep -- '->' | sort | paste -sd ' ')" \
    "127.0.0.1:15555->5555/tcp 127.0.0.1:18484->8484/tcp"
}
server_asks_for_a_login() {
  local url=http://127.0.0.1:18484
  is "$(status $url/api/v1/health/live)" 200 && is "$(status $url/api/v1/workflows)" 401 &&
    is "$(status -H 'Host: elsewhere.example' $url/api/v1/health/live)" 421 &&
    is "$(status -d "name=admin&password=wrong" $url/login)" 401 &&
    is "$(status -d "name=admin&password=$(secret ADMIN)" $url/login)" 303 &&
    is "$(status -H "Authorization: Bearer $(token viewer)" $url/api/v1/workflows)" 200
}
token() { dc exec -T api remand token create "try-$1-$RANDOM" --role "$1" --json | sed 's/.*"token": "\([^"]*\)".*/\1/'; }
# Prometheus has no door: it is asked from inside its container.
asked() { dc exec -T prometheus wget -q -O - "http://127.0.0.1:9090/api/v1/query?query=$1" | sed -n 's/.*,"\([^"]*\)"\]}\]}}.*/\1/p'; }
is_watched() {
  local service=prometheus
  [ -n "$base" ] || service=grafana # nothing stands in for it
  dc --profile monitoring up -d --wait $service > "$settings.log" 2>&1 || { tail -20 "$settings.log"; return 1; }
  until_is 60 1 asked 'min(up{job="remand"})' && until_is 60 3 asked 'sum(up{job="remand-workers"})' &&
    until_is 60 1 asked 'max(remand_queue_workers{queue="steps"})' &&
    is "$(dc exec -T prometheus wget -q -O - http://127.0.0.1:9090/api/v1/rules | grep -o DLQSizeHigh | head -1)" DLQSizeHigh
}
keeps_its_token_and_replaces_one_that_was_revoked() {
  remake() { dc --profile monitoring run --rm -T metrics-token 2> /dev/null; }
  remake | grep -q "left as it is" || return 1
  remand token revoke prometheus > /dev/null && until_is 60 0 asked 'min(up{job="remand"})' &&
    remake | grep -q "a new token" && until_is 60 1 asked 'min(up{job="remand"})'
}
grafana_shows_the_board_to_who_signs_in() {
  local url=http://127.0.0.1:13000 admin; admin="admin:$(secret GRAFANA)"
  is "$(status $url/api/dashboards/uid/remand)" 401 && is "$(status -u admin:admin $url/api/org)" 401 &&
    is "$(status -u "$admin" $url/api/dashboards/uid/remand)" 200 &&
    curl -s -u "$admin" "$url/api/datasources/proxy/uid/prometheus/api/v1/query?query=remand_info" | grep -q '"version"'
}
role_owns_its_schema_alone() {
  dc exec -T step-worker python - <<'END'
import os, psycopg2
url = os.environ["REMAND_DATABASE_URL"]
connection = psycopg2.connect(url)
connection.autocommit = True
cursor = connection.cursor()
for refused in ("create schema other", "create table public.t (a int)", "create database d", "create role r",
                "copy (select 1) to program 'id'"):
    try:
        cursor.execute(refused)
    except psycopg2.errors.InsufficientPrivilege:
        continue
    raise SystemExit(f"may: {refused}")
for other in (url.rpartition("/")[0] + "/postgres", url.replace(url.split(":")[2].split("@")[0], "wrong")):
    try:
        psycopg2.connect(other)
    except psycopg2.OperationalError:
        continue
    raise SystemExit("connects where it should not")
END
}
redis_asks_for_a_password() { dc exec -T -e REDISCLI_AUTH= redis redis-cli ping 2>&1 | grep -q NOAUTH; }
runs_unprivileged() {
  is "$(dc exec -T step-worker id -u)" 10001 &&
    ! dc exec -T step-worker touch /srv/remand/x 2> /dev/null &&
    is "$(dc exec -T step-worker sh -c 'grep CapEff /proc/self/status' | tr -d '\t ')" "CapEff:0000000000000000"
}
leaves_nothing() {
  dc --profile demo --profile monitoring down --volumes > /dev/null 2>&1
  is "$(docker ps -aq --filter label=com.docker.compose.project=remand-try)$(docker volume ls -q | grep remand-try)" ""
}

check "refuses to start without passwords" no_start_without_passwords
check "builds" builds
began=$SECONDS
check "is up and healthy" starts
echo "        after $((SECONDS - began)) s"
check "runs a workflow, asked by command line" completes data_import/airports
check "runs a workflow, asked by a Celery app" completes_for_a_celery_app
check "retries what fails, by policy" retries_by_policy
check "publishes two doors, on loopback" publishes_two_doors_on_loopback
check "the server asks for a login" server_asks_for_a_login
check "Flower asks for a login and changes nothing" flower_asks_for_a_login
check "Prometheus sees the server and every worker" is_watched
check "its token stays, and is replaced once it was revoked" keeps_its_token_and_replaces_one_that_was_revoked
if [ -z "$base" ]; then check "Grafana shows the board to who signs in" grafana_shows_the_board_to_who_signs_in; fi
check "Redis asks for a password" redis_asks_for_a_password
check "the database role owns its schema and no more" role_owns_its_schema_alone
check "runs as nobody in particular, on a read-only file system" runs_unprivileged
check "three step workers" scales
check "a killed worker's step is rescued" rescues
check "one step worker again" is_lone
check "stop lets a running step end: one attempt" stops_warmly
check "stop gives a longer step back, uncounted" gives_long_steps_back
check "hears its bells after Redis went thrice" hears_after_reconnects
check "a deaf worker turns red" goes_red_when_deaf
check "no password in logs or Flower" shows_no_password
check "down leaves nothing" leaves_nothing
echo "$failures failed"
[ "$failures" -eq 0 ]
