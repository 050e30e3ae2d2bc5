"""How every door shows states: the tone, which is a colour, and the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Tone = Literal["good", "bad", "warn", "busy", "quiet", ""]

_STATES: Final[Mapping[Tone, tuple[str, ...]]] = {
    "good": (
        "complete", "resolved_manually", "manually_resolved", "requeued", "succeeded", "finished", "closed",
        "resolved", "ok", "healthy",
    ),
    "bad": (
        "error", "blocked_by_failures", "permanently_failed", "failed", "open", "stopped", "lost",
        "timed_out", "stale", "fail",
    ),
    "warn": (
        "waiting_for_retry", "enqueued_as_error_for_orchestration", "warning", "warn", "half_open",
        "releasing", "paused", "interrupted", "skipped", "not_found",
    ),
    "busy": (
        "steps_in_process", "in_progress", "enqueued", "enqueued_for_orchestration", "running", "sent",
        "investigating", "canary",
    ),
    "quiet": ("pending", "cancelled", "planned"),
}  # fmt: skip
_TONES: Final[Mapping[str, Tone]] = {state: tone for tone, states in _STATES.items() for state in states}


def tone(state: object) -> Tone:
    """Return the tone of a state; the word beside it says the same."""
    return _TONES.get(str(state), "")


def words(state: object) -> str:
    """Return a state as people say it."""
    return str(state).replace("_", " ")
