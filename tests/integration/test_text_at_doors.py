"""Every text that a door takes: what cannot be stored or is too long is refused in words, and kept nowhere.

The doors list their own texts (the OpenAPI document, the forms of the pages, the words of the command line,
the signatures of the Celery tasks), so that a new argument is tried without being told to.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest

import remand_app.cli.main
from remand_app.cli.invoke import run
from remand_app.domain.access import Role
from remand_app.engine.operate import Who, claim_letter
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web, csrf_of

pytestmark = pytest.mark.once

MARK = "qzxqzx"
BAD = {"NUL": f"{MARK}\0b", "half a letter": f"{MARK}\ud800", "too long": MARK * 5_000}
FILLED = {
    "template": "t/order", "ref": "t/order", "namespace": "t", "name": "order", "version": "1", "step": "b",
    "queue": "steps", "verb": "note", "input": "1", "result": "1", "text": "x", "reason": "x",
}  # fmt: skip


@pytest.fixture
def ids(web: Web) -> dict[str, str]:
    """What there is: a letter that is being looked at, of a workflow with a broken step."""
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    site.publish(shape("order", {"a": (), "b": "a"}, retry={"max_attempts": 1}))
    site.play(b=always(RuntimeError("no")))
    workflow: UUID = site.submit("t/order", {})
    site.run_until_quiet()
    letter = site.open_letter(workflow)
    claim_letter(web.engine, letter.id, Who("ann"))
    return {"workflow_id": str(workflow), "letter_id": str(letter.id), "group_id": str(letter.group_id)}


def is_kept(web: Web) -> list[str]:
    """Return the tables that hold the mark."""
    names = web.database.call(
        "select relname from pg_class where relnamespace = 'remand'::regnamespace and relkind in ('r', 'p')"
        " and not relispartition"
    )
    wanted = (f"%{MARK}%",)
    return [
        name
        for (name,) in names
        if web.database.call(f"select 1 from remand.{name} t where t::text like %s limit 1", wanted)
    ]


# --- API


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def takes_text(schema: dict[str, Any], document: dict[str, Any]) -> bool:
    schema = resolved(schema, document)
    if any(takes_text(one, document) for one in schema.get("anyOf", [])):
        return True
    return schema.get("type") == "string" and "enum" not in schema and "const" not in schema


def sample(schema: dict[str, Any], name: str, document: dict[str, Any]) -> Any:
    """Return the least value of a schema."""
    schema = resolved(schema, document)
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], name, document)
    match schema.get("type"):
        case "object":
            wanted = schema.get("required", [])
            return {key: sample(schema["properties"][key], key, document) for key in wanted}
        case "array":
            return [sample(schema["items"], name, document)] if schema.get("minItems") else []
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
        case _:
            return FILLED.get(name, "00000000-0000-7000-8000-000000000000" if "uuid" in str(schema) else "x")


def texts_within(
    schema: dict[str, Any], document: dict[str, Any], depth: int = 3
) -> Iterator[tuple[str, ...]]:
    """Yield the paths to texts in a body; `*` is an item of a list, or a free name."""
    schema = resolved(schema, document)
    for one in schema.get("anyOf", []):
        yield from texts_within(one, document, depth)
    if takes_text(schema, document) and "anyOf" not in schema:
        yield ()
    if depth and schema.get("type") == "array":
        yield from (("*", *rest) for rest in texts_within(schema["items"], document, depth - 1))
    if depth and schema.get("type") == "object":
        for name, one in schema.get("properties", {}).items():
            yield from ((name, *rest) for rest in texts_within(one, document, depth - 1))
        more = schema.get("additionalProperties")
        if isinstance(more, dict) or more is True:
            yield ("*",)


def put(body: Any, path: tuple[str, ...], text: str) -> Any:
    if not path:
        return text
    head, *rest = path
    if head == "*":
        return {text: 1} if isinstance(body, dict) and not rest else [put(None, tuple(rest), text)]
    return {**(body or {}), head: put((body or {}).get(head), tuple(rest), text)}


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in ("get", "post", "put", "patch", "delete"):
                yield method, f"/api/v1{path}", operation


def body_schema(operation: dict[str, Any]) -> dict[str, Any] | None:
    content = operation.get("requestBody", {}).get("content", {})
    found: dict[str, Any] | None = content.get("application/json", {}).get("schema")
    return found


def path_filled(path: str, ids: dict[str, str], **given: str) -> str:
    known = {**FILLED, **ids, **given}
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: known.get(found[1], "x"), path)


@pytest.mark.parametrize("bad", BAD)
def test_the_api_refuses_what_is_no_text(web: Web, ids: dict[str, str], bad: str) -> None:
    text, admin = BAD[bad], web.browser(Role.ADMIN)
    document = admin.get("/api/v1/openapi.json").json()
    wrong, tried = [], 0
    for method, path, operation in operations(document):
        for place, request in requests(operation, path, ids, document, text):
            answer = admin.request(method, **request)
            tried += 1
            # What is no UTF-8 in an address is read with a sign in its place, as everywhere on the web.
            is_replaced = bad == "half a letter" and place[0] in ("query", "path")
            is_told = answer.status_code < 400 or '"code"' in answer.text
            if answer.status_code >= 500 or (answer.status_code < 400 and not is_replaced) or not is_told:
                wrong.append((method, path, place, answer.status_code, answer.text[:80]))

    assert not wrong, "\n".join(map(str, wrong))
    assert tried > 140
    assert is_kept(web) == []


def requests(
    operation: dict[str, Any], path: str, ids: dict[str, str], document: dict[str, Any], text: str
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield a request for each text of an operation, with the bad one in its place."""
    quoted = {"\0": "%00", "\ud800": "%ED%A0%80"}
    in_address = "".join(quoted.get(sign, sign) for sign in text)
    schema = body_schema(operation)
    base = None if schema is None else sample(schema, "", document)
    body = {} if base is None else {"json": base}
    for one in operation.get("parameters", []):
        if not takes_text(one["schema"], document) or one["in"] == "header":
            continue
        if one["in"] == "path":
            yield ("path", one["name"]), {"url": path_filled(path, ids, **{one["name"]: in_address}), **body}
        else:
            yield (
                ("query", one["name"]),
                {"url": f"{path_filled(path, ids)}?{one['name']}={in_address}", **body},
            )
    for place in texts_within(schema, document) if schema is not None else ():
        content = json.dumps(put(base, place, text))
        at = {"url": path_filled(path, ids), "content": content}
        yield ("body", *place), {**at, "headers": {"Content-Type": "application/json"}}


