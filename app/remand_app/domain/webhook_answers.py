"""What an answer to a webhook means, and when a message that was not delivered is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final, TypeAlias

_WORTH_ANOTHER_TRY: Final = frozenset({408, 425, 429})
_FIRST_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 3600.0
_GATE_SECONDS: Final = 300.0
_LONGEST_RETRY_AFTER: Final = timedelta(days=1)
_SPREAD: Final = 0.25
_DOUBLINGS: Final = 12


@dataclass(frozen=True, slots=True)
class Delivered:
    """The target took it."""

    answer: str


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It did not, for now."""

    why: str
    after: timedelta | None = None
    """The wait that the target asked for."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It never will take this message as it is set up."""

    why: str


Outcome: TypeAlias = Delivered | TryAgain | Refused


def judge(status: int, excerpt: str, retry_after: timedelta | None) -> Outcome:
    """Return what an HTTP status means; `excerpt`: the start of the answer, redacted."""
    answer = f"{status} {_phrase(status)}{f': {excerpt}' if excerpt else ''}".strip()
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Delivered(answer)
    if status in _WORTH_ANOTHER_TRY or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TryAgain(answer, retry_after)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return Refused(f"{answer} (redirects are not followed: set the address it leads to)")
    return Refused(answer)


def wait(attempts: int, after: timedelta | None, jitter: float) -> timedelta:
    """Return how long a message waits after so many tries: doubled each time, never less than asked for."""
    return _wait(attempts, _LONGEST_SECONDS, after, jitter)


def gate(failures: int, after: timedelta | None, jitter: float) -> timedelta:
    """Return how long nothing is sent to a target after so many failures in a row, of any messages."""
    return _wait(failures, _GATE_SECONDS, after, jitter)


def _wait(times: int, longest: float, after: timedelta | None, jitter: float) -> timedelta:
    seconds = min(_FIRST_SECONDS * 2.0 ** min(max(times - 1, 0), _DOUBLINGS), longest)
    planned = timedelta(seconds=seconds * (1 + _SPREAD * jitter))
    return planned if after is None else max(planned, min(after, _LONGEST_RETRY_AFTER))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
