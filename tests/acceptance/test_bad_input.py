"""Whatever is wrong, there is a code, an exit code, a sentence that says what to do; nothing is half done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from remand_app.embedded.stack import free_port
from remand_app.store.database import Database
from tests.support.databases import Cluster
from tests.support.site import Site
from tests.support.site_fixtures import OpenSite

pytestmark = pytest.mark.once

ROWS = """
select count(*) from remand.workflows union all select count(*) from remand.templates
union all select count(*) from remand.history union all select count(*) from remand.run_queue
"""
NOWHERE = "00000000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def site(quiet_site: Site) -> Site:
    return quiet_site


@pytest.fixture
def untouched(site: Site) -> Iterator[None]:
    before = site.database.call(ROWS)
    yield
    assert site.database.call(ROWS) == before, "something is half done"


def refused(site: Site, *words: str, code: str, exits: int, env: dict[str, str] | None = None) -> str:
    """Run a command that must be refused; return what it says and what to do."""
    error = site.cli(*words, exits=exits, env=env)["error"]
    assert error["code"] == code, error
    assert len(error["message"]) > 10
    return f"{error['message']} {error['hint']} {json.dumps(error['details'])}"


STRICT = ("submit", "site/strict", "--key", "k")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("words", "code", "exits", "says"),
    [
        (("submit", "site/nowhere"), "TEMPLATE_NOT_FOUND", 4, "site/nowhere"),
        (("submit", "site/one:77"), "TEMPLATE_NOT_FOUND", 4, "77"),
        ((*STRICT, "--input", "{}"), "INPUT_INVALID", 2, "n"),
        ((*STRICT, "--input", '{"n": "one", "m": 2}'), "INPUT_INVALID", 2, "m"),
        ((*STRICT, "--input", '{"n": NaN}'), "INPUT_INVALID", 2, "NaN"),
        ((*STRICT, "--input", '{"n": 1'), "INPUT_INVALID", 2, "JSON"),
        (("submit", "site/one", "--input", '{"a": "\\u0000"}'), "INPUT_INVALID", 2, "NUL"),
        (("submit", "site/one", "--input", '{"a": "\\ud800"}'), "INPUT_INVALID", 2, "surrogate"),
        (("submit", "site/strict", "--input", '{"n": 1}'), "IDENTITY_INVALID", 2, "key"),
        (("submit", "site/once", "--key", "k"), "IDENTITY_INVALID", 2, "strict"),
        (("submit", "site/one", "--id", "17"), "USAGE", 2, "UUID"),
        (("submit", "site/one", "--priority", "11"), "INPUT_INVALID", 2, "priority"),
        (("submit", "site/one", "--no-such-option"), "USAGE", 2, "no-such-option"),
        (("workflow", "show", NOWHERE), "WORKFLOW_NOT_FOUND", 4, NOWHERE),
        (("workflow", "wait", "zzz"), "WORKFLOW_NOT_FOUND", 4, "zzz"),
        (("workflow", "cancel", NOWHERE), "WORKFLOW_NOT_FOUND", 4, NOWHERE),
        (("step", "show", "{done}", "nosuch"), "STEP_NOT_FOUND", 4, "nosuch"),
        (("step", "retry", "{done}", "only"), "ILLEGAL_MOVE", 5, "cancelled"),
        (("step", "complete", "{done}", "only", "--result", "1"), "ILLEGAL_MOVE", 5, "cancelled"),
        (("step", "complete", "{done}", "only", "--result", "{"), "INPUT_INVALID", 2, "JSON"),
        (("dlq", "show", NOWHERE), "DEAD_LETTER_NOT_FOUND", 4, NOWHERE),
        (("dlq", "requeue", "{done}"), "DEAD_LETTER_NOT_FOUND", 4, "dead letter"),
        (("dlq", "list", "--status", "sleeping"), "USAGE", 2, "sleeping"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_wrong_word_is_refused(
    site: Site, cancelled: str, *, words: tuple[str, ...], code: str, exits: int, says: str
) -> None:
    told = refused(site, *(cancelled if word == "{done}" else word for word in words), code=code, exits=exits)
    assert says in told


@pytest.fixture(scope="module")
def cancelled(site: Site) -> str:
    """A workflow that was cancelled before it began."""
    workflow = str(site.submit("site/one"))
    site.cli("workflow", "cancel", workflow)
    return workflow


def test_ambiguous_id_names_what_it_fits(site: Site, cancelled: str) -> None:
    site.submit("site/one")
    told = refused(site, "workflow", "show", cancelled[:1], code="AMBIGUOUS_ID", exits=2)
    assert cancelled in told


@pytest.mark.parametrize("words", [("workflow", "show", NOWHERE), ("submit", "site/nowhere"), ("--nosuch",)])
def test_people_read_a_sentence_on_standard_error(site: Site, words: tuple[str, ...]) -> None:
    told = site.run(*site.remand(*words))
    assert told.returncode in (2, 4)
    assert told.stderr.startswith("error ")
    assert "→" in told.stderr
    assert "Traceback" not in told.stderr
    assert not told.stdout


BAD_TEMPLATE = """\
namespace: site
name: bad name
version: "1"
colour: blue
steps:
  - {name: a, handler: h, depends_on: [b]}
  - {name: b, handler: h, depends_on: [a, c]}
  - {name: b, handler: h, queue: retry.mine}
