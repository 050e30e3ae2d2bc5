"""Own what a template says about one submit: whether its input is valid, and which submits are the same."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jsonschema import ValidationError

from remand_app.domain.errors import IdentityInvalid, InputInvalid, InputTooLarge, JsonInvalid, JsonTooLarge
from remand_app.domain.json_schema import TooMuchWork, errors_of
from remand_app.domain.jsonvalue import canonical_json, encode, first_problem, path_text
from remand_app.domain.patterns import PatternInvalid
from remand_app.domain.template.model import Template

_KINDS: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def validate_input(template: Template, value: object, max_bytes: int) -> str:
    """Check a workflow's input against the template's schema and return it as JSON text, ready to store.

    Messages name paths and rules, never the values given: inputs are users' data and messages are logged.
    `format` is an annotation, as draft 2020-12 has it, and is not checked.
    Raises `InputInvalid` with all errors (at most 100) in `details["problems"]`, or `InputTooLarge`.
    """
    try:
        text = encode(value, what="input", max_bytes=max_bytes)
    except JsonTooLarge as error:
        raise InputTooLarge(error.message, hint=error.hint) from None
    except JsonInvalid as error:
        problem = {"path": error.path, "message": error.problem}
        raise InputInvalid(error.message, hint=error.hint, details={"problems": [problem]}) from None
    if template.input_schema is not None:
        _meet(template.input_schema, json.loads(text), "input", f"the input_schema of {template.ref}")
    return text


def check_result(template: Template, step: str, value: object) -> None:
    """Check a result that a person gives for a step against the step's schema; messages as for inputs.

    Raises `InputInvalid` with all errors (at most 100) in `details["problems"]`.
    """
    spec = template.step(step)
    if spec is not None and spec.result_schema is not None:
        _meet(spec.result_schema, value, "result", f"the result_schema of step {step} of {template.ref}")


def _meet(schema: dict[str, Any], value: Any, what: str, where: str) -> None:
    problems = _schema_problems(schema, value, where)
    if problems:
        lines = "".join(f"\n  {problem['path']}: {problem['message']}" for problem in problems)
        raise InputInvalid(f"the {what} does not meet {where}:{lines}", details={"problems": problems})


def identity_key(template: Template, value: object, caller_key: str | None = None) -> str | None:
    """Return the key that makes two submits one, 64 hex digits; None if each submit is its own.

    `strict` covers the full name with version and the canonical input. A caller's key covers namespace and
    name, not the version: it names an action in the outside world, which no release may repeat.
    Raises `IdentityInvalid` if a key is missing, unusable, or given to a strict template.
    """
    if template.identity == "strict":
        if caller_key is not None:
            raise IdentityInvalid(
                f"{template.ref} has identity: strict, which takes no key",
                hint="leave the key out, or use identity: caller_provided",
            )
        return _digest(["strict", template.ref, value])
    if caller_key is None:
        if template.identity == "caller_provided":
            raise IdentityInvalid(
                f"{template.ref} has identity: caller_provided", hint="give a key with the submit"
            )
        return None
    if not caller_key.strip():
        raise IdentityInvalid("the key must be text that is not blank")
    problem = first_problem(caller_key)
    if problem is not None:
        raise IdentityInvalid(f"the key {problem[1]}")
    return _digest(["caller", template.namespace, template.name, caller_key])


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(canonical_json(parts, what="input").encode()).hexdigest()


def _schema_problems(schema: dict[str, Any], value: Any, where: str) -> list[dict[str, str]]:
    # Loaded only where there is a schema to check, which few commands have.
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    try:
        errors = errors_of(schema, value)
    except RecursionError:
        raise InputInvalid(f"{where} refers to itself without end") from None
    except TooMuchWork:
        hint = "give it less, or simplify the schema: lists of lists of choices multiply"
        raise InputInvalid(f"to hold this to {where} takes too long", hint=hint) from None
    except PatternInvalid as error:
        hint = "publish a new version of the template with another pattern"
        raise InputInvalid(f"{where} cannot be used: a pattern {error}", hint=hint) from None
    except Unresolvable as error:
        raise InputInvalid(f"{where} cannot be used: {error}") from None
    return [{"path": path_text(tuple(error.absolute_path)), "message": _said(error)} for error in errors]


def _said(error: ValidationError) -> str:
    rule: Any = error.validator_value
    keyword: Any = error.validator
    match keyword:
        case "required" | "dependentRequired" | "additionalProperties" | "unevaluatedProperties":
            return error.message[:200]
        case "type":
            wanted = " or ".join(rule) if isinstance(rule, list) else rule
            return f"must be of type {wanted}, not {_KINDS.get(type(error.instance), 'null')}"
        case "enum" | "const":
            one_of = "one of " if keyword == "enum" else ""
            return f"must be {one_of}{json.dumps(rule, ensure_ascii=False)[:200]}"
        case None:
            return "nothing is allowed here"
        case _:
            return f"does not meet {keyword}: {json.dumps(rule, ensure_ascii=False)[:200]}"
