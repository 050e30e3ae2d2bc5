"""`remand up --dev`: a template changes under its version, what is saved is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from remand_app.cli import file_watch
from remand_app.cli.file_watch import Changes
from remand_app.domain.errors import TemplateChanged
from remand_app.domain.template import load_text
from remand_app.store.templates import Templates
from tests.support.engine import Harness
from tests.support.shapes import shape

OLD = shape("one", {"a": (), "b": "a"})
NEW = shape("one", {"a": (), "c": "a"})


def test_a_version_gets_another_content_only_where_that_is_asked_for(harness: Harness) -> None:
    harness.publish(OLD)

    with pytest.raises(TemplateChanged):
        harness.engine.templates.publish(load_text(NEW))

    assert harness.engine.templates.publish(load_text(NEW), replaces=True)
    assert not harness.engine.templates.publish(load_text(NEW), replaces=True)


def test_what_is_under_way_goes_on_with_what_it_began_with(harness: Harness) -> None:
    harness.publish(OLD)
    harness.play()
    before = harness.submit("t/one")

    harness.engine.templates.publish(load_text(NEW), replaces=True)
    # Another process, as they are all started anew.
    fresh = Templates(harness.database)
    harness.run_to_end(before)

    assert set(harness.states(before)) == {"a", "b"}
    assert [step.name for step in fresh.find("t/one:1").template.steps] == ["a", "c"]
    old = harness.workflow(before)
    assert old.version.startswith("1+")
    assert fresh.find(f"t/one:{old.version}").template.ref == f"t/one:{old.version}"


def test_a_long_version_is_cut_where_it_is_set_aside(harness: Harness) -> None:
    long = OLD.replace('"version": "1"', f'"version": "{"v" * 32}"')
    changed = NEW.replace('"version": "1"', f'"version": "{"v" * 32}"')
    harness.publish(long)

    assert harness.engine.templates.publish(load_text(changed), replaces=True)
    assert len(harness.engine.templates.listed()) == 2


def test_what_is_saved_made_or_removed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "_LOOK_SECONDS", 0.0)
    templates = tmp_path / "elsewhere" / "quote.yaml"
    templates.parent.mkdir()
    project = tmp_path / "project"
    for path in ("shop.py", "deep/er.py", ".venv/lib.py", "node_modules/x.py", "notes.txt"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text("1")
    seen = Changes(project, [templates])
    assert seen.since_last() == []

    templates.write_text("a")
    (project / "deep/er.py").write_text("12")
    (project / "shop.py").unlink()
    for passed_over in (".venv/lib.py", "node_modules/x.py", "notes.txt"):
        (project / passed_over).write_text("123")

    assert seen.since_last() == [templates, project / "deep/er.py", project / "shop.py"]
    assert seen.since_last() == []
