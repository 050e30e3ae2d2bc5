"""No setting is inert: changing it changes what happens.

`test_<setting>_…` is the proof for a setting; a contract test asks that each has one.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID

import anyio
import anyio.to_thread
import pytest
import structlog

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand import PermanentError, RateLimited, RetryableError
from remand.handler import registry
from remand_app.beat_schedule import SWEEPS
from remand_app.bell import CeleryBell
from remand_app.cli.dashboard_address import base_url
from remand_app.cli.invoke import run
from remand_app.config import Settings
from remand_app.connections import LateBell, with_urls
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import BrokerUnreachable, ConfigInvalid, InputTooLarge, TemplateNotFound
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.queues import BUILT_IN
from remand_app.domain.webhook_answers import TryAgain
from remand_app.engine import redrive
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.engine.breakers import Breakers
from remand_app.engine.enqueue_notifications import enqueue
from remand_app.engine.executor import Executor
from remand_app.engine.operate import Who
from remand_app.engine.process_table import ProcessTable
from remand_app.engine.redrive.run import advance
from remand_app.engine.routing import Routing
from remand_app.engine.statistics import statistics
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.engine.sweeps.notify import notify
from remand_app.engine.sweeps.partitions import partitions
from remand_app.engine.sweeps.requeue import requeue
from remand_app.runtime import Runtime
from remand_app.server import _uvicorn
from remand_app.store import breakers
from remand_app.store.breakers import BreakerStatus
from remand_app.store.claims import Claim
from remand_app.store.database import Database
from remand_app.store.dead_letter_search import triage_page
from remand_app.store.ids import new_id
from remand_app.store.workers import Incarnation, WorkerHeartbeat
from remand_app.store.workers import listed as registered
from remand_app.telemetry import log
from remand_workers import heartbeat, process
from remand_workers.celery import _log_our_way, make_app
from tests.support.deaf import Deaf
from tests.support.engine import Harness, publish
from tests.support.shapes import CHAIN, always, shape
from tests.support.web import InProcess, Web, sign_in

pytestmark = pytest.mark.once

ONE = shape("one", {"a": ()})
RESET = ConnectionResetError("reset")
HarnessWith = Callable[..., Harness]


def claimed(harness: Harness) -> Claim:
    """A claim of a worker of its own."""
    harness.publish(ONE)
    harness.submit("t/one")
    [claim] = harness.new_worker().queue.claim("steps", 1)
    return claim


# how long steps may run


@pytest.mark.parametrize(("seconds", "rescued"), [(100, 1), (1000, 0)])
def test_default_step_timeout_seconds_ends_the_lease(
    harness_with: HarnessWith, seconds: float, rescued: int
) -> None:
    harness = harness_with(default_step_timeout_seconds=seconds, worker_gone_after_seconds=900,
                           worker_silent_after_seconds=900)  # fmt: skip

    claim = claimed(harness)
    harness.advance(500)

    assert claim.timeout_seconds == seconds
    assert harness.sweep_rescue().attempts == rescued


def test_default_step_timeout_seconds_holds_in_the_claims_that_a_settle_brings(
    harness_with: HarnessWith,
) -> None:
    harness = harness_with(default_step_timeout_seconds=77)
    harness.publish(shape("chain", CHAIN))
    leases: list[Any] = []
    look = "select lease_until from remand.run_queue where phase = 'claimed'"
    harness.play(c=lambda ctx: leases.extend(harness.database.call(look)))
    harness.submit("t/chain")

    harness.drain()

    assert [lease - harness.clock.now for (lease,) in leases] == [timedelta(seconds=77 + 10 + 30)]


@pytest.mark.parametrize("grace", [0, 500])
def test_hard_timeout_grace_seconds_puts_off_the_kill_and_the_end_of_the_lease(
    harness_with: HarnessWith, grace: float
) -> None:
    harness = harness_with(hard_timeout_grace_seconds=grace, default_step_timeout_seconds=1000)
    processes, seen = ProcessTable(), []
    harness.play(a=lambda ctx: seen.extend(processes.slots()))
    drain = Executor(
        queue=harness.worker.queue,
        handlers=harness.handlers,
        routing=Routing(harness.engine.templates, harness.settings),
        bell=harness.bell,
        settings=harness.settings,
        breakers=Breakers(harness.engine),
        counter=AttemptCounter(harness.database, harness.engine.templates, harness.clock),
        processes=processes,
    )
    harness.publish(ONE)
    harness.submit("t/one")

    drain.run("steps")

    assert 990 + grace < seen[0].running.kill_at - time.monotonic() <= 1000 + grace
    assert claimed(harness).lease_until - harness.clock.now == timedelta(seconds=1000 + grace + 30)


# batches


def completed_before(harness: Harness, count: int = 12) -> list[int]:
    """Run workflows of one step; return, for each, how many were recorded complete when it began."""
    seen: list[int] = []
    harness.publish(ONE)

    def part(ctx: Any) -> None:
        [(done,)] = harness.database.call("select count(*) from remand.workflows where state = 'complete'")
        seen.append(done)

    harness.play(a=part)
    harness.submit_many("t/one", range(count))
    harness.run_until_quiet()
    return seen


def test_batch_size_is_the_most_that_one_claim_takes(harness_with: HarnessWith) -> None:
    plenty = {"batch_budget_seconds": 60, "drain_slice_seconds": 600}

    alone = completed_before(harness_with(batch_size=1, **plenty))
    five = completed_before(harness_with(batch_size=5, **plenty))

    assert alone == list(range(12))
    assert [at - 12 for at in five] == [0, *[1] * 5, *[6] * 5, 11]


def test_batch_budget_seconds_bounds_what_one_claim_takes(harness_with: HarnessWith) -> None:
    poor = completed_before(harness_with(batch_budget_seconds=1e-9))
    rich = completed_before(harness_with(batch_budget_seconds=60, drain_slice_seconds=600))

    assert poor == list(range(12))
    assert [at - 12 for at in rich] == [0, *[1] * 11]


def test_flush_after_seconds_bounds_how_long_a_result_waits(harness_with: HarnessWith) -> None:
    plenty = {"batch_budget_seconds": 60, "drain_slice_seconds": 600}

    at_once = completed_before(harness_with(flush_after_seconds=0, **plenty))
    together = completed_before(harness_with(flush_after_seconds=10, **plenty))

    assert at_once == list(range(12))
    assert [at - 12 for at in together] == [0, *[1] * 11]


@pytest.mark.parametrize(("seconds", "completed", "rings"), [(1e-6, 1, 2), (600, 5, 1)])
def test_drain_slice_seconds_is_when_a_drain_hands_on(
    harness_with: HarnessWith, seconds: float, completed: int, rings: int
) -> None:
    harness = harness_with(drain_slice_seconds=seconds, batch_budget_seconds=1e-9)
    harness.publish(ONE)
    harness.play()
    harness.submit_many("t/one", range(5))
    harness.bell.take()

    drained = harness.drain()

    assert drained.completed == completed
    assert harness.bell.rings == ["steps"] * rings, "the full claim rings once, handing on once more"


# signs of life


@pytest.mark.parametrize(("seconds", "renewed_at"), [(60, 0), (1e-9, 100)])
def test_heartbeat_interval_seconds_is_how_rarely_a_step_renews_its_lease(
    harness_with: HarnessWith, seconds: float, renewed_at: int
) -> None:
    harness = harness_with(heartbeat_interval_seconds=seconds, worker_gone_after_seconds=200,
                           worker_silent_after_seconds=200)  # fmt: skip
    start, leases = harness.clock.now, []

    def part(ctx: Any) -> None:
        ctx.heartbeat()
        harness.advance(100)
        ctx.heartbeat()
        leases.extend(harness.database.call("select lease_until from remand.run_queue"))

    harness.publish(ONE)
    harness.play(a=part)
    harness.submit("t/one")
    harness.drain()

    assert [lease - start for (lease,) in leases] == [timedelta(seconds=1800 + 40 + renewed_at)]


class Bystander:
    """In the place of a worker's pulse and supervisor: writes down what it was asked to do."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[[], None]:
        return lambda: self.calls.append(name)


