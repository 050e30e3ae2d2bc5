"""Who may use which route: the table below lists every route there is, and each is tried by everybody.

A route that is not in the table fails the test: write down who may use it, on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from remand_app.config.web import OWN_PATHS
from remand_app.domain.access import LEAST_ROLE, Permission, Role
from remand_app.domain.errors import AccessInvalid
from remand_app.store.database import Database
from tests.support.clock import FakeClock
from tests.support.databases import empty_all
from tests.support.invariants import check_invariants
from tests.support.web import ROUTES, Web

PUBLIC = "public"
ANYBODY = "anybody signed in"

TABLE: dict[str, str | Permission] = {
    "GET /login": PUBLIC,
    "POST /login": PUBLIC,
    "GET /login/link": PUBLIC,
    "POST /login/link": PUBLIC,
    "GET /login.css": PUBLIC,
    "GET /login.js": PUBLIC,
    "POST /logout": ANYBODY,
    "GET /metrics": Permission.METRICS_READ,
    # API
    "GET /api/v1/health/live": PUBLIC,
    "GET /api/v1/health/ready": PUBLIC,
    "GET /api/v1/health": Permission.QUEUES_READ,
    "GET /api/v1/openapi.json": ANYBODY,
    "GET /api/v1/breakers": Permission.BREAKERS_READ,
    "GET /api/v1/breakers/{name:path}": Permission.BREAKERS_READ,
    "PATCH /api/v1/breakers/{name:path}": Permission.BREAKERS_WRITE,
    "GET /api/v1/queues": Permission.QUEUES_READ,
    "GET /api/v1/queues/{queue}": Permission.QUEUES_READ,
    "PATCH /api/v1/queues/{queue}": Permission.QUEUES_WRITE,
    "GET /api/v1/queues/{queue}/settings": Permission.QUEUES_READ,
    "PATCH /api/v1/queues/{queue}/settings": Permission.ADMIN_WRITE,
    "GET /api/v1/dead-queues": Permission.LETTERS_READ,
    "GET /api/v1/dead-queues/{dead_queue}": Permission.LETTERS_READ,
    "POST /api/v1/dead-queues": Permission.ADMIN_WRITE,
    "PATCH /api/v1/dead-queues/{dead_queue}": Permission.ADMIN_WRITE,
    "DELETE /api/v1/dead-queues/{dead_queue}": Permission.ADMIN_WRITE,
    "GET /api/v1/workers": Permission.QUEUES_READ,
    "GET /api/v1/sweeps": Permission.QUEUES_READ,
    "GET /api/v1/archive": Permission.QUEUES_READ,
    "GET /api/v1/archive/runs": Permission.QUEUES_READ,
    "GET /api/v1/notifications": Permission.LETTERS_READ,
    "GET /api/v1/notifications/targets": Permission.QUEUES_READ,
    "PATCH /api/v1/notifications/targets/{target}": Permission.QUEUES_WRITE,
    "GET /api/v1/dlq/staleness": Permission.WORKFLOWS_READ,
    "GET /api/v1/templates": Permission.TEMPLATES_READ,
    "GET /api/v1/templates/{namespace}/{name}": Permission.TEMPLATES_READ,
    "PATCH /api/v1/templates/{namespace}/{name}": Permission.TEMPLATES_WRITE,
    "GET /api/v1/templates/{namespace}/{name}/versions": Permission.TEMPLATES_READ,
    "GET /api/v1/templates/{namespace}/{name}/versions/{version}": Permission.TEMPLATES_READ,
    "POST /api/v1/templates/validate": Permission.TEMPLATES_READ,
    "GET /api/v1/workflows": Permission.WORKFLOWS_READ,
    "POST /api/v1/workflows": Permission.WORKFLOWS_WRITE,
    "GET /api/v1/workflows/{workflow_id}": Permission.WORKFLOWS_READ,
    "PATCH /api/v1/workflows/{workflow_id}": Permission.WORKFLOWS_WRITE,
    "GET /api/v1/workflows/{workflow_id}/history": Permission.WORKFLOWS_READ,
    "GET /api/v1/workflows/{workflow_id}/steps": Permission.WORKFLOWS_READ,
    "GET /api/v1/workflows/{workflow_id}/steps/{step}": Permission.WORKFLOWS_READ,
    "PATCH /api/v1/workflows/{workflow_id}/steps/{step}": Permission.WORKFLOWS_WRITE,
    "GET /api/v1/workflows/{workflow_id}/steps/{step}/attempts": Permission.WORKFLOWS_READ,
    "GET /api/v1/dlq": Permission.LETTERS_READ,
    "GET /api/v1/dlq/stats": Permission.LETTERS_READ,
    "GET /api/v1/dlq/investigation-queue": Permission.LETTERS_READ,
    "GET /api/v1/dlq/by-workflow/{workflow_id}": Permission.LETTERS_READ,
    "GET /api/v1/dlq/{letter_id}": Permission.LETTERS_READ,
    "PATCH /api/v1/dlq/{letter_id}": Permission.LETTERS_WRITE,
    "POST /api/v1/dlq/{letter_id}/requeue": Permission.LETTERS_WRITE,
    "GET /api/v1/dlq/{letter_id}/notes": Permission.LETTERS_READ,
    "POST /api/v1/dlq/{letter_id}/notes": Permission.LETTERS_WRITE,
    "GET /api/v1/dlq/groups": Permission.LETTERS_READ,
    "GET /api/v1/dlq/groups/{group_id}": Permission.LETTERS_READ,
    "PATCH /api/v1/dlq/groups/{group_id}": Permission.LETTERS_WRITE,
    "POST /api/v1/dlq/groups/{group_id}/notes": Permission.LETTERS_WRITE,
    "GET /api/v1/redrives": Permission.LETTERS_READ,
    "POST /api/v1/redrives": Permission.LETTERS_WRITE,
    "GET /api/v1/redrives/{redrive_id}": Permission.LETTERS_READ,
    "PATCH /api/v1/redrives/{redrive_id}": Permission.LETTERS_WRITE,
    "GET /api/v1/redrives/{redrive_id}/forecast": Permission.LETTERS_READ,
    "GET /api/v1/redrives/{redrive_id}/items": Permission.LETTERS_READ,
    "GET /api/v1/dlq/{letter_id}/suggestions": Permission.LETTERS_READ,
    "GET /api/v1/dlq/groups/{group_id}/suggestions": Permission.LETTERS_READ,
    "GET /api/v1/audit": Permission.ADMIN_READ,
    # Dashboard
    "GET /": Permission.WORKFLOWS_READ,
    "GET /static/{path}": PUBLIC,
    "GET /live": ANYBODY,
    "GET /dlq": Permission.LETTERS_READ,
    "GET /dlq/triage": Permission.LETTERS_READ,
    "GET /dlq/letters": Permission.LETTERS_READ,
    "GET /dlq/letters/{letter_id}": Permission.LETTERS_READ,
    "POST /dlq/letters/{letter_id}/{verb}": Permission.LETTERS_WRITE,
    "POST /dlq/letters/{letter_id}/preview/{verb}": Permission.LETTERS_WRITE,
    "GET /dlq/groups/{group_id}": Permission.LETTERS_READ,
    "POST /dlq/groups/{group_id}/{verb}": Permission.LETTERS_WRITE,
    "GET /redrives": Permission.LETTERS_READ,
    "GET /redrives/new": Permission.LETTERS_WRITE,
    "POST /redrives/new": Permission.LETTERS_WRITE,
    "GET /redrives/{redrive_id}": Permission.LETTERS_READ,
    "POST /redrives/{redrive_id}/{verb}": Permission.LETTERS_WRITE,
    "GET /workflows": Permission.WORKFLOWS_READ,
    "GET /workflows/{workflow_id}": Permission.WORKFLOWS_READ,
    "POST /workflows/{workflow_id}/{verb}": Permission.WORKFLOWS_WRITE,
    "POST /workflows/{workflow_id}/preview/{verb}": Permission.WORKFLOWS_WRITE,
    "GET /queues": Permission.QUEUES_READ,
    "POST /queues/{queue}/{verb}": Permission.QUEUES_WRITE,
    "GET /workers": Permission.QUEUES_READ,
    "GET /sweeps": Permission.QUEUES_READ,
    "GET /archive": Permission.QUEUES_READ,
    "GET /staleness": Permission.WORKFLOWS_READ,
    "GET /breakers": Permission.BREAKERS_READ,
    "POST /breakers/{verb}": Permission.BREAKERS_WRITE,
    "GET /dead-queues": Permission.LETTERS_READ,
    "POST /dead-queues": Permission.ADMIN_WRITE,
    "POST /dead-queues/{name}/{verb}": Permission.ADMIN_WRITE,
    "POST /dead-queues/set": Permission.ADMIN_WRITE,
    "GET /templates": Permission.TEMPLATES_READ,
    "GET /templates/{namespace}/{name}/{version}": Permission.TEMPLATES_READ,
    "POST /templates/{namespace}/{name}/{verb}": Permission.TEMPLATES_WRITE,
    "GET /audit": Permission.ADMIN_READ,
}


@pytest.fixture(scope="module")
def web(_own_database: Database) -> Iterator[Web]:
    """Share one server: routes that are called with nothing change nothing."""
    empty_all(_own_database)
    web = Web(_own_database, FakeClock())
    yield web
    web.close()
    check_invariants(_own_database)


ID = str(UUID(int=1))
SIGNED_OUT = ("POST /logout",)
STREAMS = ("GET /live",)
"""Never ends for whom it lets in."""


def ask(client: httpx.Client, route: str) -> int:
    """Call a route with what nothing has in place of its parameters; return the status."""
    method, path = route.split(" ")
    path = re.sub(r"\{\w*id(:\w+)?\}", ID, path)
    return client.request(method, re.sub(r"\{\w+(:\w+)?\}", "nothing", path)).status_code


def tried(client: httpx.Client) -> dict[str, int]:
    return {route: ask(client, route) for route in ROUTES if route not in (*SIGNED_OUT, *STREAMS)}


def may(role: Role, needed: str | Permission) -> bool:
    return not isinstance(needed, Permission) or role.includes(LEAST_ROLE[needed])


def test_every_route_is_in_the_table_and_nothing_else() -> None:
    assert sorted(TABLE) == ROUTES


def test_nobody_gets_nothing_but_what_is_public(web: Web) -> None:
    found = tried(web.nobody()) | {route: ask(web.nobody(), route) for route in STREAMS}
    let_in = {route for route, status in found.items() if status not in {401, 303}}

    # To sign in with nothing is refused by the page itself.
    signs_in = {"POST /login", "POST /login/link"}
    assert let_in | signs_in == {route for route, needed in TABLE.items() if needed == PUBLIC}


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("kind", ["program", "browser"])
def test_a_role_may_what_the_table_says(web: Web, role: Role, kind: str) -> None:
    client = getattr(web, kind)(role)

    wrong = {
        route: status
        for route, status in tried(client).items()
        if not route.startswith("POST /login")
        and ((status == 403) == may(role, TABLE[route]) or status in {401, 500})
    }

    assert wrong == {}


@pytest.mark.parametrize("left_out", list(Permission))
def test_a_token_without_a_scope_may_everything_else(web: Web, left_out: Permission) -> None:
    client = web.program(Role.ADMIN, scopes=[one for one in Permission if one is not left_out])

    wrong = {
        route: status
        for route, status in tried(client).items()
        if not route.startswith("POST /login") and (status == 403) != (TABLE[route] is left_out)
    }

    assert wrong == {}


@pytest.mark.parametrize("only", list(Permission))
def test_a_token_with_one_scope_may_what_it_says_and_nothing_else(web: Web, only: Permission) -> None:
    client = web.program(Role.ADMIN, scopes=[only])

    wrong = {
        route: status
        for route, status in tried(client).items()
        if not route.startswith("POST /login")
        and ((status == 403) == (TABLE[route] in {only, PUBLIC, ANYBODY}) or status in {401, 500})
    }

    assert wrong == {}


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("scope", list(Permission))
def test_no_scope_lifts_a_token_above_its_role(web: Web, role: Role, scope: Permission) -> None:
    if role.includes(LEAST_ROLE[scope]):
        assert web.program(role, scopes=[scope]).get("/api/v1/openapi.json").status_code == 200
        return
    with pytest.raises(AccessInvalid):
        web.program(role, scopes=[scope])


def test_no_path_of_ours_can_be_the_one_the_dashboard_stands_beneath() -> None:
    first = {route.partition(" /")[2].partition("/")[0] for route in ROUTES} - {""}

    assert first | {"favicon.ico"} == OWN_PATHS
