"""Exceptions that look like those of a library, built without it from a row of the corpus."""

from __future__ import annotations

import builtins
import csv
import importlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

CORPUS = Path(__file__).parents[1] / "unit" / "exceptions_corpus.csv"


def corpus_rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(CORPUS.read_bytes().decode(), newline="")))


def real_class(name: str) -> type | None:
    module, _, cls = name.rpartition(".")
    if module.partition(".")[0] not in {"", *sys.stdlib_module_names}:
        return None
    found = getattr(importlib.import_module(module) if module else builtins, cls, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def fake_class(name: str, bases: list[str]) -> type:
    """Build classes of the given qualified names, each below the next, on top of the real builtins."""
    real = [cls for base in bases if (cls := real_class(base))]
    roots = tuple(c for c in real if not any(o is not c and issubclass(o, c) for o in real)) or (Exception,)
    for qualified in [b for b in reversed(bases) if real_class(b) is None] + [name]:
        module, _, cls = qualified.rpartition(".")
        roots = (type(cls, roots, {"__module__": module, "__qualname__": cls, "__str__": message_of}),)
    return roots[0]


def message_of(exc: BaseException) -> str:
    return str(exc.__dict__.get("said", ""))


def named(name: str) -> BaseException:
    cls = real_class(name.removeprefix("builtins.")) or fake_class(name, [])
    return cls("inner")  # type: ignore[no-any-return]


def look_alike(row: dict[str, str]) -> BaseException:
    facts: dict[str, Any] = json.loads(row["attributes"] or "{}")
    exc = make(row, facts)
    if type(exc).__str__ is message_of:
        exc.__dict__["said"] = row["message"]
    dress(exc, row, facts)
    if "cause" in facts:
        exc.__cause__ = named(facts["cause"])
    if "context" in facts:
        exc.__context__ = named(facts["context"])
    return exc


def make(row: dict[str, str], facts: dict[str, Any]) -> BaseException:
    cls = real_class(row["class"])
    made: BaseException
    if "members" in facts:
        made = ExceptionGroup("group", [named(m) for m in facts["members"]])  # type: ignore[type-var]
    elif cls is None:
        made = fake_class(row["class"], row["bases"].split())()
    elif "errno" in facts:
        made = cls(facts["errno"], row["message"])
    elif "returncode" in facts:
        made = cls(facts["returncode"], ["convert"])
    else:
        made = cls.__new__(cls, row["message"])
        made.args = (row["message"],)
    return made


def dress(exc: BaseException, row: dict[str, str], facts: dict[str, Any]) -> None:
    status, headers = facts.get("status"), facts.get("headers", {})
    library = row["library"]
    if library == "requests" and status:
        exc.response = SimpleNamespace(  # type: ignore[attr-defined]
            status_code=status, headers=headers, _content=facts.get("body", "").encode()
        )
    elif library == "botocore" and status:
        meta = {"HTTPStatusCode": status, "HTTPHeaders": {}}
        exc.response = {"Error": {"Code": facts["code"]}, "ResponseMetadata": meta}  # type: ignore[attr-defined]
    elif library == "slack_sdk":
        body = {"ok": False, "error": facts["error"]}
        exc.response = SimpleNamespace(status_code=status, headers=headers, data=body)  # type: ignore[attr-defined]
    elif "orig" in facts:
        orig = named(facts["orig"])
        orig.args = (row["message"],)
        if type(orig).__str__ is message_of:
            orig.__dict__["said"] = row["message"]
        exc.orig = orig  # type: ignore[attr-defined]
    elif row["class"].startswith("grpc."):
        type(exc).__mro__[1].__module__, type(exc).__mro__[1].__qualname__ = "grpc", "RpcError"
        exc.code = lambda: SimpleNamespace(name=facts["code"])  # type: ignore[attr-defined]
    else:
        exc.__dict__.update({k: v for k, v in facts.items() if k not in {"errno", "returncode", "members"}})
        if "reason" in facts:
            exc.errors = [{"reason": facts["reason"]}]  # type: ignore[attr-defined]
        if row["class"] == "urllib.error.HTTPError":
            exc.code = status  # type: ignore[attr-defined]


def accepted(row: dict[str, str]) -> set[tuple[str, str]]:
    right = {(row["category"], row["policy"])}
    for pair in row["also_right"].split():
        category, _, policy = pair.partition("/")
        right.add((category, policy))
    return right
