from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any, Literal
from uuid import uuid4

import pytest
import structlog

from remand_app.domain.printable import printable
from remand_app.telemetry import EVENTS, configure_logging, lines_belong_to, lines_belong_to_nothing, log


@pytest.fixture(autouse=True)
def _logging_is_put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in ("celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    structlog.configure(**configured)


@pytest.fixture
def lines() -> Any:
    """Log as JSON into memory; calling the value reads the lines."""
    stream = io.StringIO()

    def read() -> list[dict[str, Any]]:
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    configure_logging("INFO", "json", redact_keys=("password", "token"), stream=stream)
    return read


def test_a_line_begins_with_when_how_severe_and_what(lines: Any) -> None:
    log("dead_letter.opened", workflow_id="w", step="charge", attempt=3)

    [line] = lines()
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert line["timestamp"].endswith("Z")
    assert (line["level"], line["event"], line["logger"]) == ("error", "dead_letter.opened", "remand")
    assert (line["step"], line["attempt"]) == ("charge", 3)


def test_the_catalogue_gives_the_level(lines: Any) -> None:
    log("drain.ended")
    log("worker.gone")
    log("dead_letter.opened")

    assert [line["level"] for line in lines()] == ["info", "warning", "error"]


def test_records_of_libraries_come_out_in_the_same_shape(lines: Any) -> None:
    logging.getLogger("celery.worker").warning("lost %s of %d", "one", 2)
    log("drain.ended")

    theirs, ours = lines()
    assert theirs["event"] == "lost one of 2"
    assert theirs["logger"] == "celery.worker"
    assert set(theirs) == set(ours)


def test_the_bells_of_celery_are_not_told_twice(lines: Any) -> None:
    logging.getLogger("celery.app.trace").info("Task remand.drain[…] succeeded")
    logging.getLogger("celery.app.trace").warning("but this is news")

    assert [line["event"] for line in lines()] == ["but this is news"]


def test_lines_of_a_step_carry_its_ids_and_later_ones_do_not(lines: Any) -> None:
    workflow = uuid4()
    lines_belong_to(workflow, "charge", 2)
    log("claims.given_back", count=2)
    log("attempt.failed", workflow_id="w", step="other", attempt=1)
    logging.getLogger("library").warning("inside")
    lines_belong_to_nothing()
    log("claims.given_back", count=0)

    mine = (str(workflow), "charge", 2)
    found = [(line.get("workflow_id"), line.get("step"), line.get("attempt")) for line in lines()]
    assert found == [mine, ("w", "other", 1), mine, (None, None, None)]


def test_secrets_never_reach_a_line(lines: Any) -> None:
    log(
        "bell.failed",
        error="redis://:hunter2@h/0 refused",
        facts={"X-Token": "hunter2", "list": ["redis://:hunter2@h"]},
    )
    logging.getLogger("kombu").error("cannot connect to amqp://u:hunter2@mq//")
    try:
        raise ConnectionError("postgresql://u:hunter2@db/d")
    except ConnectionError:
        logging.getLogger("library").exception("failed")

    text = json.dumps(lines())
    assert "hunter2" not in text
    assert text.count("[redacted]") == 6  # the traceback quotes its line and its message
    assert "ConnectionError" in text


@pytest.mark.parametrize("shape", ["console", "json"])
def test_no_line_steers_a_terminal_or_pretends_to_be_two(shape: Literal["console", "json"]) -> None:
    stream = io.StringIO()
    configure_logging("INFO", shape, stream=stream)

    log(
        "workflow.submitted",
        template="a\x1b]0;owned\x07\u202eb\n2026-01-01 fatal: pretended",
        workflow_id="w",
    )
    logging.getLogger("library").warning("said \x1b[2J")

    told = stream.getvalue()
    assert told == printable(told)
    assert len(told.splitlines()) == 2


def test_less_severe_than_the_level_is_not_written() -> None:
    stream = io.StringIO()
    configure_logging("WARNING", "console", stream=stream)

    log("drain.ended", queue="steps")
    log("bell.failed", queue="steps", error="gone")

    [line] = stream.getvalue().splitlines()
    assert re.search(r"warning\s*\] bell\.failed .*error=gone.*queue=steps", line)
    assert "\x1b" not in line


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(LookupError, match=r"drain\.finished"):
        log("drain.finished")  # type: ignore[arg-type]


def test_a_field_outside_the_catalogue_is_refused_in_tests() -> None:
    with pytest.raises(AssertionError, match="colour"):
        log("drain.ended", queue="steps", colour="red")


def test_names_are_noun_dot_verb_and_meanings_are_sentences() -> None:
    for name, spec in EVENTS.items():
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name), name
        assert spec.meaning.endswith("."), name
        assert len(set(spec.fields)) == len(spec.fields) > 0, name
        assert spec.level in {logging.INFO, logging.WARNING, logging.ERROR}, name


def test_no_event_carries_payload() -> None:
    carried = {field for spec in EVENTS.values() for field in spec.fields}

    assert carried.isdisjoint({"input", "result", "checkpoint", "payload", "args", "kwargs"})