@pytest.fixture
def main_process(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run the loop of a worker's main process for ten looks; return what it did."""

    def run(*, stopping: bool = False, **settings: Any) -> list[str]:
        runtime = SimpleNamespace(settings=Settings(**settings))
        processes = ProcessTable()
        if stopping:
            processes.stop()
        monkeypatch.setattr(process, "runtime", lambda: runtime)
        monkeypatch.setattr(process, "PROCESSES", processes)
        monkeypatch.setattr(heartbeat, "LOOK_SECONDS", 0)
        monkeypatch.setattr(heartbeat._life, "heartbeat", None)
        loop = heartbeat.Heartbeat(None)
        bystander = Bystander()
        looks = iter(range(10))
        waits = SimpleNamespace(wait=lambda seconds: next(looks, None) is None)
        loop.pulse = loop.supervisor = bystander
        loop._done = waits
        loop._loop()
        return bystander.calls

    return run


def test_heartbeat_interval_seconds_is_how_often_a_worker_beats(main_process: Any) -> None:
    assert main_process(heartbeat_interval_seconds=1e-9).count("beat") == 10
    assert main_process(heartbeat_interval_seconds=1).count("beat") == 1


def test_shutdown_grace_seconds_is_how_long_running_steps_may_finish(main_process: Any) -> None:
    assert main_process(stopping=True, shutdown_grace_seconds=0).count("interrupt_all") == 10
    assert "interrupt_all" not in main_process(stopping=True, shutdown_grace_seconds=60)
    assert "interrupt_all" not in main_process(stopping=False, shutdown_grace_seconds=0)


def test_shutdown_grace_seconds_is_what_celery_waits_too() -> None:
    assert make_app(Settings(shutdown_grace_seconds=7)).conf.worker_soft_shutdown_timeout == 7


@pytest.mark.parametrize(("seconds", "gone"), [(3, 1), (10, 0)])
def test_worker_gone_after_seconds_is_the_silence_that_a_worker_without_lock_survives(
    harness_with: HarnessWith, seconds: float, gone: int
) -> None:
    harness = harness_with(worker_gone_after_seconds=seconds)
    claimed(harness)

    harness.advance(5)

    assert harness.sweep_rescue().attempts == gone


@pytest.mark.parametrize(("seconds", "gone"), [(30, 1), (60, 0)])
def test_worker_silent_after_seconds_is_the_silence_that_even_a_lock_does_not_survive(
    harness_with: HarnessWith, own_database_url: str, seconds: float, gone: int
) -> None:
    harness = harness_with(worker_silent_after_seconds=seconds)
    pulse = WorkerHeartbeat(
        own_database_url, Incarnation(new_id(), "w@test", 1, ["steps"], "prefork", 2, "test")
    )
    pulse.beat()
    [(harness.clock.now,)] = harness.database.call("select heartbeat_at from remand.workers")

    harness.clock.advance(45)
    workers_gone = harness.sweep_rescue().workers
    pulse.stop()

    assert workers_gone == gone


@pytest.mark.parametrize("version", ["2.0", None])
def test_code_version_is_what_a_worker_tells_that_it_runs(
    harness_with: HarnessWith, own_database_url: str, version: str | None
) -> None:
    harness = harness_with(code_version=version)
    app = SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=["steps"])))
    worker = SimpleNamespace(hostname="w@new", pool_cls=WorkerHeartbeat, concurrency=2, app=app)
    pulse = WorkerHeartbeat(
        own_database_url, heartbeat.incarnation_of(worker, harness.engine.settings.code_version)
    )
    pulse.beat()

    told = {one.hostname: one.code_version for one in registered(harness.database)}
    pulse.stop()

    assert told["w@new"] == version


@pytest.mark.parametrize("pause", [0, 600])
def test_rescue_pause_after_restart_seconds_is_everybodys_benefit_of_the_doubt(
    harness_with: HarnessWith, pause: float
) -> None:
    harness = harness_with(rescue_pause_after_restart_seconds=pause)
    [(up,)] = harness.database.call(
        "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())"
    )
    claimed(harness)

    harness.advance(1000)

    assert harness.sweep_rescue().attempts == (1 if up > pause else 0)


# beat


def schedules_of(sweep: str) -> list[Any]:
    """The entry of a sweep in beat's schedule, every 7 seconds and every 11; no other entry differs."""
    one, other = (
        make_app(Settings.model_validate({f"{sweep}_interval_seconds": seconds})).conf.beat_schedule
        for seconds in (7, 11)
    )
    assert {name for name in one if one[name] != other[name]} == {sweep}
    return [(each[sweep]["schedule"], each[sweep]["options"]["expires"]) for each in (one, other)]


