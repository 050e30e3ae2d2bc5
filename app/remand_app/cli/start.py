"""The program `remand`: become the command line, or say what it lacks where only the client is installed."""

from __future__ import annotations

import sys

from remand_app.cli import errors
from remand_app.domain.errors import ExtraMissing
from remand_app.extras import require


def main() -> None:
    """Run the command line of this process."""
    try:
        require("server", "the command line")
    except ExtraMissing as missing:
        errors.report(missing, as_json="--json" in sys.argv)
        sys.exit(missing.exit_code)
    from remand_app.cli.main import main as run  # noqa: PLC0415 - it imports what may be missing

    run()
