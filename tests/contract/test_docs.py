"""Hold README and docs/ against the product: links, anchors, commands, settings, feature rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from remand_app.cli.root import app
from remand_app.config import Settings, load_settings
from remand_app.config.notify import NotifyTarget
from remand_app.config.sources import OTHERS
from remand_app.config.web import WebSettings
from remand_app.domain.breaker import BreakerOverrides
from remand_app.domain.dead_letters import AutoRequeue
from remand_app.domain.retry import RetryOverrides
from remand_app.domain.retry_budget import BudgetSpec
from remand_app.domain.staleness import Lifecycle
from remand_app.domain.template import load_file
from remand_app.telemetry.metrics import METRICS
from remand_app.web.errors import OWN_CODES

ROOT = Path(__file__).parents[2]
BY_HAND = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md")
PAGES = [*(ROOT / name for name in BY_HAND), *sorted((ROOT / "docs").rglob("*.md"))]
WITH_TEMPLATES = [
    ROOT / name
    for name in (
        "README.md",
        "docs/quickstart.md",
        "docs/guides/choose-a-retry-policy.md",
        "docs/guides/write-a-rule.md",
    )
]
ROWS = [
    f"{part}{number}"
    for part, count in {"A": 16, "B": 9, "C": 16, "D": 8, "E": 11, "F": 18}.items()
    for number in range(1, count + 1)
]
COMPOSE = re.findall(r"^#?(REMAND_\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
"""Variables of docker-compose.yml, which hands on those that are settings."""

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(?:^|[\s|&(;])(?:\.venv/bin/)?remand(?!\w)((?: +[a-z][a-z-]*)*)([^|&;]*)")
_OPTION = re.compile(r"(?<=\s)--[a-z-]+")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def pages(*paths: Path) -> list[object]:
    return [pytest.param(path, id=named(path)) for path in paths or PAGES]


def prose(path: Path) -> str:
    """Return the text without code blocks."""
    return _FENCE.sub("", path.read_text())


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    titles = re.findall(r"^#+ +(.+)$", prose(path), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        is_outside = not found.is_relative_to(ROOT)
        if is_outside or not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    todo, reached = [ROOT / "README.md"], set[Path]()
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        found = ((page.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(page)))
        todo += [one for one in found if one.suffix == ".md" and one.exists()]
    assert [named(page) for page in PAGES if page not in reached] == []


def test_every_feature_row_is_in_the_requirements_once() -> None:
    listed = re.findall(r"^\| ([A-F]\d+) \|", (ROOT / "docs/requirements.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(ROWS)


def requirements() -> Iterator[tuple[str, str, str, str]]:
    for line in (ROOT / "docs/requirements.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if re.match(r"\| [A-F]\d", line):
            yield cells[0].strip("| "), cells[2], cells[3], cells[4].strip("| ")


@pytest.mark.parametrize(("row", "state", "where", "tests"), list(requirements()))
def test_what_is_built_says_where_and_which_tests_hold_it(
    row: str, state: str, where: str, tests: str
) -> None:
    if state.startswith("not yet"):
        assert tests == "", f"{row} is not built, what would its tests test?"
    else:
        assert state.startswith(("built", "partly: "))
        assert where, f"{row} says not where it is"
        assert "(../tests/" in tests, f"{row} names no test"


def commands(page: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield words and options of what follows `remand` wherever the page types it."""
    text = page.read_text()
    blocks = [body for language, body in _FENCE.findall(text) if language == "console"]
    typed = [line[2:].partition(" #")[0] for body in blocks for line in body.splitlines() if line[:2] == "$ "]
    for line in typed + [code for code in _INLINE.findall(prose(page)) if not code.startswith("remand.")]:
        for words, rest in _COMMAND.findall(line):
            yield words.strip(), tuple(_OPTION.findall(rest))


def known(words: str, options: tuple[str, ...] = ()) -> bool:
    """Say whether words lead to a command that has the options; a group alone may be spoken of."""
    at: Any = typer.main.get_command(app)
    for word in words.split():
        if not hasattr(at, "commands"):
            break
        if word not in at.commands:
            return False
        at = at.commands[word]
    has = {name for parameter in at.params for name in parameter.opts}
    return has.issuperset(options)


@pytest.mark.parametrize("page", pages())
def test_every_command_exists_with_its_options(page: Path) -> None:
    assert [found for found in commands(page) if not known(*found)] == []


def test_the_search_for_commands_finds_some() -> None:
    found = list(commands(ROOT / "docs/quickstart.md"))
    assert ("dlq requeue", ("--reason",)) in found
    assert ("up", ()) in found
    assert not known("dlq obliterate")
    assert not known("dlq requeue", ("--hard",))