@pytest.mark.parametrize("sweep", list(SWEEPS))
def test_the_interval_of_a_sweep_is_when_beat_rings(sweep: str) -> None:
    assert schedules_of(sweep) == [(7, 7), (11, 11)]


def dead_ones(harness: Harness, count: int) -> None:
    """So many workflows whose only step is dead."""
    harness.publish(ONE)
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", [None] * count)
    harness.run_until_quiet()


@pytest.mark.parametrize("size", [2, 3])
def test_redrive_batch_size_is_what_one_transaction_requeues(harness_with: HarnessWith, size: int) -> None:
    harness = harness_with(redrive_batch_size=size)
    dead_ones(harness, 4)
    who = Who("ann")
    made = redrive.plan(harness.engine, LetterFilter(), who, everything=True).redrive
    redrive.start(harness.engine, made.id, who)

    assert advance(harness.engine, made.id).dealt_with == size


@pytest.mark.parametrize(("seconds", "state"), [(5, "stopped"), (500, "canary")])
def test_redrive_wait_seconds_is_how_long_a_canary_may_take(
    harness_with: HarnessWith, seconds: int, state: str
) -> None:
    harness = harness_with(redrive_wait_seconds=seconds)
    dead_ones(harness, 2)
    who, options = Who("ann"), redrive.Options(canary=(1,))
    made = redrive.plan(harness.engine, LetterFilter(), who, options, everything=True).redrive
    redrive.start(harness.engine, made.id, who)
    advance(harness.engine, made.id)

    harness.advance(50)
    advance(harness.engine, made.id)

    assert redrive.get(harness.engine, made.id).state == state


@pytest.mark.parametrize("ahead", [1, 4])
def test_partitions_ahead_is_how_many_months_are_ready(fresh_database: Database, ahead: int) -> None:
    harness = Harness(fresh_database, settings=Settings(partitions_ahead=ahead))
    harness.clock.now = harness.clock.now.replace(year=2041)

    created = partitions(harness.engine)

    months = [f"2041_{month:02}" for month in range(3, 4 + ahead)]
    assert sorted(name for name in created if name.startswith("steps_")) == [f"steps_{m}" for m in months]


@pytest.mark.parametrize(
    ("interval", "names"),
    [("weekly", ["2041_w09", "2041_w10"]), ("daily", ["2041_03_02", "2041_03_03"])],
)
def test_partition_interval_is_how_long_new_periods_are(
    fresh_database: Database, interval: str, names: list[str]
) -> None:
    settings = Settings.model_validate({"partition_interval": interval, "partitions_ahead": 1})
    harness = Harness(fresh_database, settings=settings)
    harness.clock.now = harness.clock.now.replace(year=2041)

    created = partitions(harness.engine)

    assert [name for name in created if name.startswith("steps_")] == [f"steps_{name}" for name in names]


# sizes


@pytest.mark.parametrize(("limit", "taken"), [(2048, False), (4096, True)])
def test_input_max_bytes_bounds_what_is_submitted(harness_with: HarnessWith, limit: int, taken: bool) -> None:
    harness = harness_with(input_max_bytes=limit)
    harness.publish(ONE)

    if taken:
        harness.submit("t/one", "x" * 3000)
    else:
        with pytest.raises(InputTooLarge, match="2,048"):
            harness.submit("t/one", "x" * 3000)


@pytest.mark.parametrize(("limit", "state"), [(2048, "blocked_by_failures"), (4096, "complete")])
@pytest.mark.parametrize("part", [lambda ctx: "x" * 3000, lambda ctx: ctx.checkpoint("x" * 3000)])
def test_result_max_bytes_bounds_results_and_checkpoints(
    harness_with: HarnessWith, limit: int, state: str, part: Callable[[Any], Any]
) -> None:
    harness = harness_with(result_max_bytes=limit)
    harness.publish(ONE)
    harness.play(a=part)
    workflow_id = harness.submit("t/one")

    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == state


def dead(harness: Harness, given: Any = None, error: BaseException | None = None) -> UUID:
    """A workflow whose only step died."""
    harness.publish(ONE)
    harness.play(a=always(error or PermanentError("no")))
    workflow_id = harness.submit("t/one", given)
    harness.run_until_quiet()
    return workflow_id


@pytest.mark.parametrize(("limit", "whole"), [(4096, False), (65_536, True)])
def test_snapshot_max_bytes_bounds_what_a_dead_letter_keeps(
    harness_with: HarnessWith, limit: int, whole: bool
) -> None:
    harness = harness_with(snapshot_max_bytes=limit)

    workflow_id = dead(harness, {"blob": "x" * 10_000})

    snapshot = harness.open_letter(workflow_id).snapshot
    assert (snapshot["left_out"] == []) == whole
    assert ("x" * 10_000 in json.dumps(snapshot)) == whole


# secrets and logs


@pytest.mark.parametrize(("keys", "masked"), [(["colour"], "colour"), (["shape"], "shape")])
def test_redact_keys_are_what_is_masked_in_snapshots_and_failures(
    harness_with: HarnessWith, keys: list[str], masked: str
) -> None:
    harness = harness_with(redact_keys=keys)
    secrets = {"colour": "mauve", "shape": "oblong"}

    workflow_id = dead(harness, secrets, PermanentError("colour=mauve shape=oblong"))

    letter = harness.open_letter(workflow_id)
    kept = json.dumps(letter.snapshot) + letter.error_message
    assert {key for key, secret in secrets.items() if secret not in kept} == {masked}


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """Log as a worker with these settings does; return what came out."""
    root = logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, structlog.get_config()
    drowned = {name: logging.getLogger(name).level for name in ("celery.app.trace", "celery.worker.strategy",
                                                                "celery.beat")}  # fmt: skip

    def run(call: Callable[[], object], **settings: Any) -> str:
        monkeypatch.setitem(_log_our_way.__globals__, "settings", Settings(**settings))
        _log_our_way()
        capsys.readouterr()
        call()
        return capsys.readouterr().err

    yield run
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in drowned.items():
        logging.getLogger(name).setLevel(before)
    structlog.configure(**configured)


def ring_failed() -> None:
    log("bell.failed", queue="steps", error="colour=mauve")


