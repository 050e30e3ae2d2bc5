"""Turn errors into what people and programs read, and into exit codes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rich.text import Text

from app.cli.output import Output, print_json
from remand.errors import RemandError

INTERRUPTED = 130
BROKEN_PIPE = 141

EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        0: "done",
        1: "it did not go well: needs a person, failed, or not yet",
        2: "wrong usage or bad input",
        3: "settings, database, broker or schema are not fit",
        4: "no such thing",
        5: "not possible in its present state",
        INTERRUPTED: "interrupted",
    }
)


def report(error: RemandError, out: Output) -> None:
    """Show an error of the product: a line with its code and a hint, or an object with `error`."""
    show(error.code, error.message, error.hint, error.details, out)


def show(code: str, message: str, hint: str, details: Mapping[str, object], out: Output) -> None:
    """Show any error in the form of the product's own."""
    if out.as_json:
        print_json({"error": {"code": code, "message": message, "hint": hint, "details": details}})
        return
    out.errors.print(Text.assemble((f"error {code}: ", "bold red"), message))
    if hint:
        out.errors.print(Text.assemble(("→ ", "bold"), hint))
