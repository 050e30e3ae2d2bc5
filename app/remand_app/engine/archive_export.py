"""Write archive periods to files; drop periods that are exported or past their final retention.

A period becomes a directory: `workflows.jsonl.gz`, `steps.jsonl.gz`, `attempts.jsonl.gz`, `history.jsonl.gz`,
one row a line, and `manifest.json` with counts and checksums. The directory is written under a temporary name
and renamed when it is complete: a directory with the period's name is always complete. Source: D5.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from remand_app.domain.errors import Busy, InputInvalid, NotExported
from remand_app.domain.partitions import Period
from remand_app.engine.archive import size_of, verify_pending
from remand_app.engine.archive_restore import find_period
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import archive_files, archive_moves, audit, schema
from remand_app.store import archive_runs as books
from remand_app.store.archive_runs import DEFAULT, Run, Sums
from remand_app.store.database import Connection
from remand_app.store.ids import new_id
from remand_app.store.tables import PARTITIONED
from remand_app.telemetry import log

MANIFEST: Final = "manifest.json"
_LEVEL: Final = 6
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class FileOf:
    """One file of an export."""

    name: str
    rows: int
    bytes: int
    sha256: str
    """Checksum of the compressed file, hex."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A period that was written to files."""

    period: str
    place: str
    """The directory."""
    files: tuple[FileOf, ...]

    @property
    def workflows(self) -> int:
        """How many workflows it holds."""
        return self.files[0].rows


@dataclass(frozen=True, slots=True)
class Dropped:
    """A period that was dropped."""

    period: str
    workflows: int
    bytes: int
    """Bytes that were freed."""
    why: str
    """"exported" or "past its final retention"."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What the archive holds under a name."""

    name: str
    period: Period | None
    """None: the rows that belong to no period."""
    tables: tuple[str, ...]
    bytes: int


def unexported(engine: Engine) -> list[str]:
    """Return the periods that hold rows which no export contains. Transaction: own."""
    return books.unexported(engine.database)


def export(engine: Engine, name: str, directory: Path, who: Who) -> Exported:
    """Write a period into a new directory of its name in `directory`.

    Raises:
        PeriodNotFound: the archive has none of that name.
        InputInvalid: the directory has one of that name, or cannot be written to.

    Transaction: own, one that reads a single state; a short one at the end.
    """
    verify_pending(engine)
    held = _held(engine, name)
    place = directory / name
    if place.exists():
        raise InputInvalid(f"{place} is there already", hint="name another directory, or move it away")
    started_at = _now(engine)
    # A unique name: process ids repeat among containers that share a volume, and among threads.
    part = directory / f".{name}.{new_id()}.part"
    try:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        # The files contain users' data: whatever the umask, only the owner can read them.
        part.mkdir(mode=0o700)
        files, sums = _write(engine, held, part)
        _finish(part, place, _manifest(held, files, sums, started_at))
    except OSError as error:
        raise InputInvalid(f"cannot write to {directory}: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    run = books.counted(books.draft("export", "period", held.period, who.by, started_at), sums)
    _note(engine, replace(run, bytes=held.bytes), place)
    log("archive.exported", period=name, place=str(place), workflows=sums.counts[0], by=who.by)
    return Exported(name, str(place.resolve()), tuple(files))


def drop(engine: Engine, name: str, who: Who) -> Dropped:
    """Drop a period that was exported in its present state, or that is past its final retention.

    The identities of its workflows become free again. Its dead letters and audit entries stay for their own
    retention.

    Raises:
        PeriodNotFound: the archive has none of that name.
        NotExported: neither holds; nothing was changed.
        Busy: it was changed meanwhile.

    Transaction: some own ones, the last of which drops.
    """
    verify_pending(engine)
    held = _held(engine, name)
    state = archive_files.state_of(engine.database, name)
    sums = archive_moves.sums(engine.database, held.tables)
    why = _reason(engine, held, sums)
    now = _now(engine)
    drafted = books.counted(books.draft("drop", "period", held.period, who.by, now), sums)
    drafted = replace(drafted, bytes_before=held.bytes, verified_at=now)
    entry = audit.Entry("archive.drop", "period", name, None, None, {"workflows": sums.counts[0], "why": why})

    def record(connection: Connection) -> None:
        audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)

    if not archive_files.drop(engine.database, drafted, held.tables, state, record):
        raise Busy(f"period {name} was changed meanwhile: nothing was dropped", hint="try again")
    log("archive.dropped", period=name, workflows=sums.counts[0], reason=why, by=who.by)
    return Dropped(name, sums.counts[0], held.bytes, why)