def test_log_level_is_the_least_severe_that_is_logged(logged: Any) -> None:
    assert "bell.failed" in logged(ring_failed, log_level="INFO")
    assert logged(ring_failed, log_level="ERROR") == ""


def test_log_format_is_for_people_or_for_programs(logged: Any) -> None:
    assert json.loads(logged(ring_failed, log_format="json"))["event"] == "bell.failed"
    assert not logged(ring_failed, log_format="console").startswith("{")


def test_redact_keys_are_what_is_masked_in_logs(logged: Any) -> None:
    assert "mauve" not in logged(ring_failed, redact_keys=["colour"])
    assert "mauve" in logged(ring_failed, redact_keys=["shape"])


def test_flower_steps_is_whether_workers_show_steps_in_flower(monkeypatch: pytest.MonkeyPatch) -> None:
    from remand_workers import process

    audiences = []
    for flower_steps in (False, True):
        monkeypatch.setattr(process, "settings", Settings(flower_steps=flower_steps))
        audiences.append(type(process._audience()).__name__)

    assert audiences == ["NoneType", "StepEvents"]


@pytest.mark.parametrize("told", [False, True])
def test_traces_is_whether_submits_and_attempts_are_told(
    own_database_url: str, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    started: list[str] = []
    monkeypatch.setattr("remand_app.telemetry.traces.start", lambda: started.append("traces"))
    Runtime(Settings(database_url=own_database_url, traces=told)).database.dispose()
    assert started == ["traces"] * told


# what a worker knows


@pytest.fixture
def starting_worker(
    database: Database, own_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Runtime]:
    """Prepare as a worker with these settings does; return its runtime."""

    def prepare(**settings: Any) -> Runtime:
        runtime = Runtime(Settings(database_url=own_database_url, **settings))
        monkeypatch.setattr(process, "runtime", lambda: runtime)
        heartbeat._prepare()
        return runtime

    return prepare


def test_handlers_are_the_modules_a_worker_imports(
    starting_worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = 'from remand import handler\n\n\n@handler("{0}.cut")\ndef cut(ctx):\n    return 1\n'
    for module in ("barber_of_this_test", "tailor_of_this_test"):
        (tmp_path / f"{module}.py").write_text(source.format(module))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_by_name", {})

    starting_worker(handlers=["barber_of_this_test"])
    known = registry.names()
    starting_worker(handlers=["tailor_of_this_test"])

    assert known == ["barber_of_this_test.cut"]
    assert registry.names() == ["barber_of_this_test.cut", "tailor_of_this_test.cut"]
    for module in ("barber_of_this_test", "tailor_of_this_test"):
        sys.modules.pop(module, None)


def test_templates_are_the_files_and_folders_a_worker_publishes(starting_worker: Any, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "two.yaml").write_text(shape("two", {"a": ()}))
    one = tmp_path / "one.yaml"
    one.write_text(ONE)

    runtime = starting_worker(templates=[str(one)])
    submit(runtime.engine, "t/one", SubmitRequest(None), by="test")
    with pytest.raises(TemplateNotFound):
        submit(runtime.engine, "t/two", SubmitRequest(None), by="test")
    runtime = starting_worker(templates=[str(folder)])

    assert submit(runtime.engine, "t/two", SubmitRequest(None), by="test").created


# what a failure is


@pytest.mark.parametrize(("category", "policy"), [("permanent", "never"), ("resource", "linear")])
def test_rules_are_asked_before_the_built_in_ones(
    harness_with: HarnessWith, category: str, policy: str
) -> None:
    rule = {"name": "mine", "category": category, "errors": "ConnectionResetError"}
    harness = harness_with(rules=[rule])
    harness.publish(ONE)
    harness.play(a=always(RESET))
    workflow_id = harness.submit("t/one")

    harness.drain()

    assert [one.policy for one in harness.attempts(workflow_id)] == [policy]


# where things are


def test_database_url_is_where_workflows_are_kept(
    database: Database, own_database_url: str, fresh_database_url: str
) -> None:
    ours, other = (Runtime(Settings(database_url=url)) for url in (own_database_url, fresh_database_url))
    publish(ours.engine, ONE)
    submit(ours.engine, "t/one", SubmitRequest(None), by="test")

    kept = [runtime.database.call("select count(*) from remand.workflows")[0][0] for runtime in (ours, other)]

    assert kept == [1, 0]
    ours.database.dispose()
    other.database.dispose()


def test_broker_url_is_where_bells_are_rung(broker_url: str) -> None:
    here = CeleryBell(make_app(Settings(broker_url=broker_url)))
    nowhere = CeleryBell(make_app(Settings(broker_url="redis://127.0.0.1:1/0")))

    nowhere.ring(["steps"])
    before = here.pending("steps")
    here.ring(["steps"])

    assert (before, here.pending("steps")) == (0, 1)


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_broker_queue_type_is_what_queues_are_declared_as(kind: Literal["classic", "quorum"]) -> None:
    queues = make_app(Settings(broker_url="amqp://127.0.0.1:1", broker_queue_type=kind)).amqp.queues

    declared = {name: (queues[name].queue_arguments or {}).get("x-queue-type") for name in BUILT_IN}
    assert declared == dict.fromkeys(BUILT_IN, None if kind == "classic" else "quorum")


def test_broker_timeout_seconds_is_how_long_a_silent_broker_is_waited_for() -> None:
    took = []
    with Deaf() as deaf:
        for seconds in (0.1, 2.5):
            url = f"redis://127.0.0.1:{deaf.port}/0"
            settings = Settings(broker_url=url, broker_timeout_seconds=seconds)
            started = time.monotonic()
            for app in (make_app(settings), LateBell(settings)._connected()._app):
                with pytest.raises(BrokerUnreachable):
                    CeleryBell(app).check()
            took.append(time.monotonic() - started)

    assert took[0] + 2 < took[1]


def test_data_dir_is_where_embedded_servers_are_looked_for(tmp_path: Path) -> None:
    for name in ("one", "other"):
        with pytest.raises(ConfigInvalid, match=f"no embedded servers run in {tmp_path / name}"):
            with_urls(Settings(data_dir=tmp_path / name))


# retries


def retried_after(harness: Harness, error: BaseException = RESET, times: int = 1) -> list[float]:
    """Let a step fail; return how many seconds after each failure its next attempt was due."""
    harness.publish(ONE)
    harness.play(a=always(error))
    workflow_id = harness.submit("t/one")
    for _ in range(times):
        harness.run_until_quiet()
        due = harness.step(workflow_id, "a").due_at
        if due is None:
            break
        harness.clock.now = max(due, harness.clock.now)
        harness.worker.beat()
    attempts = [one for one in harness.attempts(workflow_id) if one.due_at is not None and one.decided_at]
    return [
        (one.due_at - one.decided_at).total_seconds() for one in attempts if one.due_at and one.decided_at
    ]


def attempts_until_dead(harness: Harness, error: BaseException = RESET) -> int:
    harness.publish(ONE)
    harness.play(a=always(error))
    workflow_id = harness.submit("t/one")
    harness.run_to_end(workflow_id)
    return len(harness.attempts(workflow_id))


def test_retry_max_attempts_is_how_often_a_step_runs(harness_with: HarnessWith) -> None:
    counts = [attempts_until_dead(harness_with(retry={"max_attempts": limit})) for limit in (1, 2, 5)]

    assert counts == [1, 2, 5]


def test_retry_retryable_is_whether_it_runs_again_at_all(harness_with: HarnessWith) -> None:
    assert attempts_until_dead(harness_with(retry={"retryable": False})) == 1
    assert attempts_until_dead(harness_with(retry={"retryable": True})) == 3
    assert attempts_until_dead(harness_with(retry={"retryable": "connection_only"})) == 1
    refused = ConnectionRefusedError(111, "Connection refused")
    assert attempts_until_dead(harness_with(retry={"retryable": "connection_only"}), refused) == 3


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_retry_lost_attempts_is_how_often_it_may_kill_its_worker(
    harness_with: HarnessWith, limit: int
) -> None:
    harness = harness_with(retry={"lost_attempts": limit})
    workflow_id = claimed(harness).workflow_id
    lost = 0
    while harness.workflow(workflow_id).state != "blocked_by_failures":
        harness.advance(31)
        lost += harness.sweep_rescue().attempts
        harness.drain_failures("immediate")
        harness.sweep_ring()
        harness.new_worker().queue.claim("steps", 1)

    assert lost == limit


@pytest.mark.parametrize(("ratio", "due"), [(0, 60), (0.5, 90), (1, 120)])
def test_retry_jitter_spreads_the_delay(harness_with: HarnessWith, ratio: float, due: float) -> None:
    harness = harness_with(retry={"jitter": ratio})
    harness.engine = replace(harness.engine, jitter=lambda: 1.0)

    assert retried_after(harness) == [due]


@pytest.mark.parametrize(("longest", "waits"), [(100, []), (1000, [500])])
def test_retry_max_retry_after_seconds_is_the_longest_wait_a_server_may_ask_for(
    harness_with: HarnessWith, longest: float, waits: list[float]
) -> None:
    harness = harness_with(retry={"max_retry_after_seconds": longest})

    assert retried_after(harness, RateLimited("slow down", retry_after=500)) == waits


@pytest.mark.parametrize(
    ("numbers", "waits"),
    [
        ({}, [60, 120, 240]),
        ({"base_seconds": 5}, [5, 10, 20]),
        ({"factor": 3}, [60, 180, 540]),
        ({"cap_seconds": 100}, [60, 100, 100]),
    ],
    ids=str,
)
def test_retry_exponential_numbers_are_those_of_the_back_off(
    harness_with: HarnessWith, numbers: dict[str, float], waits: list[float]
) -> None:
    harness = harness_with(retry={"max_attempts": 4, "exponential": numbers})

    assert retried_after(harness, times=4) == waits


@pytest.mark.parametrize(
    ("numbers", "waits"),
    [({}, [300, 600, 900]), ({"step_seconds": 7}, [7, 14, 21]), ({"cap_seconds": 400}, [300, 400, 400])],
    ids=str,
)
def test_retry_linear_numbers_are_those_of_the_back_off(
    harness_with: HarnessWith, numbers: dict[str, float], waits: list[float]
) -> None:
    harness = harness_with(retry={"max_attempts": 4, "linear": numbers, "policies": {"network": "linear"}})

    assert retried_after(harness, times=4) == waits


@pytest.mark.parametrize("delay", [3, 20])
def test_retry_immediate_delay_seconds_is_the_cooldown(harness_with: HarnessWith, delay: float) -> None:
    harness = harness_with(
        retry={
            "max_attempts": 4,
            "immediate": {"delay_seconds": delay},
            "policies": {"network": "immediate"},
        }
    )

    assert retried_after(harness, times=4) == [delay] * 3


@pytest.mark.parametrize("delay", [3, 20])
def test_retry_fixed_delay_seconds_is_the_wait_after_every_failure(
    harness_with: HarnessWith, delay: float
) -> None:
    harness = harness_with(
        retry={"max_attempts": 4, "fixed": {"delay_seconds": delay}, "policies": {"network": "fixed"}}
    )

    assert retried_after(harness, times=4) == [delay] * 3


@pytest.mark.parametrize(
    ("numbers", "waits"),
    [
        ({}, [60, 60, 120, 180]),
        ({"base_seconds": 5}, [5, 5, 10, 15]),
        ({"cap_seconds": 100}, [60, 60, 100, 100]),
    ],
    ids=str,
)
def test_retry_fibonacci_numbers_are_those_of_the_back_off(
    harness_with: HarnessWith, numbers: dict[str, float], waits: list[float]
) -> None:
    harness = harness_with(
        retry={"max_attempts": 5, "fibonacci": numbers, "policies": {"network": "fibonacci"}}
    )

    assert retried_after(harness, times=5) == waits


@pytest.mark.parametrize(("seconds", "runs"), [(59, 1), (60, 2), (500, 4)])
def test_retry_retry_for_seconds_is_how_long_a_step_is_retried(
    harness_with: HarnessWith, seconds: float, runs: int
) -> None:
    harness = harness_with(retry={"retry_for_seconds": seconds, "max_attempts": 99})

    assert attempts_until_dead(harness) == runs


@pytest.mark.parametrize(
    ("kind", "draw", "due"),
    [("none", -1, 60), ("full", -1, 0), ("full", 1, 60), ("equal", -1, 30), ("equal", 0, 45)],
)
def test_retry_jitter_names_a_kind(harness_with: HarnessWith, kind: str, draw: float, due: float) -> None:
    harness = harness_with(retry={"jitter": kind, "max_attempts": 2})
    harness.engine = replace(harness.engine, jitter=lambda: draw)

    assert retried_after(harness) == [due]


@pytest.mark.parametrize(("policy", "queue"), [("linear", "retry.linear"), ("never", "retry.never")])
def test_retry_policies_say_which_queue_a_category_goes_to(
    harness_with: HarnessWith, policy: str, queue: str
) -> None:
    harness = harness_with(retry={"policies": {"network": policy}})
    harness.publish(ONE)
    harness.play(a=always(RESET))
    harness.submit("t/one")

    harness.drain()

    assert harness.database.call("select queue from remand.run_queue") == [(queue,)]


# circuit breakers of dependencies: when they open, and how they close


def opened(
    harness: Harness, failures: int = 4, well: int = 0, error: Exception = RESET
) -> list[BreakerStatus]:
    """Let some workflows go well, and others fail then; return the breakers that moved."""
    harness.publish(ONE)
    harness.play(a=lambda ctx: always(error)(ctx) if ctx.input >= well else "well")
    harness.submit_many("t/one", range(well + failures))
    harness.run_until_quiet()
    return breakers.listed(harness.database)


def held(harness: Harness, count: int = 9) -> None:
    """Let the breaker hold some work, with its dependency well again."""
    opened(harness)
    harness.submit_many("t/one", range(100, 100 + count))
    harness.run_until_quiet()
    harness.play()


@pytest.mark.parametrize("enabled", [True, False])
def test_breaker_enabled_says_whether_failures_open_it(harness_with: HarnessWith, *, enabled: bool) -> None:
    assert bool(opened(harness_with(breaker={"enabled": enabled, "failures": 4}))) is enabled


@pytest.mark.parametrize("failures", [4, 5])
def test_breaker_failures_is_how_many_open_it(harness_with: HarnessWith, failures: int) -> None:
    assert bool(opened(harness_with(breaker={"failures": failures}))) is (failures == 4)


@pytest.mark.parametrize("ratio", [0.4, 0.6])
def test_breaker_failure_ratio_is_the_share_that_opens_it(harness_with: HarnessWith, ratio: float) -> None:
    harness = harness_with(breaker={"failures": 4, "failure_ratio": ratio})

    assert bool(opened(harness, failures=5, well=5)) is (ratio < 0.5)


@pytest.mark.parametrize("window", [5, 50])
def test_breaker_window_seconds_is_how_long_a_failure_counts(
    harness_with: HarnessWith, window: float
) -> None:
    harness = harness_with(breaker={"failures": 4, "window_seconds": window})
    opened(harness, 2)
    harness.advance(20)

    assert bool(opened(harness, 2)) is (window == 50)


@pytest.mark.parametrize("cool_down", [7, 70])
def test_breaker_cool_down_seconds_is_the_wait_for_the_probe(
    harness_with: HarnessWith, cool_down: float
) -> None:
    harness = harness_with(breaker={"failures": 4, "cool_down_seconds": cool_down})

    [one] = opened(harness)

    assert one.breaker.probe_at is not None
    assert (one.breaker.probe_at - harness.clock.now).total_seconds() == cool_down


@pytest.mark.parametrize("cap", [15, 25])
def test_breaker_cool_down_cap_seconds_bounds_its_growth(harness_with: HarnessWith, cap: float) -> None:
    harness = harness_with(breaker={"failures": 4, "cool_down_seconds": 10, "cool_down_cap_seconds": cap})
    opened(harness)
    harness.submit("t/one", 1)
    harness.run_until_quiet()
    harness.advance(10)
    harness.run_until_quiet()

    [one] = breakers.listed(harness.database)

    assert one.breaker.probe_at is not None
    assert (one.breaker.probe_at - harness.clock.now).total_seconds() == min(cap, 20)


@pytest.mark.parametrize("probes", [1, 3])
def test_breaker_probes_is_how_many_are_let_through(harness_with: HarnessWith, probes: int) -> None:
    harness = harness_with(breaker={"failures": 4, "probes": probes})
    held(harness)
    harness.advance(30)

    harness.sweep_ring()

    assert breakers.listed(harness.database)[0].passed == probes


@pytest.mark.parametrize("rate", [2, 5])
def test_breaker_release_per_second_is_how_fast_it_lets_go(harness_with: HarnessWith, rate: float) -> None:
    harness = harness_with(breaker={"failures": 4, "release_per_second": rate})
    held(harness)
    harness.advance(30)
    harness.run_until_quiet()
    before = breakers.listed(harness.database)[0].held

    harness.advance(1)
    harness.sweep_ring()

    assert before - breakers.listed(harness.database)[0].held == min(rate, before)


@pytest.mark.parametrize("categories", [["network"], ["resource"]])
def test_breaker_categories_are_those_that_count(harness_with: HarnessWith, categories: list[str]) -> None:
    harness = harness_with(breaker={"failures": 4, "categories": categories})

    assert bool(opened(harness, error=RESET)) is (categories == ["network"])


@pytest.mark.parametrize("name", ["h", "another"])
def test_breakers_hold_the_rules_of_one_dependency(harness_with: HarnessWith, name: str) -> None:
    harness = harness_with(breaker={"failures": 100}, breakers={name: {"failures": 4}})

    assert bool(opened(harness)) is (name == "h")


# the retry budget


def put_off(harness: Harness, steps: int = 12, good: int = 0) -> list[float]:
    """Let steps fail at once beside good ones; return by how much each retry comes later, least first."""
    harness.publish(ONE)
    harness.play(a="well")
    harness.submit_many("t/one", range(good))
    while harness.drain().claimed:
        pass
    harness.play(a=always(RESET))
    harness.submit_many("t/one", range(steps))
    while harness.drain().claimed:
        pass
    harness.drain_failures("exponential")
    rows = harness.database.call(
        "select due_at from remand.run_queue where phase = 'waiting' order by due_at"
    )
    return [round((row[0] - harness.clock.now).total_seconds() - 60, 3) for row in rows]


TIGHT = {"ratio": 0, "min_per_second": 0.1}
"""Six retries a minute are free, then one every 10 seconds."""


@pytest.mark.parametrize(
    ("enabled", "later"), [(True, [*[0] * 7, 10, 20, 30, 40, 50]), (False, [0] * 12)], ids=str
)
def test_retry_budget_enabled_is_whether_retries_are_put_off(
    harness_with: HarnessWith, enabled: bool, later: list[float]
) -> None:
    assert put_off(harness_with(retry_budget={**TIGHT, "enabled": enabled})) == later


@pytest.mark.parametrize(("ratio", "free"), [(0, 6), (0.1, 6), (0.2, 10), (0.5, 12)])
def test_retry_budget_ratio_is_the_share_that_is_free(
    harness_with: HarnessWith, ratio: float, free: int
) -> None:
    later = put_off(harness_with(retry_budget={**TIGHT, "ratio": ratio}), good=38)

    assert later.count(0) == min(free + 1, 12)  # the first in line takes its turn at once


@pytest.mark.parametrize(("window", "free"), [(10, 1), (60, 6), (600, 60)])
def test_retry_budget_window_seconds_is_what_is_counted_together(
    harness_with: HarnessWith, window: float, free: int
) -> None:
    later = put_off(harness_with(retry_budget={**TIGHT, "window_seconds": window}))

    assert later.count(0) == min(free + 1, 12)


@pytest.mark.parametrize(("rate", "last"), [(0.1, 50), (0.05, 160), (1, 0)])
def test_retry_budget_min_per_second_is_the_rate_of_the_line(
    harness_with: HarnessWith, rate: float, last: float
) -> None:
    assert put_off(harness_with(retry_budget={**TIGHT, "min_per_second": rate}))[-1] == last


@pytest.mark.parametrize(("longest", "last"), [(25, 25), (3600, 50)])
def test_retry_budget_max_delay_seconds_is_the_longest_that_one_is_put_off(
    harness_with: HarnessWith, longest: float, last: float
) -> None:
    assert put_off(harness_with(retry_budget={**TIGHT, "max_delay_seconds": longest}))[-1] == last


# dead letters


@pytest.mark.parametrize(("weights", "first"), [({}, "old"), ({"permanent_failure": 9999}, "new")])
def test_dlq_triage_weights_are_what_a_reason_is_ahead_of_its_age(
    harness_with: HarnessWith, weights: dict[str, float], first: str
) -> None:
    harness = harness_with(dlq={"triage_weights": weights})
    harness.publish(shape("old", {"a": ()}, retry={"max_attempts": 1}))
    harness.publish(shape("new", {"a": ()}))
    harness.play(a=lambda ctx: _raise(RetryableError("busy") if ctx.input == "old" else PermanentError("no")))
    for name in ("old", "new"):
        harness.submit(f"t/{name}", name)
        harness.run_until_quiet()
        harness.advance(minutes=5)

    page = triage_page(harness.database, LetterFilter())

    assert page.items[0].template == first


@pytest.mark.parametrize(("strategy", "letters"), [("automatic", 1), ("disabled", 0)])
def test_dlq_strategy_is_whether_a_terminal_failure_gets_a_letter(
    harness_with: HarnessWith, strategy: str, letters: int
) -> None:
    harness = harness_with(dlq={"strategy": strategy})
    harness.publish(ONE)
    harness.play(a=always(PermanentError("no")))
    workflow = harness.submit("t/one")
    harness.run_until_quiet()

    assert len(harness.letters(workflow)) == letters


AUTO_REQUEUE = {
    "enabled": True, "interval_seconds": 60, "backoff_multiplier": 2, "max_requeues": 2, "priority_boost": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "waits", "priority"),
    [
        ({}, [60, 120], 7),
        ({"enabled": False}, [], 5),
        ({"interval_seconds": 30}, [30, 60], 7),
        ({"backoff_multiplier": 5}, [60, 300], 7),
        ({"max_requeues": 1}, [60], 6),
        ({"priority_boost": 2}, [60, 120], 9),
    ],
)
def test_dlq_auto_requeue_is_when_letters_go_back_and_how(
    harness_with: HarnessWith, changed: dict[str, Any], waits: list[float], priority: int
) -> None:
    harness = harness_with(dlq={"auto_requeue": {**AUTO_REQUEUE, **changed}})
    harness.publish(ONE)
    harness.play(a=always(PermanentError("no")))
    workflow = harness.submit("t/one")
    harness.run_until_quiet()
    waited = []
    while (letter := harness.open_letter(workflow)).requeue_at is not None:
        if letter.requeue_at == letter.opened_at:
            break
        waited.append((letter.requeue_at - letter.opened_at).total_seconds())
        harness.advance(1000)
        requeue(harness.engine)
        harness.run_until_quiet()

    assert waited == waits
    assert harness.step(workflow, "a").priority == priority


@pytest.mark.parametrize(("limit", "share"), [(2, 1.0), (8, 0.25)])
def test_dlq_size_limit_is_what_a_dead_queue_is_meant_to_hold(
    harness_with: HarnessWith, limit: int, share: float
) -> None:
    harness = harness_with(dlq={"size_limit": limit})
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(2))
    harness.run_until_quiet()

    [default] = statistics(harness.engine).dead_queues

    assert (default.open, default.limit, default.share) == (2, limit, share)


