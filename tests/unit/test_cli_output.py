"""What the command line shows and how it ends, without any server."""

from __future__ import annotations

import inspect
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_type_hints
from uuid import UUID

import pytest
import typer
from typer.testing import CliRunner

from remand_app.cli import words
from remand_app.cli.arguments import read_json, read_since
from remand_app.cli.invoke import run
from remand_app.cli.render.dag import MOST_STEPS, Node, draw
from remand_app.cli.render.output import age, short_ids, span
from remand_app.cli.root import app
from remand_app.cli.streams import to_json
from remand_app.cli.synthetic_error import read_traceback
from remand_app.cli.verbs import VERBS
from remand_app.domain.errors import InputInvalid
from remand_app.store.ids import first_id_at, new_id
from tools.docgen import command_words, pages

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
GOOD = """
namespace: t
name: two
version: "1"
steps:
  - {name: a, handler: t.a}
  - {name: b, handler: t.b, depends_on: [a]}
"""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("REMAND_DATABASE_URL", "REMAND_BROKER_URL", "REMAND_CONFIG", "REMAND_HANDLERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def drawn(parents: dict[str, list[str]], width: int = 100) -> list[str]:
    text = draw({name: Node(name) for name in parents}, parents, width)
    assert text is not None
    return [line.rstrip() for line in text.plain.splitlines()]


def test_a_chain_is_a_line() -> None:
    assert drawn({"a": [], "b": ["a"], "c": ["b"]}) == ["a ──▶ b ──▶ c"]


def test_a_diamond_is_drawn_from_left_to_right() -> None:
    assert drawn(
        {"order": [], "reserve": ["order"], "screen": ["order"], "charge": ["reserve", "screen"]}
    ) == [
        "order ─┬▶ reserve ─┬▶ charge",
        "       └▶ screen ──┘",
    ]


def test_a_drawing_too_wide_goes_top_down() -> None:
    assert drawn({"first": [], "left": ["first"], "right": ["first"], "last": ["left", "right"]}, 20) == [
        "    first",
        "  ┌───┴──┐",
        "  ▼      ▼",
        "left   right",
        "  └───┬──┘",
        "      ▼",
        "    last",
    ]


def test_an_edge_that_follows_from_others_is_left_out() -> None:
    assert drawn({"a": [], "b": ["a"], "c": ["a", "b"]}) == ["a ──▶ b ──▶ c"]


def test_an_edge_that_skips_layers_passes_beside_them() -> None:
    parents = {"a": [], "b": ["a"], "c": ["b"], "x": [], "d": ["c", "x"]}
    lines = drawn(parents)
    assert lines[0].startswith("a ──▶ b ──▶ c ─┬▶ d")
    assert lines[1] == "x ─────────────┘"


def test_every_step_of_a_graph_is_in_its_drawing_once() -> None:
    parents = {f"s{n}": [f"s{m}" for m in range(n) if (n * 7 + m) % 5 == 0] for n in range(14)}
    text = "\n".join(drawn(parents, 400))
    assert all(
        text.count(f"{name} ") + text.count(f"{name}\n") + text.endswith(name) >= 1 for name in parents
    )


def test_what_does_not_fit_is_not_drawn() -> None:
    wide = {f"step-with-a-long-name-{n}": list[str]() for n in range(5)} | {
        "end": [f"step-with-a-long-name-{n}" for n in range(5)]
    }
    assert draw({name: Node(name) for name in wide}, wide, 25) is None
    many = {f"s{n}": list[str]() for n in range(MOST_STEPS + 1)}
    assert draw({name: Node(name) for name in many}, many, 1000) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.004, "4 ms"),
        (1.26, "1.3 s"),
        (42, "42 s"),
        (150, "2 min"),
        (7000, "117 min"),
        (90_000, "25 h"),
        (400_000, "5 d"),
    ],
)
def test_durations_have_the_unit_people_use(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_instants_to_come_are_told_as_such() -> None:
    assert age(NOW + timedelta(seconds=12), NOW) == "in 12 s"
    assert age(NOW - timedelta(seconds=12), NOW) == "12 s"
    assert age(None, NOW) == ""


def test_short_ids_grow_until_they_differ() -> None:
    one, two = UUID("01a21f7e-0000-7000-8000-0000aa123456"), UUID("01a21f7e-0000-7000-8000-0000bb123456")
    assert short_ids([one, two]) == {one: "a123456", two: "b123456"}
    assert short_ids([one]) == {one: "123456"}


def test_ids_from_an_instant_on_are_not_less() -> None:
    assert first_id_at(datetime.now(UTC) - timedelta(milliseconds=1)) <= new_id()
    assert first_id_at(datetime.now(UTC) + timedelta(minutes=1)) > new_id()


def test_json_has_no_python_in_it() -> None:
    value = {"at": NOW, "for": timedelta(seconds=1.5), "where": Path("x"), "many": (1, None, True)}
    assert to_json(value) == {
        "at": "2026-11-27T12:00:00+00:00",
        "for": 1.5,
        "where": "x",
        "many": [1, None, True],
    }


def test_since_is_a_duration_or_an_instant() -> None:
    assert read_since("2h", NOW) == NOW - timedelta(hours=2)
    assert read_since("2026-11-01", NOW) == datetime(2026, 11, 1, tzinfo=UTC)


def test_input_comes_from_a_file_and_a_fault_is_placed(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text('{"a": [1]}')
    bad.write_text('{"a":\n 1,}')
    assert read_json(f"@{good}", "input") == {"a": [1]}
    with pytest.raises(InputInvalid, match="line 2, column"):
        read_json(f"@{bad}", "input")
    with pytest.raises(InputInvalid, match="NaN"):
        read_json("[NaN]", "input")
    with pytest.raises(InputInvalid, match="cannot be read"):
        read_json("@nowhere.json", "input")


def test_the_end_of_a_traceback_is_read() -> None:
    text = (
        'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\n'
        "shop.errors.Refused: no\nsecond line\n"
    )
    assert read_traceback(text) == ("shop.errors.Refused", "no\nsecond line")
    assert read_traceback("ValueError") == ("ValueError", "")


def test_nothing_running_is_an_error_that_says_how_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["workflow", "list"]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "error CONFIG_INVALID" in told.err
    assert "→ start them: remand up" in told.err


def test_one_url_alone_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", "postgresql://x/y")
    assert run(["--json", "dlq", "list"]) == 3
    problem = json.loads(capsys.readouterr().out)["error"]["details"]["problems"][0]
    assert (problem["path"], problem["code"]) == ("broker_url", "URL_MISSING")


def test_a_database_that_is_away_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", "postgresql://u:hush@127.0.0.1:1/x")
    monkeypatch.setenv("REMAND_BROKER_URL", "redis://127.0.0.1:1/0")
    assert run(["workflow", "list", "--json"]) == 3
    told = capsys.readouterr().out
    assert json.loads(told)["error"]["code"] == "DATABASE_UNREACHABLE"
    assert "hush" not in told


@pytest.mark.parametrize(
    "line",
    [
        ["nonsense"],
        ["workflow", "show"],
        ["workflow", "list", "--state", "odd"],
        ["submit", "x", "--count", "0"],
        ["classify"],
    ],
)
def test_wrong_usage_ends_with_2(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line) == 2
    assert "error USAGE: " in capsys.readouterr().err
    assert run([*line, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "USAGE"


def test_a_bad_template_names_every_problem_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("depends_on: [a]", "depends_on: [z]").replace("name: two", "nam: two"))
    assert run(["template", "validate", str(file), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "TEMPLATE_INVALID"
    assert {(one["line"], one["code"]) for one in error["details"]["problems"]} >= {
        (3, "unknown_key"),
        (7, "unknown_dependency"),
    }


def test_unregistered_handlers_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "cli_test_handlers.py").write_text(
        "from remand import handler\n\n@handler('t.a')\ndef a(ctx):\n    return None\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("REMAND_HANDLERS", "cli_test_handlers")
    assert run(["template", "validate", "good.yaml", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["templates"] == ["t/two:1"]
    assert [("t.b" in one, "t.a" in one) for one in answer["warnings"]] == [(True, False)]


def test_handlers_that_fail_at_import_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cli_broken_handlers.py").write_text("def (")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("REMAND_HANDLERS", "cli_broken_handlers")
    assert run(["up"]) == 2
    told = capsys.readouterr().err
    assert "error HANDLER_NOT_FOUND" in told
    assert "cli_broken_handlers" in told
    assert "SyntaxError" in told


def test_classify_tells_policy_rule_and_the_retries_that_follow(capsys: pytest.CaptureFixture[str]) -> None:
    line = [
        "classify",
        "urllib.error.HTTPError",
        "--attr",
        "code=503",
        "--header",
        "Retry-After=400",
        "--json",
    ]
    assert run(line) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["category"], answer["policy"], answer["retry_after"]) == (
        "transient",
        "exponential",
        400.0,
    )
    assert [(one["then"], one.get("delay_seconds")) for one in answer["schedule"]] == [
        ("retry", 400.0),
        ("retry", 400.0),
        ("dead_letter", None),
    ]


def test_classify_does_not_need_the_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify", "shop.Gone", "--base", "ConnectionError", "--message", "no route", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["category"] == "network"


def test_a_bug_is_shown_as_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("remand_app.cli.commands.config.masked", lambda settings: 1 / 0)
    assert run(["config", "show", "--json"]) == 1
    told = capsys.readouterr()
    assert json.loads(told.out)["error"]["code"] == "INTERNAL"
    assert "ZeroDivisionError" in told.err


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("remand_app.cli.commands.config.masked", interrupt)
    assert run(["config", "show"]) == 130


def test_every_command_has_help_with_examples_and_exit_codes() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["--help"]).exit_code == 0
    for path, told in VERBS.items():
        shown = runner.invoke(app, [*path.split(), "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0, path
        assert told.examples, path
        assert all(example.startswith(("remand", "cat", "REMAND_")) for example in told.examples), path
        assert "Examples:" in shown.output, path
        assert re.search(r"Exit codes:\n  0 \w", shown.output), path
        assert "--json" in shown.output, path


def test_what_is_recorded_is_what_was_declared() -> None:
    for path, verb in VERBS.items():
        hints = get_type_hints(verb.function, include_extras=True)
        _, *own = inspect.signature(verb.function).parameters.values()
        made = [words.replayed(json.loads(json.dumps(words.recorded(one, hints[one.name])))) for one in own]
        for one, again in zip(own, made, strict=True):
            declared = hints[one.name]
            kind = getattr(declared, "__origin__", declared)
            assert again.annotation.__origin__ == kind, (path, one.name)
            assert (again.name, again.default) == (one.name, one.default), path
            if kind is not declared:
                info, same = declared.__metadata__[0], again.annotation.__metadata__[0]
                assert {**vars(same), "param_decls": list(same.param_decls or ())} == {
                    **vars(info), "param_decls": list(info.param_decls or ()),
                }, (path, one.name)  # fmt: skip


def test_what_stands_in_brackets_is_no_style_of_the_help() -> None:
    told = [(path, word) for path in VERBS for word in re.findall(r"\[[^\]]+\]", command(path).help or "")]
    assert told, "no help names a table of the settings"
    for path, word in told:
        shown = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "200"})
        assert word in shown.output, path


def command(path: str) -> Any:
    found: Any = typer.main.get_command(app)
    for word in path.split():
        found = found.commands[word]
    return found


def test_colours_end_where_the_terminal_does() -> None:
    shown = CliRunner().invoke(app, ["classify", "ValueError"])
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output


def test_the_generated_pages_are_up_to_date() -> None:
    root = Path(__file__).parents[2]
    assert words.FILE.read_text() == command_words.words(), "run: make docs"
    behind = [str(path) for path, text in pages.pages().items() if (root / path).read_text() != text]
    assert behind == [], "run: make docs"
