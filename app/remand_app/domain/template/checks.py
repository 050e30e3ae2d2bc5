"""Own the rules that one key alone cannot break: the graph of steps, reserved queues, the input schema.

Most rules read raw values and skip those of the wrong shape, so that the problems found here and those of
`wording` are reported together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from remand.rules.user import conflicts
from remand_app.domain import dag
from remand_app.domain.jsonvalue import Path, canonical_json
from remand_app.domain.patterns import PatternInvalid, compile_pattern
from remand_app.domain.template.model import MAX_STEP_INPUT_BYTES, RESERVED_QUEUES, Template
from remand_app.domain.template.problems import nearest
from remand_app.domain.template.source import Document, Enough

MAX_TEMPLATE_RULES = 1_000
"""The most rules of a template with its steps: the rules of one place are compared with each other."""
MAX_SCHEMA_KEYS = 5_000
"""The most keys of all JSON Schemas of a template: each costs a tenth of a millisecond to check."""
_MOST_SUGGESTIONS = 20
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OPAQUE = frozenset({"const", "enum", "default", "examples"})


def check(document: Document) -> None:
    """Add every broken rule to the problems of the document."""
    if not isinstance(document.value, dict):
        return
    steps = _named_steps(document)
    parents = {name: _parents(step) for name, (_, step) in steps.items()}
    _check_dependencies(document, steps)
    for cycle in dag.find_cycles({name: [p for p in above if p != name] for name, above in parents.items()}):
        path: Path = ("steps", steps[cycle[0]][0], "depends_on")
        document.add(path, f"the steps wait for each other: {dag.cycle_text(cycle)}", "cycle")
    _check_amounts(document)
    _check_queues(document)
    _check_inputs(document)
    _check_after(document)
    _check_schemas(document)


def check_rules(document: Document, template: Template) -> None:
    """Add what is wrong with the classifier's rules taken together. A stored template has passed."""
    layers = template.rule_layers()
    for conflict in conflicts(layers):
        document.add(("rules",), conflict, "rule_conflict")
    for index, step in enumerate(template.steps):
        if step.rules:
            for conflict in conflicts(template.own_rules(step), beside=layers):
                document.add(("steps", index, "rules"), conflict, "rule_conflict")