FAR = ("00000000-0000-7000-8000-000000000000", "ffffffff-ffff-7fff-bfff-ffffffffffff", "0" * 32, "f" * 32)


@pytest.mark.parametrize("far", FAR)
def test_an_id_of_any_time_is_only_unknown(web: Web, ids: dict[str, str], far: str) -> None:
    admin, wrong, tried = web.browser(Role.ADMIN), [], 0
    document = admin.get("/api/v1/openapi.json").json()
    for method, path, operation in operations(document):
        schema = body_schema(operation)
        body = {} if schema is None else {"json": sample(schema, "", document)}
        for one in operation.get("parameters", []):
            if one["name"].endswith("id") or one["name"] == "cursor":
                at = f"{path_filled(path, ids, **{one['name']: far})}?{one['name']}={far}"
                answer = admin.request(method, at, **body)
                tried += 1
                if answer.status_code >= 500:
                    wrong.append((method, at, answer.status_code))
    for page in ("/workflows", "/dlq/letters", "/dlq/groups", "/redrives"):
        wrong += [page for answer in [admin.get(f"{page}/{far}")] if answer.status_code >= 500]

    assert not wrong
    assert tried > 30


# --- dashboard


class Forms(HTMLParser):
    """The forms of a page: address, and the names of their fields with what they hold."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((given.get("method", "get").lower(), given.get("action", ""), {}))
        elif tag in ("input", "textarea", "select") and self.found and given.get("name"):
            self.found[-1][2][given["name"]] = given.get("value", "")
        elif tag == "a" and given.get("href", "").startswith("/"):
            self.links.append(given["href"])


def pages(admin: Any, ids: dict[str, str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield each form of the dashboard once."""
    waiting = ["/", f"/workflows/{ids['workflow_id']}", f"/dlq/letters/{ids['letter_id']}"]
    seen: set[str] = set()
    known: set[tuple[str, str, tuple[str, ...]]] = set()
    while waiting and len(seen) < 60:
        at = waiting.pop()
        if (bare := at.partition("?")[0].partition("#")[0]) in seen or bare.startswith(("/api", "/static")):
            continue
        seen.add(bare)
        answer = admin.get(at)
        if answer.status_code != 200 or "html" not in answer.headers["content-type"]:
            continue
        parsed = Forms()
        parsed.feed(answer.text)
        waiting += parsed.links
        for method, action, fields in parsed.found:
            target = action or bare
            if (key := (method, target, tuple(sorted(fields)))) not in known and target != "/logout":
                known.add(key)
                yield method, target, fields