@pytest.mark.parametrize(("share", "nearly_full"), [(0.5, True), (0.9, False)])
def test_dlq_size_warning_share_is_from_where_it_is_nearly_full(
    harness_with: HarnessWith, share: float, nearly_full: bool
) -> None:
    harness = harness_with(dlq={"size_limit": 2, "size_warning_share": share})
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit("t/one")
    harness.run_until_quiet()

    assert statistics(harness.engine).dead_queues[0].is_nearly_full is nearly_full


def _raise(error: Exception) -> None:
    raise error


# the server


WebWith = Callable[..., Web]


@pytest.fixture
def served(
    database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., dict[str, str]]:
    """Run `remand serve` up to where it becomes the server; return the environment that gets."""

    def serve(**web: object) -> dict[str, str]:
        became: list[dict[str, str]] = []
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
        monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
        monkeypatch.setattr("os.execve", lambda _path, _words, environment: became.append(environment))
        for name, value in web.items():
            monkeypatch.setenv(f"REMAND_WEB__{name.upper()}", str(value))
        run(["serve"])
        return became[0] if became else {}

    return serve


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0"])
def test_web_host_is_where_the_server_listens_but_not_for_everybody_without_users(
    served: Callable[..., dict[str, str]], host: str
) -> None:
    assert served(host=host).get("REMAND_WEB__HOST") == (None if host == "0.0.0.0" else host)


