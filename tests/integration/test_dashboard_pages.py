"""The dashboard's pages: what they show to whom, what they never show, what their forms do. Source: E3."""

from __future__ import annotations

import json
import re
from uuid import UUID

import httpx
import pytest

from remand.errors import PermanentError
from remand_app.domain.access import Role
from remand_app.store.ids import new_id
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web, csrf_of

pytestmark = pytest.mark.once

HOSTILE = "<script>alert('x')</script>"
CANARY = "hunter2-canary"
PAGES = (
    "/", "/dlq", "/dlq?state=all", "/dlq/letters", "/dlq/letters?status=all", "/dlq/triage", "/redrives",
    "/workflows", "/queues", "/workers", "/sweeps", "/archive", "/breakers?all=1", "/templates",
)  # fmt: skip


@pytest.fixture
def site(web: Web) -> Harness:
    """An engine on the server's database and clock."""
    return Harness(web.database, clock=web.clock, settings=web.runtime.settings)


@pytest.fixture
def broken(site: Harness) -> UUID:
    """A workflow whose second step is dead, with hostile words and a secret in it."""
    site.publish(shape("order", {"a": (), "b": ("a",), "c": ("b",)}, description=HOSTILE))
    site.play(b=always(PermanentError(f"no {HOSTILE} for you")))
    workflow = site.submit("t/order", {"name": HOSTILE, "password": CANARY, "amount": 17})
    site.run_until_quiet()
    return workflow


@pytest.fixture
def viewer(web: Web) -> httpx.Client:
    return web.browser(Role.VIEWER)


@pytest.fixture
def operator(web: Web) -> httpx.Client:
    return web.browser(Role.OPERATOR)


def read(client: httpx.Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text[:500])
    return answer.text


def post(client: httpx.Client, path: str, exits: int = 303, **form: str) -> httpx.Response:
    answer = client.post(path, data={"csrf": csrf_of(client), **form})
    assert answer.status_code == exits, (path, answer.text[:500])
    return answer


def pages_of(site: Harness, workflow: UUID) -> list[str]:
    letter = site.letters(workflow)[0]
    return [
        *PAGES,
        f"/workflows/{workflow}?step=b",
        f"/dlq/letters/{letter.id}",
        f"/dlq/groups/{letter.group_id}",
        "/templates/t/order/1",
    ]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_with_nothing_on_it_says_what_to_do(viewer: httpx.Client, path: str) -> None:
    assert "<h1>" in read(viewer, path)


