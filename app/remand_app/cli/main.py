"""Entry point of `remand`. It loads little: each command loads what it needs when it runs."""

from __future__ import annotations

import sys
from pathlib import Path

from remand_app.cli import streams
from remand_app.cli.invoke import run


def main() -> None:
    """Run the command line of this process."""
    streams.take_over()
    # A user's handlers are found in the working directory. It comes last, so that it hides no module of ours.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    sys.exit(streams.finish(run(sys.argv[1:], owns_process=True)))
