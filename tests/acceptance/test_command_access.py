"""Verbs over a real broker: who may call which, by which setting; where tokens are not. Source: E6."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from remand.client import Client, Refused, new_id
from remand_app.domain.access import Permission, Role
from remand_app.domain.commands import NEEDED
from remand_app.engine import access
from remand_app.engine.operate import Who
from tests.support.site import SUPPORT, Site
from tests.support.waiting import eventually

pytestmark = pytest.mark.once

TIMEOUT_SECONDS = 60
ANN = Who("ann")
ANSWERED_WITHOUT_TOKEN = {
    "open": set(NEEDED),
    "submit": {"remand.submit", "remand.submit_many", "remand.get"},
    "token": set(),
}
NOWHERE = str(new_id())
ARGUMENTS: dict[str, dict[str, Any]] = {
    "remand.submit": {"template": "site/nowhere"},
    "remand.submit_many": {"template": "site/nowhere", "requests": [{}]},
    "remand.get": {"workflow_id": NOWHERE},
    **{f"remand.{verb}": {"workflow_id": NOWHERE} for verb in ("cancel", "pause", "resume")},
    **{f"remand.{verb}_template": {"template": "site/nowhere"} for verb in ("pause", "resume")},
    **{
        f"remand.{verb}": {"workflow_id": NOWHERE, "step": "a"}
        for verb in ("retry", "resolve", "skip", "restart")
    },
    "remand.complete": {"workflow_id": NOWHERE, "step": "a", "result": 1},
    "remand.requeue": {"letter": NOWHERE},
}
REFUSALS = {"NOT_SIGNED_IN", "NOT_ALLOWED"}
Ask = Callable[..., str]


@pytest.fixture(scope="module", params=["submit", "token", "open"])
def mode(request: pytest.FixtureRequest, quiet_site: Site) -> Iterator[str]:
    name = f"control-{request.param}"
    chosen = {} if request.param == "submit" else {"REMAND_COMMANDS__ACCESS": request.param}
    queues = (*SUPPORT, "steps")
    quiet_site.start_worker(name, queues, env={**chosen, "REMAND_LOG_LEVEL": "DEBUG"}, concurrency=1)
    quiet_site.ready(name)
    yield request.param
    assert quiet_site.terminate(name) == 0


@pytest.fixture(scope="module")
def site(mode: str, quiet_site: Site) -> Site:
    return quiet_site


@pytest.fixture(scope="module")
def shop(quiet_site: Site) -> Iterator[Celery]:
    app = Celery("shop", broker=quiet_site.settings.broker_url, backend="rpc://", set_as_current=False)
    yield app
    app.close()


def token(site: Site, role: Role, scopes: list[Permission] | None = None, **more: Any) -> tuple[str, str]:
    name = f"t-{new_id().hex[-12:]}"
    _, secret = access.create_token(site.engine, name, role, ANN, scopes=scopes, **more)
    return f"token:{name}", secret


@pytest.fixture
def code(shop: Celery) -> Ask:
    """Call a verb that finds nothing to do, and return the code of what it says."""

    def ask(name: str, secret: str | None = None, **more: Any) -> str:
        sent = shop.send_task(
            name,
            kwargs={**ARGUMENTS[name], **more},
            queue="remand.commands",
            headers={} if secret is None else {"remand_token": secret},
        )
        return str(sent.get(timeout=TIMEOUT_SECONDS)["error"]["code"])

    return ask


def test_every_verb_is_in_the_table_of_permissions(quiet_site: Site) -> None:
    registered = quiet_site.run(
        str(Path(quiet_site.remand()[0]).with_name("python")), "-c",
        "from remand_workers.celery import app; app.loader.import_default_modules();"
        "import remand_workers.commands as c; print('\\n'.join(n for n, t in app.tasks.items()"
        " if t.Request == 'remand_workers.commands:Discreet'))",
    )  # fmt: skip

    assert set(registered.stdout.split()) == set(NEEDED) == set(ARGUMENTS), registered.stderr


def test_without_a_token_only_what_the_setting_says_is_served(mode: str, site: Site, code: Ask) -> None:
    for name in NEEDED:
        answer = code(name)
        assert (answer not in REFUSALS) == (name in ANSWERED_WITHOUT_TOKEN[mode]), (name, answer)
        assert answer != "NOT_ALLOWED"


def test_a_token_that_is_no_good_is_refused_whatever_the_setting(site: Site, code: Ask) -> None:
    _, revoked = token(site, Role.ADMIN)
    [(name,)] = site.database.call("select name from remand.api_tokens order by id desc limit 1")
    access.revoke_token(site.engine, name, ANN)
    _, expired = token(site, Role.ADMIN, expires_in=timedelta(microseconds=1))
    for secret in ("rmd_" + "x" * 43, "", "nonsense", revoked, expired):
        for verb in ("remand.submit", "remand.get", "remand.cancel"):
            assert code(verb, secret) == "NOT_SIGNED_IN", secret


def test_a_token_reaches_as_far_as_its_role_and_scopes(site: Site, code: Ask) -> None:
    viewer, operator = token(site, Role.VIEWER)[1], token(site, Role.OPERATOR)[1]
    for name, needed in NEEDED.items():
        assert code(name, operator) not in REFUSALS, name
        reads = needed is Permission.WORKFLOWS_READ
        assert (code(name, viewer) == "NOT_ALLOWED") != reads, name


@pytest.mark.parametrize("scope", sorted({*NEEDED.values(), Permission.QUEUES_WRITE}))
def test_a_scope_opens_its_verbs_and_no_others(site: Site, code: Ask, scope: Permission) -> None:
    _, secret = token(site, Role.ADMIN, [scope])
    for name, needed in NEEDED.items():
        assert (code(name, secret) != "NOT_ALLOWED") == (needed is scope), name


def test_who_acts_is_the_token_and_without_one_a_claim(mode: str, site: Site, shop: Celery) -> None:
    name, secret = token(site, Role.OPERATOR)
    known = Client(shop, timeout=TIMEOUT_SECONDS, by="remand", token=secret)
    order = known.submit("site/one", {"only": {"give_up_on": [1]}}).workflow_id
    known.wait(order, timeout=TIMEOUT_SECONDS)
    known.cancel(order, reason="not wanted")

    assert site.database.call("select submitted_by from remand.workflows where id = %s", (order,)) == [
        (name,)
    ]
    assert site.database.call(
        "select by, via, verb from remand.audit_log where workflow_id = %s", (order,)
    ) == [(name, "celery", "workflow.cancel")]
    known._app.close()
    if mode == "token":
        return
    for said in ("remand", "token:ci", "ann"):
        stranger = Client(shop, timeout=TIMEOUT_SECONDS, by=said)
        claim = stranger.submit("site/one", {}).workflow_id
        stranger._app.close()
        assert site.workflow(claim).submitted_by == f"claimed:{said}"  # type: ignore[arg-type]


def test_a_refusal_is_told_and_written_down_once_a_minute(mode: str, site: Site, code: Ask) -> None:
    name, secret = token(site, Role.VIEWER)
    before = refusals_logged(site, mode)
    for _ in range(3):
        assert code("remand.skip", secret) == "NOT_ALLOWED"

    entries = site.database.call(
        "select by, via, verb, subject, after ->> 'code' from remand.audit_log where by = %s", (name,)
    )
    assert entries == [(name, "celery", "command.refuse", "remand.skip", "NOT_ALLOWED")]
    eventually(lambda: refusals_logged(site, mode) == before + 3, timeout=10)


def refusals_logged(site: Site, mode: str) -> int:
    lines = site.log_path(f"control-{mode}").read_text().splitlines()
    return sum("command.refused" in line and "remand.skip" in line for line in lines)


def test_names_that_cannot_be_stored_are_refused_or_not_kept(mode: str, site: Site, code: Ask) -> None:
    for by in ("a\0b", "x" * 300, 7):
        assert code("remand.cancel", by=by) in {
            "NOT_SIGNED_IN",
            "INPUT_INVALID",
            "TEXT_INVALID",
            "WORKFLOW_NOT_FOUND",
        }
    if mode != "open":
        assert (
            site.database.call("select count(*) from remand.audit_log where by = 'claimed:celery'")[0][0] > 0
        )


def test_what_the_api_masks_is_masked(site: Site, shop: Celery) -> None:
    _, secret = token(site, Role.OPERATOR)
    client = Client(shop, timeout=TIMEOUT_SECONDS, token=secret)
    given = {"only": {"result": {"api_key": "hunter2", "n": 1}}, "password": "hunter3"}
    order = client.submit("site/one", given).workflow_id
    found = client.wait(order, timeout=TIMEOUT_SECONDS)
    client._app.close()

    assert "hunter" not in json.dumps(found)
    assert found["steps"]["only"]["result"]["n"] == 1


def test_the_token_of_the_environment_is_sent(
    site: Site, shop: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, secret = token(site, Role.OPERATOR)
    monkeypatch.setenv("REMAND_TOKEN", f"{secret}\n")
    client = Client(shop, timeout=TIMEOUT_SECONDS)
    order = client.submit("site/one", {}).workflow_id
    client._app.close()

    assert site.workflow(order).submitted_by == name  # type: ignore[arg-type]
    wrong = Client(shop, timeout=TIMEOUT_SECONDS, token="rmd_wrong")
    with pytest.raises(Refused) as refused:
        wrong.submit("site/one", {})
    wrong._app.close()
    assert refused.value.code == "NOT_SIGNED_IN"


def test_a_token_is_neither_logged_nor_kept(mode: str, site: Site, shop: Celery, code: Ask) -> None:
    _, secret = token(site, Role.OPERATOR)
    code("remand.get", secret)
    code("remand.get", secret, nonsense=secret)
    # A message that no worker can take, and one that names no task of ours.
    shop.send_task("remand.get", queue="steps", headers={"remand_token": secret, "retries": "many"})
    shop.send_task("remand.get", args=["x"], queue="steps", headers={"remand_token": [secret]})
    shop.send_task("shop.other", queue="steps", headers={"remand_token": secret})
    shop.send_task("remand.get", queue="steps", headers={"remand_token": secret * 9, "origin": "last"})
    last = "select count(*) from remand.workflows where input -> 'headers' ->> 'origin' = 'last'"
    eventually(lambda: site.database.call(last)[0][0] > 0, timeout=TIMEOUT_SECONDS)

    kept = "".join(
        str(site.database.call(f"select coalesce(json_agg(t), '[]')::text from remand.{table} t"))
        for table in ("workflows", "steps", "dead_letters", "audit_log", "history", "attempts")
    )
    logged = site.log_path(f"control-{mode}").read_text()
    assert secret not in kept
    assert secret not in logged
    assert "site/nowhere" not in logged
    assert len(logged) > 1000


def hears(shop: Celery, seen: list[Any]) -> bool:
    shop.control.enable_events()
    return any(one["type"] == "worker-heartbeat" for one in seen)


def test_nobody_who_listens_to_events_or_inspects_sees_a_token(site: Site, shop: Celery) -> None:
    _, secret = token(site, Role.OPERATOR)
    seen: list[Any] = []
    with shop.connection_for_read() as connection:
        receiver = shop.events.Receiver(connection, handlers={"*": seen.append})
        listening = threading.Thread(target=receiver.capture, kwargs={"wakeup": False}, daemon=True)
        listening.start()
        eventually(lambda: hears(shop, seen), timeout=TIMEOUT_SECONDS)
        client = Client(shop, timeout=TIMEOUT_SECONDS, token=secret)
        order = client.submit("site/one", {}).workflow_id
        client.wait(order, timeout=TIMEOUT_SECONDS)
        client._app.close()
        eventually(lambda: any(one["type"] == "task-succeeded" for one in seen), timeout=TIMEOUT_SECONDS)
        receiver.should_stop = True
        listening.join(TIMEOUT_SECONDS)
    told = shop.control.inspect(timeout=5, limit=1)

    shown = json.dumps([seen, told.active(), told.reserved(), told.conf(), told.stats()], default=str)
    assert secret not in shown
