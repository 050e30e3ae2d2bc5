"""Take workflows out of work and into the dead letter queue, whether or not their steps ever ran."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from remand.classify import Classification
from remand.failure import Failure
from remand.fingerprint import fingerprint
from remand_app.domain.states import DeadReason
from remand_app.engine.dead_letters import log_opened, open_letters
from remand_app.engine.engine import Engine
from remand_app.engine.fail import DeathOutcome, log_given_up, split_by_strategy
from remand_app.store import dead_letter_workflows, failures
from remand_app.store.database import Connection
from remand_app.store.failures import DecidedDeath, FailedAttempt

Letters = Literal["by_strategy", "always", "never"]
"""Whether these workflows get dead letters; a workflow with an open one keeps it in any case."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why workflows are taken out of work."""

    reason: DeadReason
    error_class: str
    """Takes the place of the exception class of a failure."""
    message: str
    """The same for all workflows with this cause: their letters fall into one group a step."""

    def failure(self) -> Failure:
        """Return the cause as a failure that no retry can help."""
        verdict = Classification("permanent", "never", None, str(self.reason), 1.0, self.message)
        mark = fingerprint(self.error_class, self.message, "")
        return Failure(self.error_class, self.message, "", verdict, fingerprint=mark)


def take_out(
    engine: Engine,
    connection: Connection,
    ids: Sequence[UUID],
    cause: Cause,
    *,
    by: str,
    now: datetime,
    only: Collection[tuple[UUID, str]] | None = None,
    letters: Letters = "by_strategy",
) -> DeathOutcome:
    """Move the steps that hold these workflows up to error and open their letters.

    A workflow without such a step is left alone: its last results are just being applied. Pass the returned
    outcome to `log_taken` after the commit.

    `only`: move only these steps, so that other branches go on. `letters`: open letters as the template's
    strategy says, even where that is `disabled`, or none.

    Transaction: joins, holding the workflows. Source: C1, C14.
    """
    failure = cause.failure()
    blocking = dead_letter_workflows.blocking_steps(connection, ids, failure)
    deaths = [
        _death(failed, cause, now)
        for failed in blocking
        if only is None or (failed.workflow_id, failed.step) in only
    ]
    if not deaths:
        return DeathOutcome()
    if letters == "always":
        failures.keep_letters(connection, [death.failed.workflow_id for death in deaths], [])
        outcome = DeathOutcome(kept=deaths)
    else:
        outcome = split_by_strategy(engine, connection, deaths, opens=letters != "never")
    dead_letter_workflows.take_out(connection, deaths, failure=failure, why=cause.message, by=by, now=now)
    if outcome.kept:
        outcome.opened = open_letters(
            connection,
            outcome.kept,
            templates=engine.templates,
            settings=engine.settings,
            now=now,
            jitter=engine.jitter,
        )
    return outcome


def _death(failed: FailedAttempt, cause: Cause, now: datetime) -> DecidedDeath:
    return DecidedDeath(
        failed,
        cause.reason,
        cause.message,
        source=str(cause.reason),
        source_id=f"{failed.workflow_id}:{failed.step}:{failed.attempt}:{now.isoformat()}",
    )


def log_taken(outcome: DeathOutcome) -> None:
    """Say which letters were opened, and which steps got none."""
    log_opened(outcome.opened)
    for death in outcome.dropped:
        log_given_up(death)
