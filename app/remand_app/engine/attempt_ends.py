"""Record how attempts ended, many at once, so that one of them never blocks the others.

A success is settled, refused because of its value, or left unknown; an unknown one counts as a lost attempt,
never as a failure of its handler. A failure is recorded with as much detail as can be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from uuid import UUID

from remand.errors import WorkerLost
from remand.failure import Failure, capture
from remand.redact import redact_text
from remand_app.domain.errors import Busy, DatabaseUnreachable, RightMissing, StepUnreadable, ValueRefused
from remand_app.store.claims import Claim, Completed, EndedBadly, Head, Settled
from remand_app.store.run_queue import RunQueue
from remand_app.telemetry import log

T = TypeVar("T")
R = TypeVar("R")
Key = tuple[UUID, str]
Away = tuple[type[Exception], ...]
_UNSTORABLE: Final = "[what the failure said could not be stored]"


def in_halves(
    items: Sequence[T],
    act: Callable[[Sequence[T]], R],
    alone: Callable[[T, Exception], R],
    away: Away = (DatabaseUnreachable,),
) -> list[R]:
    """Act on all items at once; on an error, on halves; an item that fails alone goes to `alone`.

    Raises `away`, errors that affect every item: the remaining items were not tried then.
    """
    try:
        return [act(items)]
    except away:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one of them breaks, the others must not bear
        if len(items) == 1:
            return [alone(items[0], error)]
    half = len(items) // 2
    return [*in_halves(items[:half], act, alone, away), *in_halves(items[half:], act, alone, away)]


@dataclass(slots=True)
class Settling:
    """What came of results: settled, or a bad end that must be recorded."""

    settled: Settled = field(default_factory=Settled)
    refused: list[EndedBadly] = field(default_factory=list)
    """Results whose value Postgres cannot store."""
    forbidden: list[tuple[Completed, RightMissing]] = field(default_factory=list)
    """Results that can be settled when somebody has granted the missing right."""
    unknown: dict[Key, tuple[Completed, EndedBadly]] = field(default_factory=dict)
    """Results that could not be settled for another reason: they count as lost."""


def settle(
    queue: RunQueue,
    done: Sequence[Completed],
    call: Callable[[Sequence[Completed], int], Settled],
    k: int,
    refused: Callable[[Claim, ValueRefused], EndedBadly],
) -> Settling:
    """Settle results together, or else one by one; claims come only if all are settled together.

    `call`: settles, and claims as many steps as its second argument says; `refused`: makes a failure of a
    refused result.
    """
    came = Settling()

    def alone(completed: Completed, error: Exception) -> Settled:
        refusal = queue.refusal(completed.result) if isinstance(error, ValueRefused) else None
        if refusal is not None:
            came.refused.append(refused(completed.claim, refusal))
            return Settled()
        try:
            return call([completed], 0)
        except DatabaseUnreachable:
            raise
        except RightMissing as missing:
            came.forbidden.append((completed, missing))
            return Settled()
        except Exception as again:  # noqa: BLE001 - as in `in_halves`; what it is nobody knows
            end = lost(
                completed.claim, queue.worker, f"it ran, but its end could not be recorded: {told(again)}"
            )
            came.unknown[_key(end)] = (completed, end)
            return Settled()

    try:
        came.settled = call(done, k)
    except DatabaseUnreachable:
        raise
    except Exception as error:  # noqa: BLE001 - as in `in_halves`: it may be the claims, or one of the results
        log("settle.divided", count=len(done), error=told(error))
        came.settled = _sum(in_halves(done, lambda some: call(some, 0), alone))
    return came


def fail(
    call: Callable[[Sequence[EndedBadly]], set[Key]],
    ended: Sequence[EndedBadly],
    away: Away = (DatabaseUnreachable,),
) -> tuple[dict[Key, EndedBadly], list[EndedBadly]]:
    """Record bad ends, each with as much detail as can be stored.

    Return those that counted, as they were recorded, and those that could not be recorded. Raises `away`.
    """
    counted: dict[Key, EndedBadly] = {}
    left: list[EndedBadly] = []

    def record(some: Sequence[EndedBadly]) -> None:
        held = call(some)
        counted.update((_key(end), end) for end in some if _key(end) in held)

    def alone(end: EndedBadly, error: Exception) -> None:
        for plainer in () if isinstance(error, Busy) else _plainer(end):
            try:
                return record([plainer])
            except away:
                raise
            except Exception as again:  # noqa: BLE001 - as in `in_halves`
                error = again
        left.append(end)
        log(
            "attempt.unrecorded",
            workflow_id=str(end.workflow_id),
            step=end.step,
            attempt=end.attempt,
            error=told(error),
        )
        return None

    if ended:
        in_halves(ended, record, alone, away)
    return counted, left


def lost(claim: Claim, worker: UUID, why: str) -> EndedBadly:
    """Return the end of an attempt whose outcome nobody knows."""
    return _ended_badly(claim, worker, "lost", capture(WorkerLost(why)), "immediate")


def unreadable(claim: Claim | Head, worker: UUID, error: Exception) -> EndedBadly:
    """Return the end of an attempt that cannot begin because its claim cannot be read."""
    known = error.message if isinstance(error, StepUnreadable) else told(error)
    problem = StepUnreadable(
        f"what the step is to work on cannot be read: {known}",
        hint="look at its input and its parents' results in the database; requeue it with another input",
    )
    failure = capture(problem)
    return _ended_badly(claim, worker, "failed", failure, failure.classification.policy)


def _ended_badly(
    claim: Claim | Head, worker: UUID, outcome: str, failure: Failure, policy: str
) -> EndedBadly:
    return EndedBadly(claim.workflow_id, claim.step, claim.attempt, worker, outcome, failure, policy)


def told(error: Exception) -> str:
    """Return an error as one line: the first, because drivers repeat values in the others."""
    first = str(error).partition("\n")[0]
    return redact_text(f"{type(error).__name__}: {first}")[:500]


def _key(end: EndedBadly) -> Key:
    return (end.workflow_id, end.step)


def _plainer(end: EndedBadly) -> Iterator[EndedBadly]:
    """Yield the end with its texts in ASCII, which every database stores; then without its texts."""
    failure = Failure.from_json(_in_ascii(end.failure.to_json()))
    yield replace(end, failure=failure)
    yield replace(end, failure=replace(failure, message=_UNSTORABLE, traceback="", causes=(), facts={}))


def _in_ascii(value: Any) -> Any:
    match value:
        case str():
            return value.encode("ascii", "backslashreplace").decode().replace("\0", "\\x00")
        case list():
            return [_in_ascii(item) for item in value]
        case dict():
            return {_in_ascii(name): _in_ascii(item) for name, item in value.items()}
        case _:
            return value


def _sum(all_: Sequence[Settled]) -> Settled:
    return Settled(
        ring=[queue for settled in all_ for queue in settled.ring],
        counted=sum(settled.counted for settled in all_),
        parked=sum(settled.parked for settled in all_),
        contended=frozenset().union(*(settled.contended for settled in all_)),
        passed=[name for settled in all_ for name in settled.passed],
    )