@pytest.mark.parametrize("port", [8484, 9999])
def test_web_port_is_where_the_server_listens(served: Callable[..., dict[str, str]], port: int) -> None:
    assert served(port=port)["REMAND_WEB__PORT"] == str(port)


@pytest.mark.parametrize(
    ("url", "status"), [(None, 421), ("https://other.example", 421), ("https://remand.example/", 200)]
)
def test_web_dashboard_url_lets_its_name_in_and_is_what_links_begin_with(
    web_with: WebWith, url: str | None, status: int
) -> None:
    web = web_with(dashboard_url=url)

    asked = web.nobody().get("/api/v1/health/live", headers={"Host": "remand.example"})
    assert asked.status_code == status
    assert base_url(web.runtime.settings) == (url.rstrip("/") if url else "http://127.0.0.1:8484")


@pytest.mark.parametrize(("hosts", "status"), [((), 421), (("a.example", "b"), 200), (("*",), 200)])
def test_web_allowed_hosts_are_names_that_are_answered(
    web_with: WebWith, hosts: tuple[str, ...], status: int
) -> None:
    asked = web_with(allowed_hosts=hosts).nobody().get("/login", headers={"Host": "A.example:80"})

    assert asked.status_code == status


@pytest.mark.parametrize(
    ("proxies", "address"),
    [((), "10.0.0.5"), (("10.0.0.0/8",), "203.0.113.9"), (("192.0.2.1",), "10.0.0.5")],
)
def test_web_trusted_proxies_say_from_where_somebody_tries(
    web_with: WebWith, proxies: tuple[str, ...], address: str
) -> None:
    web = web_with(trusted_proxies=proxies)
    config = _uvicorn(web.app, web.runtime.settings.web)
    config.load()
    behind = InProcess(config.loaded_app, "10.0.0.5")

    sign_in(web.nobody(transport=behind, headers={"X-Forwarded-For": "203.0.113.9"}), "nobody")

    keys = [key for (key,) in web.database.call("select key from remand.login_attempts order by key")]
    assert keys == ["account:nobody", f"address:{address}"]


