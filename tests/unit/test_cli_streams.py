"""What reaches a terminal, a pipe, a full disk: escaped, in ASCII where it is JSON, and no end is a bug."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from remand_app.cli import errors
from remand_app.cli.invoke import run
from remand_app.cli.render.output import Output, facts, table
from remand_app.domain.printable import printable
from remand_app.stderr import complain

STEERING = {
    "clear": "\x1b[2J", "title": "\x1b]0;owned\x07", "c1": "\x9b31m", "return": "50\rEUR", "back": "a\x08b",
    "turned": "\u202egnp.exe", "isolate": "\u2066x\u2069", "mark": "\u200fx", "lines": "a\u2028b",
    "del": "\x7f", "zero width": "a\u200bb", "tag": "\U000e0041", "half": "\ud800",
}  # fmt: skip


def remand(*words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("REMAND_", "LC_"))}
    environment = {**clean, **more.pop("environment", {})}
    return subprocess.run(
        [sys.executable, "-c", "from remand_app.cli.main import main; main()", *words],
        env=environment, capture_output="stdout" not in more, timeout=60, check=False, **more,
    )  # fmt: skip


@pytest.mark.parametrize("text", STEERING.values(), ids=STEERING)
def test_nothing_that_steers_is_left(text: str) -> None:
    shown = printable(f"be{text}fore\n\tafter")

    assert all(mark.isprintable() or mark in "\n\t" for mark in shown)
    assert shown.startswith("be")
    assert shown.endswith("fore\n\tafter")
    assert "\\" in shown
    assert printable(shown) == shown


def test_words_of_people_stay_as_they_are() -> None:
    for text in ("Grüße, 世界 · ﷺ", "naïve – “quoted”", "👍🏽", "שלום", "C:\\new"):
        assert printable(text) == text


@pytest.mark.parametrize("text", STEERING.values(), ids=STEERING)
@pytest.mark.parametrize(
    "shown",
    [
        lambda text: text,
        lambda text: Text(f"\n{text}", style="red"),
        lambda text: Text.assemble(("a", "bold"), text, ("b", "red")),
        lambda text: table("id", "name", rows=[(text, Text(text))]),
        lambda text: table("id", "name", rows=[(text, text)], folds=False),
        lambda text: facts([("name", text), ("other", Text(text))]),
    ],
    ids=["text", "styled", "assembled", "table", "cut table", "facts"],
)
def test_whatever_is_shown_is_escaped(
    text: str, shown: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    out = Output(as_json=False)
    out.answer(None, shown(text))
    out.say(text)
    complain("SOME_CODE", f"cannot {text}", f"try {text}")

    told = capsys.readouterr()
    for page in (told.out, told.err):
        assert page == printable(page)
        # Of a styled text, rich drops what moves the cursor.
        assert "\\" in page or text in {"50\rEUR", "a\x08b"}


def test_styles_stay_beside_what_is_escaped() -> None:
    styled = Text.assemble(("red", "red"), "\x1b[2J", ("bold", "bold"))
    parts = list(Output(as_json=False).console.render(styled))

    assert "".join(part.text for part in parts).strip() == "red\\x1b[2Jbold"
    assert "".join(part.text for part in parts if part.style and part.style.bold) == "bold"


def test_errors_of_what_was_typed_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["dlq", "\x1b[2J\u202e"]) == 2
    assert capsys.readouterr().err == printable(
        "error USAGE: No such command '\\x1b[2J\\u202e'.\n→ see: remand dlq --help\n"
    )


def test_a_bug_is_told_without_what_steers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(settings: object) -> None:
        raise ZeroDivisionError("\x1b]0;owned\x07")

    monkeypatch.setattr("remand_app.cli.commands.config.masked", broken)
    assert run(["config", "show"]) == 1
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told == printable(told)


@pytest.mark.parametrize(
    "locale",
    [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"}, {}],
    ids=["C", "latin-1", "as it is"],
)
def test_json_is_ascii_whatever_the_locale(locale: dict[str, str]) -> None:
    told = remand("Grüße-世界-\u202e", "--json", environment=locale)
    assert (told.returncode, told.stderr) == (2, b"")
    assert told.stdout.isascii()
    message = json.loads(told.stdout)["error"]["message"]
    assert "LC_ALL" in locale or "Grüße-世界-" in message
    for_people = remand("Grüße-世界-\u202e", environment=locale)
    assert (for_people.returncode, for_people.stdout) == (2, b"")
    assert for_people.stderr.startswith(b"error USAGE: No such command 'Gr")


def test_a_full_disk_is_told_and_no_bug() -> None:
    with Path("/dev/full").open("wb") as full:
        for words in (
            ["--help"],
            ["--version"],
            ["classify", "ValueError"],
            ["classify", "ValueError", "--json"],
        ):
            ended = remand(*words, stdout=full, stderr=subprocess.PIPE)
            assert (ended.returncode, b"Traceback" in ended.stderr) == (1, False), words
            assert b"error OUTPUT_LOST: the answer could not be written: No space left" in ended.stderr


def test_a_full_disk_under_standard_error_changes_nothing() -> None:
    with Path("/dev/full").open("wb") as full:
        for words, code in ((["dlq", "lst"], 2), (["classify", "ValueError"], 0)):
            ended = remand(*words, stdout=subprocess.PIPE, stderr=full)
            assert ended.returncode == code


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]], ids=str)
def test_closed_streams_end_as_open_ones_do(closed: list[int]) -> None:
    shut = " ".join(f"{number}>&-" for number in closed).replace("0>&-", "0<&-")
    for words, code in (("dlq lst", 2), ("classify ValueError", 0), ("--help", 0)):
        line = f'exec "$0" -c "from remand_app.cli.main import main; main()" {words} {shut}'
        ended = subprocess.run(
            ["sh", "-c", line, sys.executable], capture_output=True, timeout=60, check=False
        )
        assert (ended.returncode, ended.stderr if 2 in closed else b"Traceback" in ended.stderr) == (
            code, b"" if 2 in closed else False,
        )  # fmt: skip


@pytest.mark.parametrize(
    "words", [["--help"], ["classify", "--rules"], ["classify", "--rules", "--json"]], ids=" ".join
)
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = remand(*words, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)

    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_link_is_never_broken(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "34")
    url = "http://127.0.0.1:8484/login/link?code=" + "x" * 60
    Output(as_json=False).answer(None, Text(url, style="bold"), f"see {url} now", facts([("link", url)]))

    told = capsys.readouterr().out
    assert told.count(url) == 3


@pytest.mark.parametrize("as_json", [False, True])
def test_errors_on_the_command_line_hold_no_secret(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    said = "cannot reach redis://app:hunter2x@cache/0 with token => hunter2x9"
    errors.show("X", said, said, {"url": "redis://:hunter2x@cache", "password": "hunter2x"}, as_json=as_json)

    shown = capsys.readouterr()
    assert "hunter2x" not in shown.out + shown.err
    assert "cache/0" in shown.out + shown.err