@pytest.mark.parametrize("bad", BAD)
def test_the_dashboard_refuses_what_is_no_text(web: Web, ids: dict[str, str], bad: str) -> None:
    admin, wrong, tried = web.browser(Role.ADMIN), [], 0
    text = BAD[bad].encode("utf-8", "surrogatepass")
    for method, action, fields in list(pages(admin, ids)):
        for name in fields:
            if name == "csrf":
                continue
            given = urlencode({**fields, "csrf": csrf_of(admin), name: text})
            form = {"content": given, "headers": {"Content-Type": "application/x-www-form-urlencoded"}}
            answer = admin.post(action, **form) if method == "post" else admin.get(f"{action}?{given}")
            tried += 1
            if answer.status_code >= 500 or (method == "post" and answer.status_code < 400):
                wrong.append((method, action, name, answer.status_code, answer.text[:100]))

    wrong = [one for one in wrong if bad != "half a letter" or one[3] >= 500]
    assert not wrong, "\n".join(map(str, wrong))
    assert tried > 20
    assert [one for one in is_kept(web) if bad != "half a letter"] == []


# --- command line

RUNS = (
    "up",
    "worker",
    "beat",
    "server",
    "demo",
    "env",
    "migrate",
    "archive run",
    "archive export",
    "notify test",
)
"""What starts processes, or waits for something."""


def commands() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    words = json.loads((Path(remand_app.cli.main.__file__).parent / "words.json").read_text(encoding="utf-8"))
    for name, one in words["commands"].items():
        if not name.startswith(RUNS):
            yield name, one["parameters"]


def line(
    name: str, parameters: list[dict[str, Any]], wanted: str, text: str, ids: dict[str, str]
) -> list[str]:
    """Return a command line with the text for one parameter, and with what else it cannot do without."""
    given = {"workflow": ids["workflow_id"], "letter": ids["letter_id"], "group": ids["group_id"], **FILLED}
    arguments, options = [], []
    for one in parameters:
        value = text if one["name"] == wanted else given.get(one["name"], "x")
        if one["kind"] == "argument" and ("default" not in one or one["name"] == wanted):
            arguments.append(value)
        elif one["name"] == wanted or (one["kind"] == "option" and "default" not in one):
            options += [next(word for word in one["declarations"] if word.startswith("--")), value]
    return [*name.split(), *options, "--", *arguments]


@pytest.fixture
def place(web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMAND_DATABASE_URL", web.database.url)
    monkeypatch.setenv("REMAND_BROKER_URL", "redis://127.0.0.1:1/0")


@pytest.mark.parametrize("bad", ["half a letter", "too long"])
@pytest.mark.usefixtures("place")
def test_the_command_line_refuses_what_is_no_text(
    web: Web, ids: dict[str, str], bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, wrong, tried = BAD[bad], [], 0
    for name, parameters in commands():
        for one in parameters:
            if not str(one["type"]).startswith("str"):
                continue
            code = run(line(name, parameters, one["name"], text, ids))
            told = capsys.readouterr()
            tried += 1
            if code == 1 or "INTERNAL" in told.out + told.err:
                wrong.append((name, one["name"], code, told.err[-120:]))

    assert not wrong, "\n".join(map(str, wrong))
    assert tried > 60
    assert is_kept(web) == []


# --- Celery


@pytest.mark.parametrize("bad", BAD)
def test_the_commands_refuse_what_is_no_text(
    web: Web, ids: dict[str, str], bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remand_workers import commands as tasks
    from remand_workers import process

    monkeypatch.setattr(process, "engine", lambda: web.engine)
    monkeypatch.setattr(process, "runtime", lambda: web.runtime)
    wrong, tried = [], 0
    given = {"workflow_id": ids["workflow_id"], "letter": ids["letter_id"], "requests": [{"input": {}}]}
    known = {**FILLED, **given, "input": {}, "result": 1}
    for task in (one for _, one in inspect.getmembers(tasks) if hasattr(one, "name") and hasattr(one, "run")):
        signature = inspect.signature(task.run)
        base = {name: known[name] for name, one in signature.parameters.items() if one.default is one.empty}
        for name, one in signature.parameters.items():
            if "str" not in str(one.annotation):
                continue
            value = [BAD[bad]] if "tuple" in str(one.annotation) else BAD[bad]
            answer = task(**{**base, name: value})
            tried += 1
            if answer.get("error", {}).get("code", "INTERNAL") == "INTERNAL":
                wrong.append((task.name, name, answer))

    assert not wrong, "\n".join(map(str, wrong))
    assert tried > 30
    assert is_kept(web) == []