def test_what_users_wrote_is_text_and_what_is_secret_is_not_shown(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    for path in pages_of(site, broken):
        page = read(operator, path)
        assert HOSTILE not in page, path
        assert CANARY not in page, path
        assert not re.search(r"\son[a-z]+=|javascript:|\sstyle=", page), f"{path} has something inline"
    assert "&lt;script&gt;" in read(operator, f"/workflows/{broken}")


def test_a_viewer_sees_no_button_that_changes_anything(
    site: Harness, broken: UUID, viewer: httpx.Client
) -> None:
    for path in pages_of(site, broken):
        forms = re.findall(r'<form method="post" action="([^"]*)"', read(viewer, path))
        assert set(forms) <= {"/logout"}, path


def test_numbers_of_the_overview_lead_to_their_lists(
    site: Harness, broken: UUID, viewer: httpx.Client
) -> None:
    page = read(viewer, "/")

    assert 'href="/dlq/letters?reason=permanent_failure">1<' in page
    assert 'href="/workflows?state=blocked_by_failures">1<' in page
    assert "PermanentError: no" in page


def test_filters_stay_in_the_address_of_the_next_page(site: Harness, viewer: httpx.Client) -> None:
    site.publish(shape("one", {"a": ()}))
    site.submit_many("t/one", range(60))

    page = read(viewer, "/workflows?template=t/one&state=steps_in_process")

    [following] = re.findall(r'rel="next" href="([^"]*)"', page)
    assert "template=t%2Fone&amp;state=steps_in_process&amp;cursor=" in following
    more = read(viewer, following.replace("&amp;", "&"))
    assert more.count("data-item=") == 10


def test_a_workflow_is_found_by_the_end_of_its_id(site: Harness, broken: UUID, viewer: httpx.Client) -> None:
    answer = viewer.get(f"/workflows?q={str(broken)[-8:]}")

    assert answer.headers["location"] == f"/workflows/{broken}"
    assert str(broken)[-6:] in read(viewer, "/workflows?q=input.amount=17")
    assert "No such workflows" in read(viewer, "/workflows?q=input.amount=18")


def test_a_large_workflow_is_summed_up_instead_of_drawn(site: Harness, viewer: httpx.Client) -> None:
    # Names that differ by more than a number: steps that are called alike are one box.
    names = [f"s{number:04}".translate(str.maketrans("0123456789", "abcdefghij")) for number in range(400)]
    site.publish(shape("wide", {"first": (), **dict.fromkeys(names, ("first",))}))
    workflow = site.submit("t/wide")

    page = read(viewer, f"/workflows/{workflow}")

    assert "401 steps are too many to draw" in page
    assert "201 more steps" in page


def test_an_investigation_is_noted_previewed_and_repaired_with_another_input(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    letter = site.open_letter(broken)
    at = f"/dlq/letters/{letter.id}"
    post(operator, f"{at}/claim")
    post(operator, f"{at}/note", text="the card was closed")
    page = read(operator, at)
    assert "the card was closed" in page
    shown = re.search(r'<textarea name="input"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert shown
    edited = json.loads(
        shown[1].replace("&#34;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
    )
    assert edited["password"] != CANARY
    edited["amount"] = 18

    preview = post(operator, f"{at}/preview/retry", 200, input=json.dumps(edited)).text
    assert "Runs again: <b>b</b>, then c" in preview
    assert site.states(broken)["b"] == "error"
    post(operator, f"{at}/retry", input=json.dumps(edited), reason="new amount")

    seen: list[object] = []
    site.play(b=lambda ctx: seen.append(ctx.input))
    site.run_until_quiet()
    assert seen == [{"name": HOSTILE, "password": CANARY, "amount": 18}], "a masked secret is not overwritten"
    assert site.workflow(broken).state == "complete"
    assert "Closed as requeued" in read(operator, at)


@pytest.mark.parametrize(
    "case",
    [
        ("requeue", {}, "requeued"),
        ("complete", {"result": '{"ok": true}'}, "manually_resolved"),
        ("resolve", {}, "manually_resolved"),
        ("give-up", {}, "permanently_failed"),
        ("cancel", {}, "cancelled"),
    ],
)
def test_each_verb_of_an_investigation(
    site: Harness, broken: UUID, operator: httpx.Client, case: tuple[str, dict[str, str], str]
) -> None:
    verb, form, status = case
    letter = site.open_letter(broken)

    preview = post(operator, f"/dlq/letters/{letter.id}/preview/{verb}", 200, **form).text
    told = post(operator, f"/dlq/letters/{letter.id}/{verb}", **form, reason="so")

    assert f"closed as {status.replace('_', ' ')}" in preview
    assert told.headers["location"].startswith(f"/dlq/letters/{letter.id}?told=")
    assert site.letters(broken)[0].status == status
    post(operator, f"/dlq/letters/{letter.id}/{verb}", 409, **form)


def test_what_is_wrong_is_said_where_it_is_shown(site: Harness, broken: UUID, operator: httpx.Client) -> None:
    letter = site.open_letter(broken)

    answer = post(operator, f"/dlq/letters/{letter.id}/retry", 422, input="{nonsense")

    assert "the input is not JSON" in answer.text
    assert site.states(broken)["b"] == "error"
    assert operator.get(f"/dlq/letters/{new_id()}").status_code == 404


def test_a_group_is_taken_noted_and_resolved(site: Harness, broken: UUID, operator: httpx.Client) -> None:
    group = site.open_letter(broken).group_id
    at = f"/dlq/groups/{group}"
    post(operator, f"{at}/assign", owner="bob")
    post(operator, f"{at}/note", text="asked the bank")
    post(operator, f"{at}/due", due_at="2026-12-01T10:00")
    post(operator, f"{at}/resolve", 409, reason="done")
    page = read(operator, at)
    assert "with bob" in page
    assert "asked the bank" in page
    assert "2026-12-01 10:00:00 UTC" in page
    post(operator, f"/dlq/letters/{site.open_letter(broken).id}/requeue")
    site.play()
    site.run_until_quiet()

    post(operator, f"{at}/resolve", reason="account opened again")

    assert "Nothing is dead" in read(operator, "/dlq")
    assert "account opened again" in read(operator, at)


def test_a_redrive_shows_its_scope_and_acts_on_just_that(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    group = site.open_letter(broken).group_id
    assert "Act on" in read(operator, f"/redrives/new?group_id={group}")
    planned = post(operator, "/redrives/new", group_id=str(group), why="bank is back", canary="1")
    at = planned.headers["location"]
    page = read(operator, at)
    assert "Start with exactly these 1" in page
    assert "is it still open?" in page
    later = site.submit("t/order", {"name": "later"})
    site.run_until_quiet()

    post(operator, f"{at}/start")

    from remand_app.engine.sweeps.redrive import redrive

    site.play()
    for _ in range(4):
        redrive(site.engine)
        site.run_until_quiet()
    assert site.workflow(broken).state == "complete"
    assert site.workflow(later).state == "blocked_by_failures"
    assert "went well" in read(operator, at)


def test_the_form_of_a_redrive_carries_the_filter_it_was_asked_for(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    group = site.open_letter(broken).group_id
    wanted = f"group_id={group}&reason=permanent_failure&reason=expired&status=pending&status=requeued"

    page = read(operator, f"/redrives/new?{wanted}")

    carried = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page)
    asked = sorted(tuple(pair.split("=")) for pair in wanted.split("&"))
    assert sorted(pair for pair in carried if pair[0] in {"group_id", "reason", "status"}) == asked


def test_a_redrive_keeps_to_every_value_of_a_filter(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    reasons = ["permanent_failure", "expired"]
    form = {"csrf": csrf_of(operator), "reason": reasons, "why": "x"}

    made = operator.post("/redrives/new", data=form)

    assert made.status_code == 303
    assert "Start with exactly these 1" in read(operator, made.headers["location"])


def test_the_queue_of_a_filter_is_not_the_queue_to_run_in(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    queue = site.open_letter(broken).queue
    assert read(operator, f"/redrives/new?queue={queue}").count('name="queue"') == 1

    at = post(operator, "/redrives/new", queue=queue, to_queue="elsewhere", why="x").headers["location"]

    planned = site.database.call("select selection ->> 'queue', queue from remand.redrives")
    assert planned == [(queue, "elsewhere")]
    assert "Start with exactly these 1" in read(operator, at)


def test_a_redrive_that_a_breaker_holds_says_so(site: Harness, broken: UUID, operator: httpx.Client) -> None:
    from remand_app.engine.operate.breakers import open_breaker
    from remand_app.engine.sweeps.redrive import redrive

    open_breaker(site.engine, "h", by="ann", seconds=540)
    at = post(operator, "/redrives/new", everything="on", why="x", canary="1").headers["location"]
    post(operator, f"{at}/start")
    redrive(site.engine)

    page = read(operator, at)

    assert re.search(
        r"<b>1 letter waits:</b> the breaker of h is open; it probes <time [^>]*>in 9 min</time>", page
    )
    assert "<code>remand breaker close h</code>" in page


def test_all_are_redriven_only_if_that_is_said(site: Harness, broken: UUID, operator: httpx.Client) -> None:
    answer = post(operator, "/redrives/new", 422, why="all of it")

    assert "no filter was given" in answer.text
    post(operator, "/redrives/new", everything="on", why="all of it")


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_queues_are_paused_and_go_on(site: Harness, operator: httpx.Client, verb: str) -> None:
    post(operator, "/queues/steps/pause", reason="look first")
    assert "look first" in read(operator, "/queues")
    if verb == "resume":
        post(operator, "/queues/steps/resume")
        assert "look first" not in read(operator, "/queues")
    post(operator, "/queues/remand.maintenance/pause", 422)
    for seconds in ("-5", "1e30"):
        post(operator, "/breakers/open", 422, name="t.a", seconds=seconds, reason="theirs")


def test_breakers_are_opened_and_closed(site: Harness, broken: UUID, operator: httpx.Client) -> None:
    [name] = [row[0] for row in site.database.call("select distinct dependency from remand.template_steps")]
    for verb, state in (("open", "open"), ("close", "closed"), ("reset", "closed")):
        post(operator, f"/breakers/{verb}", name=name, reason="maintenance")
        assert f'">{state}</span>' in read(operator, "/breakers")
    post(operator, "/breakers/open", 404, name="nothing")


def test_a_change_without_the_token_of_the_session_is_refused(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    del operator.headers["X-CSRF-Token"]
    answer = operator.post(f"/dlq/letters/{site.open_letter(broken).id}/cancel", data={"csrf": "guessed"})

    assert answer.status_code == 403
    assert site.workflow(broken).state == "blocked_by_failures"


def test_the_audit_log_shows_before_and_after(
    web: Web, site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    post(operator, f"/dlq/letters/{site.open_letter(broken).id}/claim")

    page = read(web.browser(Role.ADMIN), "/audit")

    assert "dead_letter.claim" in page
    assert "dashboard" in page
    assert "investigating" in page
