from __future__ import annotations

from pathlib import Path

import pytest

from remand_app.domain.errors import TemplateChanged, TemplateInvalid
from remand_app.engine.publish import publish
from remand_app.store.database import Database
from remand_app.store.templates import Templates
from tests.support.engine import Harness
from tests.support.shapes import DIAMOND, shape
from tests.support.threads import together, values


@pytest.fixture
def templates(database: Database) -> Templates:
    return Templates(database)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def published(database: Database) -> list[tuple[object, ...]]:
    return database.call("select namespace, name, version from remand.templates order by 1, 2, 3")


def test_a_folder_is_published_once(templates: Templates, database: Database, tmp_path: Path) -> None:
    write(tmp_path, one=shape("one", {"a": ()}), two=shape("two", DIAMOND))

    first = [is_new for _, is_new in publish(templates, [tmp_path])]
    second = [is_new for _, is_new in publish(templates, [tmp_path])]

    assert (first, second) == ([True, True], [False, False])
    assert published(database) == [("t", "one", "1"), ("t", "two", "1")]
    assert database.call("select count(*) from remand.template_steps") == [(5,)]


def test_the_layout_of_a_file_does_not_matter(templates: Templates, tmp_path: Path) -> None:
    text = 'namespace: t\nname: one\nversion: "1"\nsteps:\n  - {handler: h, name: a, depends_on: []}\n'
    publish(templates, [write(tmp_path, one=text)])

    (tmp_path / "one.yaml").write_text("# a comment\n" + shape("one", {"a": ()}))

    assert [is_new for _, is_new in publish(templates, [tmp_path])] == [False]


def test_a_published_version_never_changes(templates: Templates, tmp_path: Path) -> None:
    publish(templates, [write(tmp_path, one=shape("one", {"a": ()}))])

    with pytest.raises(TemplateChanged, match="t/one:1") as caught:
        publish(templates, [write(tmp_path, one=shape("one", {"a": (), "b": "a"}))])

    assert "new version" in caught.value.hint


def test_a_wrong_file_publishes_nothing_of_the_others(
    templates: Templates, database: Database, tmp_path: Path
) -> None:
    write(tmp_path, a=shape("one", {"a": ()}), b=shape("two", {"a": "b", "b": "a"}))

    with pytest.raises(TemplateInvalid, match=r"b\.yaml"):
        publish(templates, [tmp_path])

    assert published(database) == []


def test_many_processes_publish_the_same_at_once(database: Database, tmp_path: Path) -> None:
    write(tmp_path, one=shape("one", {"a": ()}), two=shape("two", DIAMOND))

    ends = values(together(*(lambda: publish(Templates(database), [tmp_path]) for _ in range(4))))

    assert sum(is_new for end in ends for _, is_new in end) == 2


def test_what_comes_back_from_the_store_is_what_was_published(templates: Templates, tmp_path: Path) -> None:
    text = shape(
        "full",
        DIAMOND,
        input_schema={"type": "object"},
        identity="strict",
        on_failure="fail_fast",
        retry={"policies": {"network": "linear"}},
        each={"b": {"timeout_seconds": 3.5, "commit": "each", "retry": {"max_attempts": 9}}},
    )
    [(template, _)] = publish(templates, [write(tmp_path, full=text)])

    found = Templates(templates._database).find("t/full")

    assert found.template == template
    assert Templates(templates._database).get(found.id) == found


def test_a_template_without_its_file_still_runs(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play()
    fresh = Harness(harness.database, harness.clock, harness.bell)
    fresh.handlers = harness.handlers

    assert fresh.run_to_end(fresh.submit("t/one")).state == "complete"


def test_all_are_listed_newest_version_first(harness: Harness) -> None:
    for version in ("1", "2"):
        harness.publish(shape("b", {"a": ()}, version=version))
    harness.publish(shape("a", {"a": ()}))

    listed = [one.template.ref for one in harness.engine.templates.listed()]

    assert listed == ["t/a:1", "t/b:2", "t/b:1"]
