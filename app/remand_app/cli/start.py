"""The program `remand`: become the command line, or say what it lacks where only the client is installed."""

from __future__ import annotations

import json
import sys

from remand_app.domain.errors import ExtraMissing
from remand_app.extras import require


def main() -> None:
    """Run the command line of this process."""
    try:
        require("server", "the command line")
    except ExtraMissing as missing:
        sys.exit(_refused(missing))
    from remand_app.cli.main import main as run  # noqa: PLC0415 - it imports what may be missing

    run()


def _refused(missing: ExtraMissing) -> int:
    """Tell it as the command line tells an error, and return the exit code."""
    error = {"code": missing.code, "message": missing.message, "hint": missing.hint, "details": {}}
    as_text = f"error {missing.code}: {missing.message}\nhint: {missing.hint}"
    sys.stderr.write(json.dumps({"error": error}) if "--json" in sys.argv else as_text)
    sys.stderr.write("\n")
    return missing.exit_code