@pytest.mark.parametrize(("idle", "status"), [(600, 200), (100, 303)])
def test_web_session_idle_seconds_is_how_long_an_unused_session_lasts(
    web_with: WebWith, idle: float, status: int
) -> None:
    web = web_with(session_idle_seconds=idle)
    browser = web.browser("viewer")

    web.clock.advance(300)

    assert browser.get("/").status_code == status


@pytest.mark.parametrize(("longest", "status"), [(3600, 200), (600, 303)])
def test_web_session_max_seconds_is_how_long_a_used_session_lasts(
    web_with: WebWith, longest: float, status: int
) -> None:
    web = web_with(session_max_seconds=longest)
    browser = web.browser("viewer")

    for _ in range(3):
        web.clock.advance(300)
        last = browser.get("/").status_code

    assert last == status


@pytest.mark.parametrize("free", [1, 3, 7])
def test_web_login_attempts_are_free_before_one_has_to_wait(web_with: WebWith, free: int) -> None:
    browser = web_with(login_attempts=free).nobody()

    told = [sign_in(browser, "nobody", "wrong").status_code for _ in range(free + 1)]

    assert told == [*[401] * free, 429]


@pytest.mark.parametrize("longest", [2, 9])
def test_web_login_max_delay_seconds_is_the_longest_wait(web_with: WebWith, longest: float) -> None:
    web = web_with(login_max_delay_seconds=longest, login_attempts=1)
    browser, waits = web.nobody(), []

    for _ in range(6):
        sign_in(browser, "nobody", "wrong")
        waits.append(int(sign_in(browser, "nobody", "wrong").headers["Retry-After"]))
        web.clock.advance(waits[-1])

    assert max(waits) == longest