def _held(engine: Engine, name: str) -> _Held:
    if name == DEFAULT:
        return _Held(name, None, archive_files.default_tables(), size_of(engine, name))
    archived = find_period(engine, name)
    return _Held(name, archived.period, archived.tables, archived.bytes)


def _reason(engine: Engine, held: _Held, sums: Sums) -> str:
    with engine.database.begin() as connection:
        last = books.last_export(connection, held.name)
    if last is not None and last.sums == sums:
        return "exported"
    days = engine.settings.archive.keep_days
    ends_at = None if held.period is None else held.period.ends_at
    if days and ends_at is not None and ends_at + timedelta(days=days) <= _now(engine):
        return "past its final retention"
    why = "was not exported" if last is None else f"has changed since it was exported to {last.place}"
    raise NotExported(
        f"period {held.name} {why}: it is not dropped",
        hint=f"remand archive export {held.name} --to DIRECTORY",
        details={"period": held.name, "exported_to": None if last is None else last.place},
    )


def _now(engine: Engine) -> datetime:
    with engine.database.begin() as connection:
        return engine.now(connection)


def _write(engine: Engine, held: _Held, part: Path) -> tuple[list[FileOf], Sums]:
    with archive_files.frozen(engine.database) as connection:
        sums = archive_moves.sums_of(connection, held.tables)
        files = [
            _write_file(part / f"{of}.jsonl.gz", archive_files.lines(connection, table, of))
            for of, table in zip(PARTITIONED, held.tables, strict=True)
        ]
    return files, sums


def _write_file(path: Path, lines: Iterable[str]) -> FileOf:
    rows = 0
    path.touch(_PRIVATE, exist_ok=False)
    with path.open("wb") as raw:
        # No name and no time in it: the same rows make the same file.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0) as packed:
            for line in lines:
                packed.write(line.encode() + b"\n")
                rows += 1
        raw.flush()
        os.fsync(raw.fileno())
    with path.open("rb") as raw:
        digest = hashlib.file_digest(raw, "sha256").hexdigest()
    return FileOf(path.name, rows, path.stat().st_size, digest)


def _manifest(held: _Held, files: Iterable[FileOf], sums: Sums, at: datetime) -> Mapping[str, Any]:
    return {
        "period": held.name,
        "starts_at": None if held.period is None else held.period.starts_at.isoformat(),
        "ends_at": None if held.period is None else held.period.ends_at.isoformat(),
        "exported_at": at.isoformat(),
        "schema": schema.head(),
        "checksum": str(sums.checksum),
        "files": [asdict(file) for file in files],
    }


def _finish(part: Path, place: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, and give the directory its name, so that both survive a crash."""
    (part / MANIFEST).touch(_PRIVATE, exist_ok=False)
    with (part / MANIFEST).open("w", encoding="utf-8") as raw:
        json.dump(manifest, raw, indent=2)
        raw.write("\n")
        raw.flush()
        os.fsync(raw.fileno())
    _sync(part)
    part.rename(place)
    _sync(place.parent)


def _sync(directory: Path) -> None:
    # Not every file system lets a directory be synchronised.
    with suppress(OSError):
        opened = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _note(engine: Engine, run: Run, place: Path) -> None:
    with engine.database.begin() as connection:
        now = engine.now(connection)
        done = replace(run, ended_at=now, verified_at=now, place=str(place.resolve()))
        books.add_run(connection, done)