def _raw_steps(document: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    steps = document.value.get("steps")
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            yield index, step


def _named_steps(document: Document) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return name → (index, step), the first of each name; name the others as duplicates."""
    named: dict[str, tuple[int, dict[str, Any]]] = {}
    for index, step in _raw_steps(document):
        name = step.get("name")
        if not isinstance(name, str):
            continue
        if name in named:
            first = document.line_of(("steps", named[name][0], "name"))
            where = f"first on line {first}" if first else f"first in steps[{named[name][0]}]"
            document.add(
                ("steps", index, "name"), f"the step name {name!r} is taken; {where}", "duplicate_step"
            )
        else:
            named[name] = (index, step)
    return named


def _parents(step: dict[str, Any]) -> list[str]:
    above = step.get("depends_on")
    return [name for name in above if isinstance(name, str)] if isinstance(above, list) else []


def _check_dependencies(document: Document, steps: dict[str, tuple[int, dict[str, Any]]]) -> None:
    suggestions = 0
    for index, step in _raw_steps(document):
        places: dict[str, list[int]] = defaultdict(list)
        above = step.get("depends_on")
        for place, name in enumerate(above if isinstance(above, list) else ()):
            if isinstance(name, str):
                places[name].append(place)
        for name, (first, *again) in places.items():
            path: Path = ("steps", index, "depends_on", first)
            if name == step.get("name"):
                document.add(path, f"the step {name!r} depends on itself", "self_dependency")
            elif name not in steps:
                suggestions += 1
                tail = nearest(name, steps) if suggestions <= _MOST_SUGGESTIONS else ""
                document.add(path, f"there is no step {name!r}{tail}", "unknown_dependency")
            for place in again:
                document.add((*path[:-1], place), f"{name!r} is named twice", "duplicate_dependency")


def _check_amounts(document: Document) -> None:
    """Refuse what takes long to check before it is checked."""
    places = [document.value, *(step for _, step in _raw_steps(document))]
    held = sum(len(rules) for place in places if isinstance(rules := place.get("rules"), list))
    if held > MAX_TEMPLATE_RULES:
        message = f"{held:,} rules are too many in one template; the limit is {MAX_TEMPLATE_RULES:,}"
        document.add(("rules",), message, "too_many_rules")
        raise Enough(document.problems)


def _check_queues(document: Document) -> None:
    for index, step in _raw_steps(document):
        queue = step.get("queue")
        if isinstance(queue, str) and queue.lower().startswith(RESERVED_QUEUES):
            message = (
                f"{queue!r} is reserved: queues of steps must not begin with {' or '.join(RESERVED_QUEUES)}"
            )
            document.add(("steps", index, "queue"), message, "reserved_queue")


def _check_inputs(document: Document) -> None:
    for index, step in _raw_steps(document):
        size = len(canonical_json(step.get("input"), what="input").encode())
        if size > MAX_STEP_INPUT_BYTES:
            message = f"is {size:,} bytes; the limit is {MAX_STEP_INPUT_BYTES:,}: submit what is large"
            document.add(("steps", index, "input"), message, "input_too_large")


def _check_after(document: Document) -> None:
    for index, step in _raw_steps(document):
        if step.get("after") in {"failure", "always"} and not step.get("depends_on"):
            message = "names whose end it follows in depends_on, which is empty"
            document.add(("steps", index, "after"), message, "after_nothing")


def _check_schemas(document: Document) -> None:
    places: list[tuple[Path, Any]] = [(("input_schema",), document.value.get("input_schema"))]
    places += [
        (("steps", index, "result_schema"), step.get("result_schema")) for index, step in _raw_steps(document)
    ]
    held = 0
    for at, schema in places:
        held += sum(1 for _ in _keywords(schema)) if isinstance(schema, dict) else 0
        if held > MAX_SCHEMA_KEYS:
            message = f"the schemas of a template hold more than {MAX_SCHEMA_KEYS:,} keys; simplify them"
            document.add(at, message, "schema_too_large")
            return
        _check_schema(document, at, schema)


def _check_schema(document: Document, at: Path, schema: Any) -> None:
    if not isinstance(schema, dict):
        return
    import jsonschema  # noqa: PLC0415 - loaded by whoever has a schema to check, which few commands have

    if schema.get("$schema", _DIALECT) != _DIALECT:
        document.add((*at, "$schema"), f"must be {_DIALECT!r}, or left out", "bad_schema")
        return
    validator = jsonschema.Draft202012Validator
    for error in validator(validator.META_SCHEMA).iter_errors(schema):
        deepest = jsonschema.exceptions.best_match([error]) or error
        message = f"is not JSON Schema (draft 2020-12): {deepest.message[:200]}"
        document.add((*at, *deepest.absolute_path), message, "bad_schema")
        document.look_up()
    keywords = list(_keywords(schema))
    moved = any(key == "$id" for path, key, _ in keywords if path)
    for path, key, value in keywords:
        place: Path = (*at, *path, key)
        if key in {"$ref", "$dynamicRef"} and isinstance(value, str):
            _check_reference(document, place, value, None if moved else schema)
        _check_patterns(document, place, key, value)


def _check_reference(document: Document, place: Path, reference: str, schema: dict[str, Any] | None) -> None:
    """Follow a pointer from the root `schema`; None means that a nested `$id` has moved the root."""
    if not reference.startswith("#"):
        message = f"{reference[:80]!r} points outside of the template; copy it into $defs"
        document.add(place, message, "foreign_ref")
    elif reference.startswith("#/") and schema is not None and not _points_somewhere(schema, reference):
        document.add(place, f"{reference[:80]!r} points to nothing", "dangling_ref")


def _check_patterns(document: Document, place: Path, key: str, value: Any) -> None:
    patterns: list[Any] = []
    if key == "pattern" and isinstance(value, str):
        patterns = [value]
    elif key == "patternProperties" and isinstance(value, dict):
        patterns = list(value)
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except PatternInvalid as error:
            document.add(place, f"{pattern[:80]!r} {error}", "bad_pattern")


def _keywords(schema: dict[str, Any]) -> Iterator[tuple[Path, str, Any]]:
    """Yield the path, key and value of each entry of the schema, but not of the instances it quotes."""
    todo: list[tuple[Path, Any]] = [((), schema)]
    while todo:
        path, node = todo.pop()
        if isinstance(node, list):
            todo.extend(((*path, index), item) for index, item in enumerate(node))
        elif isinstance(node, dict):
            for key, value in node.items():
                yield path, key, value
                if key not in _OPAQUE:
                    todo.append(((*path, key), value))


def _points_somewhere(schema: dict[str, Any], reference: str) -> bool:
    node: Any = schema
    for part in unquote(reference[2:]).split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return False
    return True
