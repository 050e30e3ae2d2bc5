"""Turn errors into what people and programs read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from remand_app.cli.streams import print_json
from remand_app.stderr import complain

if TYPE_CHECKING:
    from remand.errors import RemandError


def report(error: RemandError, *, as_json: bool) -> None:
    """Show an error of the product: a line with its code and a hint, or an object with `error`."""
    show(error.code, error.message, error.hint, error.details, as_json=as_json)


def show(code: str, message: str, hint: str, details: Mapping[str, object], *, as_json: bool) -> None:
    """Show any error in the form of the product's own, secrets in its texts masked."""
    from remand.redact import redact_json, redact_text  # noqa: PLC0415 - only errors need it

    message, hint = redact_text(message), redact_text(hint)
    if as_json:
        details = redact_json(dict(details))
        print_json({"error": {"code": code, "message": message, "hint": hint, "details": details}})
    else:
        complain(code, message, hint)
