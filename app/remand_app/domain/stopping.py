"""How a step sees a stop: which signals ask a process to end, and which errors these signals cause."""

from __future__ import annotations

import signal
from collections.abc import Iterator

STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
"""What supervisors, closed terminals and people send to end a process."""
_SHELL_BASE = 128
_ENDS = frozenset({-number for number in STOP_SIGNALS} | {_SHELL_BASE + number for number in STOP_SIGNALS})


def is_echo_of_stop(error: BaseException) -> bool:
    """Return whether an error says that a program the step had started ended by a signal that asks to end.

    A stop of the whole process group reaches that program, too: the error it causes is no failure of the
    step. A `sys.exit()` of the handler itself is not such an error.
    """
    return any(getattr(link, "returncode", None) in _ENDS for link in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
