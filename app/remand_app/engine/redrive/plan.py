"""Plan a redrive: fix the exact set and forecast the result. No letter is changed.

Source: C7, C16.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import InputInvalid, Unfiltered
from remand_app.domain.instants import bounded
from remand_app.domain.queues import BUILT_IN
from remand_app.domain.redrive import Redrive, RedriveState, RedriveVerb
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.engine.redrive.outlook import Forecast, forecast
from remand_app.store import redrives
from remand_app.telemetry import log

_MOST_STAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a redrive."""

    verb: RedriveVerb = RedriveVerb.REQUEUE
    canary: tuple[int, ...] = ()
    """Letters sent one stage after the other before the rest, as (1, 10)."""
    success_share: float = 1.0
    """Share of a canary that must succeed."""
    rate_per_second: float | None = None
    """None: as fast as it goes."""
    include_claimed: bool = False
    """True: include letters that others have claimed."""
    queue: str | None = None
    """Where the failed steps run; None: their own."""
    priority: int | None = None
    """0-9 for the failed steps; None: their own. 0 lets fresh work go first."""
    not_before: datetime | None = None
    """The redrive begins no earlier."""
    code_version: str | None = None
    """The redrive begins once every live worker runs this version of the handlers."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A redrive in state `planned`, and what to expect of it."""

    redrive: Redrive
    forecast: Forecast


def plan(
    engine: Engine,
    selection: LetterFilter,
    who: Who,
    options: Options | None = None,
    *,
    everything: bool = False,
) -> Plan:
    """Fix the set of letters that match now, and forecast how they would end.

    `everything`: confirms a filter that narrows nothing down. Transaction: own for the set, own for the
    forecast.

    Raises:
        Unfiltered: the filter narrows nothing down, and nobody said that this is meant.
        InputInvalid: an option is out of bounds.
    """
    options = options or Options()
    if selection.is_empty and not everything:
        raise Unfiltered(
            "no filter was given: this would be every open dead letter",
            hint="narrow it down, or say that all are meant: --all",
        )
    _check(options)
    with engine.database.begin() as connection:
        now = engine.now(connection)
        redrive_id = redrives.insert_redrive(
            connection,
            state=RedriveState.PLANNED,
            state_since=now,
            selection=selection.to_json(),
            described=selection.describe(),
            planned_at=now,
            planned_by=who.by,
            reason=who.reason,
            **_columns(options),
        )
        redrives.fix_set(connection, redrive_id, selection, now)
    made = redrives.get_redrive(engine.database, redrive_id)
    log("redrive.planned", redrive_id=str(redrive_id), verb=made.verb, total=made.total, by=who.by)
    return Plan(made, forecast(engine, redrive_id))


def by_ids(ids: tuple[UUID, ...]) -> LetterFilter:
    """Return the selection of exactly these letters."""
    return LetterFilter(ids=ids)


def _columns(options: Options) -> dict[str, object]:
    values = {name: getattr(options, name) for name in Options.__slots__}
    return {**values, "canary": list(options.canary)}


def _check(options: Options) -> None:
    if options.not_before is not None:
        bounded(options.not_before)
    problem = next(iter(_problems(options)), None)
    if problem is not None:
        raise InputInvalid(problem)


def _problems(options: Options) -> list[str]:
    problems = []
    if any(size < 1 for size in options.canary) or len(options.canary) > _MOST_STAGES:
        problems.append(f"a canary is 1 letter or more, in {_MOST_STAGES} stages at most, such as 1,10")
    if not 0 < options.success_share <= 1:
        problems.append(f"success share {options.success_share:g} is not above 0 and up to 1")
    if options.rate_per_second is not None and not 0.001 <= options.rate_per_second <= 100_000:
        problems.append(f"rate {options.rate_per_second:g} is not 0.001 to 100000 letters a second")
    if options.priority is not None and not 0 <= options.priority <= 9:
        problems.append(f"priority {options.priority} is not 0 to 9")
    if options.queue is not None and (not options.queue.strip() or options.queue in BUILT_IN[1:]):
        problems.append(f"queue {options.queue!r} is none that steps can run in")
    steps_only = options.queue is not None or options.priority is not None
    if steps_only and options.verb is not RedriveVerb.REQUEUE:
        problems.append(f"queue and priority are for requeue: {options.verb} sends no step back")
    return problems
