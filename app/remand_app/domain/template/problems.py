"""Own the words of template problems: pydantic's errors, rephrased for the author of the file.

Each message says what is there and what to write instead; unknown words come with the nearest known one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from remand_app.domain import retry, user_rules
from remand_app.domain.dead_letters import AutoRequeueOverrides
from remand_app.domain.jsonvalue import Path
from remand_app.domain.template.model import MAX_STEPS, DeadLetterSpec, StepSpec, Template
from remand_app.domain.template.source import Document

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_MODELS: Final[dict[str, type[BaseModel]]] = {
    "steps": StepSpec,
    "rules": user_rules.RuleSpec,
    "dead_letters": DeadLetterSpec,
    "auto_requeue": AutoRequeueOverrides,
    "retry": retry.RetryOverrides,
    "exponential": retry.ExponentialOverrides,
    "linear": retry.LinearOverrides,
    "immediate": retry.ImmediateOverrides,
    "fixed": retry.FixedOverrides,
    "fibonacci": retry.FibonacciOverrides,
}
_WANTED: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_BOUNDS: Final = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
}


def say(document: Document, error: ErrorDetails) -> None:
    """Add one pydantic error to the problems of the document."""
    path: Path = tuple(error["loc"])
    kind = error["type"]
    if kind == "too_short" and error["input"]:
        return  # pydantic counts good steps only; the bad ones have their own problems
    if kind == "missing":
        document.add(path, "is missing", "missing_key")
    elif kind == "extra_forbidden":
        document.add(path, f"is not a known key{nearest(str(path[-1]), _keys_beside(path))}", "unknown_key")
    elif kind in _WANTED:
        if not document.has_problem(path):
            document.add(path, _wrong_type(document, path, _WANTED[kind], error["input"]), "wrong_type")
    elif kind == "literal_error":
        document.add(path[:-1] if path[-1] == "[key]" else path, _not_one_of(path, error), "unknown_value")
    elif kind in _BOUNDS:
        document.add(path, _out_of_bounds(path, error), "out_of_range")
    else:
        document.add(path, *_other(path, error))


def nearest(word: str, known: Iterable[str], *, listed: int = 12) -> str:
    """Return "; did you mean …?" or the list of known words as the tail of a message."""
    words = list(islice(known, 2000))
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(words)}" if 0 < len(words) <= listed else ""


def _keys_beside(path: Path) -> list[str]:
    above = [part for part in path[:-1] if isinstance(part, str)]
    return list(_MODELS.get(above[-1], Template).model_fields) if above else list(Template.model_fields)


def _wrong_type(document: Document, path: Path, wanted: str, value: Any) -> str:
    # One value in place of a list stands where the list is expected.
    written = document.written.get(path) or (document.written.get(path[:-1]) if path[-1:] == (0,) else None)
    match value:
        case None:
            return f"is empty; it must be {wanted}, or the key left out if it has a default"
        case bool() | int() | float() if wanted == "text":
            kind = "a truth value" if isinstance(value, bool) else "a number"
            shown = value if written is None else written
            return f'{shown} is {kind} in YAML; quote it: "{shown}"'
        case str():
            return f"must be {wanted}, not the text {value[:40]!r}"
        case bool() | int() | float():
            return f"must be {wanted}, not {value if written is None else written}"
        case list():
            return f"must be {wanted}, not a list"
        case _:
            return f"must be {wanted}, not a mapping"


def _not_one_of(path: Path, error: ErrorDetails) -> str:
    known = [part.strip("' ") for part in error["ctx"]["expected"].replace(" or ", ", ").split(",")]
    word = str(error["input"])
    what = "category" if path[-1] == "[key]" else "policy" if "policies" in path else path[-1]
    return f"{word[:40]!r} is not a known {what} ({', '.join(known)}){nearest(word, known, listed=0)}"


def _out_of_bounds(path: Path, error: ErrorDetails) -> str:
    if path[-1] == "max_attempts" and error["input"] == 0:
        return "is 0; it counts all executions, the first included, so the least is 1 (which means: no retry)"
    bound, words = _BOUNDS[error["type"]]
    return f"is {error['input']}; it must be {words} {error['ctx'][bound]:g}"


def _other(path: Path, error: ErrorDetails) -> tuple[str, str]:
    match error["type"]:
        case "string_pattern_mismatch" if path[-1] == "handler":
            return "must be 1 to 200 characters without spaces, as in 'shop.payments.charge'", "bad_name"
        case "string_pattern_mismatch":
            longest = 32 if path[-1] == "version" else 63
            signs = "'_', '.', '+' or '-'" if path[-1] == "version" else "'_', '.' or '-'"
            rule = f"letters, digits, {signs}, the first a letter or digit, at most {longest} characters"
            return f"{str(error['input'])[:80]!r} is not a good name: {rule}", "bad_name"
        case "too_short":
            return "is empty; a template needs at least one step", "no_steps"
        case "too_long" if path[-1] == "rules":
            return f"has more than {user_rules.MAX_RULES:,} rules", "too_many_rules"
        case "too_long":
            return f"has more than {MAX_STEPS:,} steps; split the workflow", "too_many_steps"
        case _:
            return error["msg"][:1].lower() + error["msg"][1:], "wrong_value"
