"""Run the generator: `python -m tools.docgen [--check]`."""

from __future__ import annotations

import sys

from tools.docgen.pages import main

sys.exit(main())