@pytest.mark.parametrize(("most", "status"), [(1024, 413), (4096, 422)])
def test_web_max_body_bytes_is_the_largest_body(web_with: WebWith, most: int, status: int) -> None:
    program = web_with(max_body_bytes=most).program("operator")

    assert program.post("/api/v1/workflows", json={"x": "y" * 2000}).status_code == status


@pytest.mark.parametrize("threads", [1, 5])
def test_web_threads_is_how_many_requests_are_worked_on_at_a_time(web_with: WebWith, threads: int) -> None:
    web = web_with(threads=threads)
    sent: list[Any] = []

    async def live() -> float:
        told = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
        found = 0.0

        async def receive() -> Any:
            nonlocal found
            found = anyio.to_thread.current_default_thread_limiter().total_tokens
            return next(told)

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await web.app({"type": "lifespan"}, receive, send)
        return found

    assert anyio.run(live) == threads
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


@pytest.mark.parametrize("url", [None, "https://flower.example"])
def test_web_flower_url_is_where_the_dashboard_leads(web_with: WebWith, url: str | None) -> None:
    page = web_with(flower_url=url).browser("viewer").get("/")

    assert ('href="https://flower.example"' in page.text) is (url is not None)


@pytest.mark.parametrize(("targets", "stored"), [([], 0), ([{"name": "ops", "url": "https://a.test"}], 1)])
def test_notify_targets_are_those_who_are_told(
    harness_with: HarnessWith, targets: list[dict[str, str]], stored: int
) -> None:
    harness = harness_with(notify={"targets": targets})
    with harness.database.begin() as connection:
        told = Notice(NotificationKind.BREAKER_OPENED, "api", "breaker api opened")
        assert enqueue(connection, harness.settings, told, harness.clock.now) == stored


@pytest.mark.parametrize(("seconds", "kept"), [(3600, 0), (7200, 1)])
def test_notify_keep_seconds_is_how_long_notices_are_kept(
    harness_with: HarnessWith, seconds: float, kept: int
) -> None:
    targets = [{"name": "ops", "url": "https://a.test"}]
    harness = harness_with(notify={"targets": targets, "keep_seconds": seconds})
    with harness.database.begin() as connection:
        told = Notice(NotificationKind.BREAKER_OPENED, "api", "breaker api opened")
        enqueue(connection, harness.settings, told, harness.clock.now)
    harness.advance(hours=1, seconds=1)

    notify(harness.engine, send=lambda *_: TryAgain("down"))

    assert harness.database.call("select count(*) from remand.notifications")[0][0] == kept
