"""Print an error on standard error, for every program of ours."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from remand_app.domain.printable import printable

if TYPE_CHECKING:
    from remand.errors import RemandError


def complain(code: str, message: str, hint: str) -> None:
    """Write an error: its code, what is wrong, what to do. Secrets in the texts are the caller's to mask."""
    heading, arrow = f"error {code}: ", "→ "
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        heading, arrow = f"\x1b[1;31m{heading}\x1b[0m", f"\x1b[1m{arrow}\x1b[0m"
    told = f"{heading}{printable(message)}\n"
    sys.stderr.write(f"{told}{arrow}{printable(hint)}\n" if hint else told)


def complain_of(error: RemandError) -> None:
    """Write an error of the product, secrets in its texts masked."""
    from remand.redact import redact_text  # noqa: PLC0415 - only errors need it

    complain(error.code, redact_text(error.message), redact_text(error.hint))
