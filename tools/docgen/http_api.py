"""Write the reference of the HTTP API from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from remand_app.api.app import build
from remand_app.api.openapi import document
from remand_app.api.verbs import NOUN_OF
from remand_app.config import Settings
from remand_app.runtime import Runtime
from tools.docgen.verbs import bodies_of, link_to

_PROSE = frozenset({"description", "title", "examples", "example", "summary"})


def http_api() -> str:
    """Return the page."""
    return page(api_document())


def json_shapes() -> str:
    """Return the shapes of all public JSON, without prose: whatever changes here, users see."""
    return shapes(api_document())


def shapes(made: dict[str, Any]) -> str:
    """Return the shapes of an OpenAPI document as JSON text, one line a key."""
    lines = []
    for name, schema in sorted(made["components"]["schemas"].items()):
        bare = _bare(schema)
        fields = bare.pop("properties", {})
        lines += [_line(name, bare), *(_line(f"{name}.{field}", of) for field, of in sorted(fields.items()))]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(name: str, shape: Any) -> str:
    return f"{json.dumps(name)}: {json.dumps(shape, sort_keys=True)}"


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {name: _bare(part) for name, part in schema.get("properties", {}).items()}
    kept = {key: _bare(part) for key, part in schema.items() if key not in _PROSE and key != "properties"}
    return {**kept, "properties": fields} if fields else kept


@cache
def api_document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return document(build(Runtime(Settings(database_url="postgresql://nobody@127.0.0.1:1/none"))))


def page(made: dict[str, Any]) -> str:
    """Return the page of an OpenAPI document."""
    parts = ["# HTTP API\n", f"All paths begin with `/api/v1`. {_about(made)}"]
    tags: dict[str, list[str]] = {}
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            told = "\n".join(_operation(made, method.upper(), path, operation))
            tags.setdefault(operation["tags"][0], []).append(told)
    for tag, operations_of_tag in tags.items():
        parts += [f"## {tag[0].upper()}{tag[1:]}\n", *operations_of_tag]
    return "\n".join(parts)


def _about(made: dict[str, Any]) -> str:
    return (
        "The document itself is at `/api/v1/openapi.json`; how to use it is told in the"
        f" [guide](../guides/http-api.md).\n\n{made['info']['description']}"
    )


def _operation(made: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### {method} {path}\n"
    yield f"{operation['description']}\n"
    rows = [_parameter(one) for one in operation.get("parameters", [])]
    if rows:
        yield "| parameter | in | what |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    nouns = {NOUN_OF[name] for name in bodies_of(operation) if name in NOUN_OF}
    for noun in sorted(nouns):
        yield f"Body: one for each verb, told apart by `action`; see {link_to(noun)}.\n"
    for name, schema in _bodies(made, operation):
        yield f"Body {name}: {schema.get('description', '')}\n"
        fields = [_field(field, told, schema) for field, told in schema["properties"].items()]
        yield "| field | type | what |\n|---|---|---|\n" + "\n".join(fields) + "\n"
    statuses = " · ".join(f"`{status}`" for status in sorted(operation["responses"]))
    yield f"Answers: {statuses}\n"


def _parameter(one: dict[str, Any]) -> str:
    schema = one["schema"]
    told = one.get("description") or schema.get("description", "")
    return f"| `{one['name']}`{' (required)' if one.get('required') else ''} | {one['in']} | {_cell(told)} |"


def _bodies(made: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in bodies_of(operation):
        if name not in NOUN_OF:
            yield f"`{name}`", made["components"]["schemas"][name]


def _field(name: str, field: dict[str, Any], body: dict[str, Any]) -> str:
    required = " (required)" if name in body.get("required", ()) else ""
    return f"| `{name}`{required} | {_cell(_type(field))} | {_cell(field.get('description', ''))} |"


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("format") or field.get("type") or "any JSON")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
