"""Own how a value is checked against a user's JSON Schema (draft 2020-12), in bounded time.

The library jsonschema decides. Its keywords are replaced where a pattern, a list or a chain of references
could take unbounded time: patterns run in RE2, equal items are found by their canonical text, and every
keyword spends a little of one budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any, Final

from remand_app.domain.patterns import published_pattern

MOST_ERRORS: Final = 100
MOST_WORK: Final = 2_000_000
_REFERENCE: Final = 30
"""The most comparisons, roughly, for one value: some seconds. Following a reference counts as several."""


class TooMuchWork(Exception):
    """The schema and the value together would take too long."""


_spent: ContextVar[list[int]] = ContextVar("spent")
"""The cost so far of the value being checked; each thread and task has its own."""


def errors_of(schema: dict[str, Any], value: Any) -> list[Any]:
    """Return what is wrong with the value, `jsonschema.ValidationError`s, at most 100.

    Raises:
        TooMuchWork: it would take too long.
        RecursionError, referencing.exceptions.Unresolvable, PatternInvalid: the schema cannot be used.
    """
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415 - as below

    _spent.set([0])
    # The empty registry keeps a foreign $ref from being fetched over the network.
    return list(islice(_validator()(schema, registry=EMPTY_REGISTRY).iter_errors(value), MOST_ERRORS))


@cache
def _validator() -> Any:
    import jsonschema  # noqa: PLC0415 - loaded by whoever has a schema, which few have

    base = jsonschema.Draft202012Validator
    own: dict[str, Callable[..., Any]] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "unevaluatedProperties": _unevaluated_properties,
        "unevaluatedItems": _unevaluated_items,
        "uniqueItems": _unique_items,
    }
    known: dict[str, Any] = {**base.VALIDATORS, **own}
    extend: Any = jsonschema.validators.extend
    return extend(base, {name: _counted(name, keyword) for name, keyword in known.items()})


def _counted(name: str, keyword: Callable[..., Any]) -> Callable[..., Any]:
    is_reference = name in ("$ref", "$dynamicRef")

    def counting(validator: Any, said: Any, instance: Any, schema: Any) -> Any:
        _spend(_REFERENCE if is_reference else 1 + (len(said) if isinstance(said, (dict, list)) else 0))
        return keyword(validator, said, instance, schema)

    return counting


def _spend(work: int) -> None:
    spent = _spent.get()
    spent[0] += work
    if spent[0] > MOST_WORK:
        raise TooMuchWork


def _error(message: str) -> Any:
    from jsonschema import ValidationError  # noqa: PLC0415 - as above

    return ValidationError(message)


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string"):
        _spend(len(instance) // 64)
        if not published_pattern(pattern).search(instance):
            yield _error(f"does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    _spend(len(patterns) * len(instance))
    for pattern, below in patterns.items():
        fits = published_pattern(pattern).search
        for name, value in instance.items():
            if fits(name):
                yield from validator.descend(value, below, path=name, schema_path=pattern)


def _additional_properties(validator: Any, below: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    _spend((1 + len(patterns)) * len(instance))
    others = [name for name in instance if name not in known and not _fits_any(patterns, name)]
    if validator.is_type(below, "object"):
        for name in others:
            yield from validator.descend(instance[name], below, path=name)
    elif not below and others:
        yield _error(f"Additional properties are not allowed ({_listed(others)} unexpected)")


def _unevaluated_properties(validator: Any, _below: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    known = _evaluated(validator, instance, schema, _names)
    bad = [name for name in instance if name not in known]
    if bad:
        yield _error(f"Unevaluated properties are not allowed ({_listed(bad)} unexpected)")


def _unevaluated_items(validator: Any, _below: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "array"):
        return
    known = _evaluated(validator, instance, schema, _places)
    bad = len(set(range(len(instance))) - known)
    if bad:
        yield _error(f"Unevaluated items are not allowed ({bad} unexpected)")


def _unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not wanted or not validator.is_type(instance, "array"):
        return
    from remand_app.domain.jsonvalue import canonical_json  # noqa: PLC0415 - as above

    _spend(len(instance))
    if len({canonical_json(item) for item in instance}) < len(instance):
        yield _error("has items that are the same")


def _evaluated(validator: Any, instance: Any, schema: Any, own: Callable[..., set[Any]]) -> set[Any]:
    """Return the names, or indexes, that keywords of the schema and of those applied beside it evaluate."""
    _spend(1)
    if not isinstance(schema, dict):
        return set()
    evaluated = own(validator, instance, schema)
    for reference in ("$ref", "$dynamicRef"):
        if reference in schema:
            # As jsonschema's own keywords do.
            resolved = validator._resolver.lookup(schema[reference])  # noqa: SLF001
            inner = validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
            evaluated |= _evaluated(inner, instance, resolved.contents, own)
    for below in _applying(validator, instance, schema):
        evaluated |= _evaluated(validator, instance, below, own)
    return evaluated


def _applying(validator: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the schemas beside this one that the instance meets."""
    if isinstance(instance, dict):
        yield from (below for name, below in schema.get("dependentSchemas", {}).items() if name in instance)
    for keyword in ("allOf", "oneOf", "anyOf"):
        yield from (below for below in schema.get(keyword, ()) if _is_valid(validator, instance, below))
    if "if" in schema:
        if _is_valid(validator, instance, schema["if"]):
            yield schema["if"]
            yield schema.get("then", True)
        else:
            yield schema.get("else", True)


def _names(validator: Any, instance: dict[str, Any], schema: dict[str, Any]) -> set[Any]:
    patterns = schema.get("patternProperties", {})
    _spend((1 + len(patterns)) * len(instance))
    names = set(schema.get("properties", {})) & set(instance)
    names |= {name for name in instance if _fits_any(patterns, name)}
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            names |= {name for name in instance if _is_valid(validator, instance[name], schema[keyword])}
    return names


def _places(validator: Any, instance: list[Any], schema: dict[str, Any]) -> set[Any]:
    _spend(len(instance))
    if "items" in schema:
        return set(range(len(instance)))
    places = set(range(len(schema.get("prefixItems", ()))))
    for below in (schema[keyword] for keyword in ("contains", "unevaluatedItems") if keyword in schema):
        places |= {place for place, item in enumerate(instance) if _is_valid(validator, item, below)}
    return places


def _is_valid(validator: Any, instance: Any, schema: Any) -> bool:
    return next(iter(validator.descend(instance, schema)), None) is None


def _fits_any(patterns: Any, name: str) -> bool:
    return any(published_pattern(pattern).search(name) for pattern in patterns)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name)[:80] for name in sorted(names)[:10])
    return f"{shown} {'was' if len(names) == 1 else 'were'}"