def is_setting(variable: str) -> bool:
    key = variable.removeprefix("REMAND_").lower().split("__")
    return key[0] in Settings.model_fields or variable.startswith(OTHERS) or variable in COMPOSE


@pytest.mark.parametrize("page", pages())
def test_every_variable_is_a_setting(page: Path) -> None:
    variables = set(re.findall(r"\bREMAND_[A-Z][A-Z_]*[A-Z]\b", page.read_text()))
    assert {one for one in variables if not is_setting(one)} == set()


@pytest.mark.parametrize("page", pages())
def test_every_name_of_a_quantity_is_a_setting_or_a_key_of_templates(page: Path) -> None:
    retry = {
        name
        for field in ("exponential", "linear", "immediate", "fixed", "fibonacci")
        for kind in RetryOverrides.model_fields[field].annotation.__args__  # type: ignore[union-attr]
        for name in getattr(kind, "model_fields", {})
    }
    names = {
        *Settings.model_fields,
        *RetryOverrides.model_fields,
        *retry,
        *BudgetSpec.model_fields,
        *BreakerOverrides.model_fields,
        *WebSettings.model_fields,
        *AutoRequeue.model_fields,
        *NotifyTarget.model_fields,
        *Lifecycle.model_fields,
        *METRICS,
        "timeout_seconds",
        "expire_after_seconds",
    }
    fields_of_events = {"duration_seconds", "delay_seconds", "put_off_seconds", "failing_seconds"}
    fields_of_errors = {"retry_after_seconds"}
    columns_of_views = {"age_seconds"}
    used = {
        code
        for code in _INLINE.findall(prose(page))
        if re.fullmatch(r"[a-z_]+_(seconds|bytes|size|keys|url)", code)
    }
    assert used - names - fields_of_events - fields_of_errors - columns_of_views == set()


@pytest.mark.parametrize("page", pages(*WITH_TEMPLATES))
def test_a_template_that_is_shown_in_full_is_good(page: Path, tmp_path: Path) -> None:
    blocks = [body for language, body in _FENCE.findall(page.read_text()) if language == "yaml"]
    full = [body for body in blocks if "namespace" in yaml.safe_load(body)]
    assert full
    for number, body in enumerate(full):
        path = tmp_path / f"{number}.yaml"
        path.write_text(body)
        assert load_file(path)


@pytest.mark.parametrize("page", pages())
def test_settings_that_are_shown_are_good(page: Path, tmp_path: Path) -> None:
    for language, body in _FENCE.findall(page.read_text()):
        if language == "toml":
            path = tmp_path / "remand.toml"
            path.write_text(body)
            assert load_settings(path, {}) != Settings()


@pytest.mark.parametrize("page", pages())
def test_code_that_is_shown_compiles(page: Path) -> None:
    for language, body in _FENCE.findall(page.read_text()):
        if language == "python":
            compile(body.replace("…", "..."), named(page), "exec")


def codes_told() -> Iterator[tuple[str, str]]:
    """Yield every code that our source can tell, and where: of classes, of answers, of the web."""
    for path in [one for folder in ("app", "remand", "workers") for one in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            for value in _codes_in(node):
                if isinstance(value, ast.Constant) and re.fullmatch(r"[A-Z]+(_[A-Z]+)*", str(value.value)):
                    yield str(value.value), named(path)
    yield from ((code, "app/remand_app/web/errors.py") for code in OWN_CODES)


def _codes_in(node: ast.AST) -> list[ast.expr | None]:
    match node:
        case ast.Assign(targets=[ast.Name(id="code")], value=value):
            return [value]
        case ast.AnnAssign(target=ast.Name(id="code"), value=given):
            return [given]
        case ast.Call(func=ast.Name(id="complain" | "show") | ast.Attribute(attr="show"), args=[first, *_]):
            return [first]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return [one for key, one in pairs if isinstance(key, ast.Constant) and key.value == "code"]
        case _:
            return []


def test_every_code_of_an_error_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text()
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))
    # Branches of the tree: what is raised has a code of its own.
    branches = {"CONFLICT", "REFUSED", "REMAND_ERROR", "UNFIT"}
    source = "".join(path.read_text() for path in (ROOT / "app").rglob("*.py"))

    told = set(codes_told())
    assert {code for code, _ in told} >= {"BAD_INPUT", "MALFORMED_JSON", "ILLEGAL_MOVE", "NO_ANSWER", "USAGE"}
    assert {one for one in told if one[0] not in listed | branches} == set()
    assert not re.search(r"raise (BadInput|NotFound|Conflict|Unfit|Refused|RemandError)\(", source)
