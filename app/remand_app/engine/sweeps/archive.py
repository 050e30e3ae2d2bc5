"""Archive sweep: move finished workflows past their retention to the archive, if that is switched on."""

from __future__ import annotations

from remand_app.engine import archive as engine_archive
from remand_app.engine.archive import ArchiveResult
from remand_app.engine.engine import Engine


def archive(engine: Engine) -> ArchiveResult:
    """Sweep once; `[archive] enabled = false`: do nothing. See `remand_app.engine.archive.run`."""
    return engine_archive.run(engine) if engine.settings.archive.enabled else ArchiveResult()
