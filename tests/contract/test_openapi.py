"""The OpenAPI document and the page made from it keep their promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remand_app.api.app import build
from remand_app.api.openapi import document
from remand_app.config import Settings
from remand_app.runtime import Runtime
from tools.docgen import http_api, pages

ROOT = Path(__file__).parents[2]
MADE = document(build(Runtime(Settings(database_url="postgresql://nobody@127.0.0.1:1/none"))))
OPERATIONS = [
    (method, path, operation)
    for path, operations in MADE["paths"].items()
    for method, operation in operations.items()
]


def test_the_page_of_the_reference_is_that_of_the_code() -> None:
    assert (ROOT / "docs/reference/api.md").read_text() == pages.noted(http_api.page(MADE)), "run `make docs`"


def test_the_shapes_of_public_json_are_those_on_record() -> None:
    record = (ROOT / "docs/reference/shapes.json").read_text()

    assert record == http_api.shapes(MADE), (
        "public JSON changes: run `make docs`, and tell of it in CHANGELOG.md"
    )


def test_no_shape_is_named_by_the_module_it_lies_in() -> None:
    # Two classes of one name at the doors: FastAPI tells them apart by their modules.
    assert [name for name in MADE["components"]["schemas"] if "__" in name] == []


def test_a_field_called_like_prose_is_on_record() -> None:
    made = {
        "components": {
            "schemas": {"A": {"title": "A", "properties": {"title": {"type": "string", "title": "T"}}}}
        }
    }

    assert json.loads(http_api.shapes(made)) == {"A": {}, "A.title": {"type": "string"}}


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=lambda one: str(one)[:60])
def test_an_operation_says_what_it_does_and_how_it_fails(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"]
    assert operation["description"].strip()
    if path.startswith("/health/"):
        assert operation["security"] == []
        return
    assert {"401", "403", "422", "503"} <= set(operation["responses"])
    if "{" in path:
        assert "404" in operation["responses"]
    if method in {"post", "patch"}:
        assert {"400", "413"} <= set(operation["responses"])
    for status, answer in operation["responses"].items():
        schema = answer["content"]["application/json"].get("schema", {})
        assert (schema.get("$ref") == "#/components/schemas/ErrorAnswer") == (int(status) >= 400)


def test_no_shape_of_the_framework_shows_through() -> None:
    text = json.dumps(MADE)
    assert "HTTPValidationError" not in text
    assert "ValidationError" not in MADE["components"]["schemas"]


def test_every_list_that_grows_has_pages() -> None:
    grows = ("/workflows", "/dlq", "/dlq/groups", "/dlq/investigation-queue", "/redrives", "/audit")
    for path in (*grows, "/redrives/{redrive_id}/items", "/templates"):
        operation = MADE["paths"][path]["get"]
        names = {one["name"] for one in operation["parameters"]}
        assert {"cursor", "limit"} <= names, path


def test_every_id_is_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(ids) == len(set(ids))


VERBS = {
    "add", "change", "check", "create", "delete", "forecast", "list", "plan", "requeue", "retry", "show",
    "submit", "suggest", "validate",
}  # fmt: skip


def test_every_id_is_a_verb_and_a_noun_as_clients_are_generated_from_them() -> None:
    for _, _, operation in OPERATIONS:
        verb, _, noun = operation["operationId"].partition("_")
        assert verb in VERBS, operation["operationId"]
        assert noun, operation["operationId"]
