"""The parts as production puts them together: real clock, silent bell, default settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remand import PermanentError
from remand.handler import Handlers
from remand_app.config import Settings, load_settings
from remand_app.domain.errors import ConfigInvalid, HandlerNotFound, SchemaMissing
from remand_app.engine.fail import drain_failures
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.engine.sweeps.rescue import rescue
from remand_app.engine.sweeps.ring import ring
from remand_app.runtime import Runtime, import_handlers
from remand_app.store import workflows
from remand_app.store.ids import new_id
from tests.support.engine import publish
from tests.support.letters import list_letters
from tests.support.shapes import CHAIN, HANDLER, shape


@pytest.fixture
def runtime(database_url: str) -> Iterator[Runtime]:
    made = Runtime(Settings(database_url=database_url))
    yield made
    made.database.dispose()


def test_a_workflow_runs_on_the_clock_of_the_database(runtime: Runtime) -> None:
    runtime.check_schema()
    handlers = Handlers()
    handlers.add(HANDLER, lambda ctx: ctx.step)
    publish(runtime.engine, shape("chain", CHAIN))

    submitted = submit(runtime.engine, "t/chain", SubmitRequest({}), by="test")
    drained = runtime.drain(new_id(), handlers=handlers).run("steps")

    assert drained.completed == 4
    workflow = workflows.get_workflow(runtime.database, submitted.workflow_id)
    assert workflow.state == "complete"
    moves = workflows.moves_of(runtime.database, submitted.workflow_id)
    assert [move.at for move in moves] == sorted(move.at for move in moves)
    assert moves[-1].at == workflow.state_since > workflow.created_at


def test_a_failure_is_decided_and_swept_on_the_clock_of_the_database(runtime: Runtime) -> None:
    def part(ctx: object) -> None:
        raise PermanentError("no")

    handlers = Handlers()
    handlers.add(HANDLER, part)
    publish(runtime.engine, shape("one", {"a": ()}))
    submitted = submit(runtime.engine, "t/one", SubmitRequest({}), by="test")
    runtime.drain(new_id(), handlers=handlers).run("steps")

    assert drain_failures(runtime.engine, "retry.never").dead == 1
    assert (ring(runtime.engine).woken, rescue(runtime.engine).attempts) == (0, 0)

    [letter] = list_letters(runtime.database, workflow_id=submitted.workflow_id)
    assert (letter.reason, letter.worker) == ("permanent_failure", "unknown")


def test_a_runtime_needs_a_database() -> None:
    with pytest.raises(ConfigInvalid, match="database_url"):
        Runtime(Settings())


def test_a_database_without_the_schema_is_refused(empty_database_url: str) -> None:
    runtime = Runtime(Settings(database_url=empty_database_url))

    with pytest.raises(SchemaMissing, match="remand migrate"):
        runtime.check_schema()

    runtime.database.dispose()


def test_settings_reach_the_engine_through_the_environment(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_INPUT_MAX_BYTES", "2048")
    monkeypatch.setenv("REMAND_RETRY__MAX_ATTEMPTS", "1")
    runtime = Runtime(load_settings())
    publish(runtime.engine, shape("one", {"a": ()}))

    with pytest.raises(Exception, match="2,048"):
        submit(runtime.engine, "t/one", SubmitRequest("x" * 3000), by="test")

    assert runtime.settings.retry.max_attempts == 1
    runtime.database.dispose()


def test_handler_modules_are_imported_or_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop_of_this_test.py").write_text("import a_library_that_is_not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    for module in ("no_such_module_anywhere", "shop_of_this_test"):
        with pytest.raises(HandlerNotFound, match=module) as caught:
            import_handlers([module])
        assert "PYTHONPATH" in caught.value.hint
    sys.modules.pop("shop_of_this_test", None)


@pytest.mark.parametrize(
    "module", ["remand_workers.steps", "remand_app", "remand.client", "remand_migrations.env"]
)
def test_a_module_of_our_own_is_refused_as_one_with_handlers(module: str) -> None:
    with pytest.raises(HandlerNotFound, match=module.partition(".")[0]) as caught:
        import_handlers([module])
    assert "another name" in caught.value.hint
