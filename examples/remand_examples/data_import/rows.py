"""Reading airports.csv: where the lines are, what makes one line a good row. Knows nothing of workflows."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

COLUMNS = ("iata", "name", "city", "state", "country", "latitude", "longitude")

# float() also takes "nan", "1e3" and full-width digits; a coordinate is none of these.
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


class BadRow(Exception):
    """Say why a line is not a row of airports.csv."""


@dataclass(frozen=True, slots=True)
class Part:
    """A run of whole lines: bytes `start` up to `end`, number of its first line (1-based), how many lines."""

    start: int
    end: int
    first_line: int
    rows: int


@dataclass(frozen=True, slots=True)
class Airport:
    """What the import needs of a good row."""

    code: str
    state: str


def find_parts(path: Path, count: int) -> list[Part]:
    """Cut the lines after the header into `count` parts whose sizes differ by at most one line.

    Raises BadRow if the header is not COLUMNS or the last line is cut short, OSError if it cannot be read.
    """
    starts: list[int] = []
    position = 0
    line = b""
    with path.open("rb") as file:
        for line in file:
            starts.append(position)
            position += len(line)
    _check_header(path)
    if not line.endswith(b"\n"):
        raise BadRow(
            f"{path.name} is truncated: line {len(starts)} ends after {len(line)} bytes without a newline"
        )
    starts.append(position)
    rows = len(starts) - 2
    bounds = [1 + rows * number // count for number in range(count + 1)]
    return [Part(starts[first], starts[last], first + 1, last - first) for first, last in pairwise(bounds)]


def read_lines(path: Path, part: Part) -> list[bytes]:
    """Return the lines of `part`; fewer than `part.rows` if the file has become shorter since it was cut."""
    with path.open("rb") as file:
        file.seek(part.start)
        return list(io.BytesIO(file.read(part.end - part.start)))


def parse_row(line: bytes) -> Airport:
    """Return the airport on `line`. Raises BadRow with the first thing that is wrong."""
    cells = _split_cells(line)
    if len(cells) != len(COLUMNS):
        raise BadRow(f"{len(cells)} columns instead of {len(COLUMNS)}")
    row = dict(zip(COLUMNS, cells, strict=True))
    for column in ("iata", "name", "city", "state"):
        if not row[column].strip():
            raise BadRow(f"{column} is empty")
    _check_degrees("latitude", row["latitude"], limit=90)
    _check_degrees("longitude", row["longitude"], limit=180)
    return Airport(row["iata"], row["state"])


def _check_header(path: Path) -> None:
    with path.open("rb") as file:
        header = _split_cells(file.readline())
    if tuple(header) != COLUMNS:
        raise BadRow(f"{path.name} starts with columns {header} instead of {list(COLUMNS)}")


def _split_cells(line: bytes) -> list[str]:
    try:
        return next(csv.reader([line.decode("utf-8").rstrip("\r\n")], strict=True), [])
    except UnicodeDecodeError as error:
        raise BadRow(f"not UTF-8: byte 0x{line[error.start]:02x} at position {error.start}") from error
    except csv.Error as error:
        raise BadRow(f"not CSV: {error}") from error


def _check_degrees(column: str, text: str, *, limit: int) -> None:
    if not _PLAIN_NUMBER.fullmatch(text):
        raise BadRow(f"{column} {text!r} is not a plain number")
    if abs(float(text)) > limit:
        raise BadRow(f"{column} {text} is out of range ±{limit}")