"""


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("verb", ["validate", "publish"])
def test_bad_template_is_told_all_its_problems_with_lines(site: Site, tmp_path: Path, verb: str) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("{namespace: site, name: good, version: '1', steps: [{name: only, handler: h}]}")
    bad.write_text(BAD_TEMPLATE)
    answer = site.cli("template", verb, str(good), str(bad), exits=2)
    assert answer["error"]["code"] == "TEMPLATE_INVALID"
    problems = answer["error"]["details"]["problems"]
    assert {problem["line"] for problem in problems} >= {2, 4}
    assert len(problems) >= 4
    assert {Path(problem["file"]).name for problem in problems} == {"bad.yaml"}


@pytest.mark.usefixtures("untouched")
def test_file_that_is_no_yaml_or_not_there(site: Site, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1")
    refused(site, "template", "validate", str(broken), code="TEMPLATE_INVALID", exits=2)
    refused(site, "template", "validate", str(tmp_path / "nosuch.yaml"), code="TEMPLATE_INVALID", exits=2)
    said = refused(site, "submit", "site/one", "--input", "@/no/such/file", code="INPUT_INVALID", exits=2)
    assert "/no/such/file" in said


@pytest.mark.usefixtures("untouched")
def test_input_beyond_the_limit_is_refused(site: Site, tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    huge.write_text(json.dumps({"blob": "x" * 2_000_000}))
    said = refused(site, "submit", "site/one", "--input", f"@{huge}", code="INPUT_TOO_LARGE", exits=2)
    assert "1,048,576 bytes" in said
    assert len(said) < 2000


def test_wrong_settings_are_told_all_at_once(site: Site) -> None:
    wrong = {
        "REMAND_BATCH_SIZE": "many",
        "REMAND_BATCH_SIZ": "7",
        "REMAND_HEARTBEAT_INTERVAL_SECONDS": "-1",
        "REMAND_BROKER_URL": "sqs://queue",
    }
    told = refused(site, "workflow", "list", code="CONFIG_INVALID", exits=3, env=wrong)
    assert all(word in told for word in ("batch_size", "batch_siz", "heartbeat", "redis://"))
    worker = site.run(*site.remand("worker"), env=wrong)
    assert worker.returncode == 3
    assert "CONFIG_INVALID" in worker.stderr


def test_servers_that_do_not_answer(site: Site) -> None:
    port = free_port()
    no_database = {"REMAND_DATABASE_URL": f"postgresql://remand:hunter2@127.0.0.1:{port}/remand"}
    told = refused(site, "workflow", "list", code="DATABASE_UNREACHABLE", exits=3, env=no_database)
    assert str(port) in told
    assert "hunter2" not in told
    no_broker = {
        "REMAND_BROKER_URL": f"redis://:hunter2@127.0.0.1:{port}/0",
        "REMAND_START_WAIT_SECONDS": "0",
    }
    told = refused(site, "worker", code="BROKER_UNREACHABLE", exits=3, env=no_broker)
    assert str(port) in told
    assert "hunter2" not in told
    checked = site.cli("config", "check", exits=3, env=no_broker)
    assert [one["level"] for one in checked["findings"] if one["subject"] == "broker"] == ["fail"]
    # What needs no broker works without one, and what was submitted waits for it.
    submitted = site.cli("submit", "site/one", env=no_broker)
    assert (
        site.cli("workflow", "show", submitted["workflow_id"], env=no_broker)["state"] == "steps_in_process"
    )


def test_handler_module_that_is_not_there_stops_the_worker(site: Site) -> None:
    told = refused(
        site, "worker", code="HANDLER_NOT_FOUND", exits=2, env={"REMAND_HANDLERS": "no.such.module"}
    )
    assert "no.such.module" in told


def test_schema_that_is_missing_or_newer_than_the_code(site: Site, cluster: Cluster) -> None:
    with cluster.empty() as url:
        unmigrated = {"REMAND_DATABASE_URL": url}
        for words in (("workflow", "list"), ("submit", "site/one"), ("worker",), ("beat",)):
            assert "remand migrate" in refused(site, *words, code="SCHEMA_MISSING", exits=3, env=unmigrated)
    with cluster.fresh() as url:
        database = Database(url)
        database.call("update remand.schema_version set version_num = '9999', serves = '{9998}'")
        newer = {"REMAND_DATABASE_URL": url}
        for words in (("workflow", "list"), ("submit", "site/one"), ("worker",), ("migrate",)):
            assert "9999" in refused(site, *words, code="SCHEMA_TOO_NEW", exits=3, env=newer)
        assert database.call("select count(*) from remand.workflows") == [(0,)]
        database.dispose()


def test_bare_celery_worker_refuses_as_well(open_site: OpenSite, cluster: Cluster) -> None:
    site = open_site()
    with cluster.empty() as url:
        worker = site.start_worker("unmigrated", env={"REMAND_DATABASE_URL": url})
        assert worker.wait(60) == 3
    assert "SCHEMA_MISSING" in site.log_path("unmigrated").read_text()
