"""The settings themselves: name, type, bounds, unit, default, meaning, and the rules between them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
)

from remand.redact import DEFAULT_KEYS, redact_text
from remand_app.beat_schedule import BEAT_SCHEDULE, SWEEPS, Sweep
from remand_app.config.archive import ArchiveSettings
from remand_app.config.commands import CommandSettings
from remand_app.config.kinds import Count, Names, Seconds
from remand_app.config.notify import NotifySettings
from remand_app.config.retention import RetentionSettings
from remand_app.config.staleness import StalenessSettings
from remand_app.config.web import WebSettings
from remand_app.domain.addresses import BrokerAddress, DatabaseAddress, shown, tidied
from remand_app.domain.breaker import BreakerOverrides
from remand_app.domain.dead_letters import DlqSettings
from remand_app.domain.retry import RetryOverrides
from remand_app.domain.retry_budget import BudgetSpec
from remand_app.domain.user_rules import MAX_RULES, RuleSpec

URLS = ("database_url", "broker_url")
"""Settings that hold passwords."""


def _parse(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from None


Rules = Annotated[tuple[RuleSpec, ...], BeforeValidator(_parse)]


class _Checked(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, hide_input_in_errors=True
    )


def _interval(sweep: Sweep) -> Any:
    """Return the field of a sweep's interval, as the table of sweeps has it."""
    description = f"Seconds between two {sweep.description}."
    return (Seconds, Field(float(sweep.seconds), gt=0, le=sweep.most, description=description))


if TYPE_CHECKING:

    class _Intervals(_Checked): ...

else:
    _Intervals = create_model(
        "_Intervals",
        __base__=_Checked,
        **{BEAT_SCHEDULE[name].interval: _interval(sweep) for name, sweep in SWEEPS.items()},
    )


class Settings(_Intervals):
    """All that can be set. Immutable; `repr` hides passwords. Durations are seconds, sizes are bytes.

    Build it with `load_settings()`; direct construction reads neither file nor environment. Each sweep of
    `beat_schedule.SWEEPS` has its interval here, read by `interval_seconds`.
    """

    database_url: str | None = Field(
        None,
        description="PostgreSQL 15 or newer: `postgresql://user:password@host:port/name`. Unset: embedded. "
        "See [Servers](../operations/servers.md).",
    )
    broker_url: str | None = Field(
        None,
        description="Celery's broker: `redis://`, `rediss://` (TLS), `redis+socket://`, `amqp://`, "
        "`amqps://`. Unset: embedded. See [Servers](../operations/servers.md).",
    )
    broker_queue_type: Literal["classic", "quorum"] = Field(
        "classic",
        description="What queues are on RabbitMQ; `quorum`: on several of its nodes. Queues that are there"
        " stay what they are until they are deleted. Redis knows no difference.",
    )
    broker_timeout_seconds: Seconds = Field(
        2.0,
        gt=0,
        le=60,
        description="Seconds that the broker may take to accept a connection or to answer; then it is away.",
    )
    data_dir: Path = Field(
        Path(".remand"),
        description="Folder of the embedded servers' data; relative to the working directory.",
    )
    handlers: Names = Field(
        (), description="Python modules that a worker imports to find handlers, such as `shop.orders`."
    )
    templates: Names = Field(
        (),
        description="YAML files, or folders of them, that hold templates; relative to the working directory.",
    )
    code_version: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="Version of the handlers that this worker runs, such as a commit: tells one deploy from"
        " the next, and redrives may wait for it. Unset: not named.",
    )
    default_step_timeout_seconds: Seconds = Field(
        1800.0,
        gt=0,
        le=604_800,
        description="How long a step may run, in seconds, where its template does not say.",
    )
    hard_timeout_grace_seconds: Seconds = Field(
        10.0,
        ge=0,
        le=3600,
        description="Seconds a handler gets to clean up after its timeout before its process is killed.",
    )
    start_wait_seconds: Seconds = Field(
        60.0,
        ge=0,
        le=3600,
        description="Seconds that worker, server and migration wait, when they start, for a PostgreSQL that"
        " is away, starting or read-only, and a worker for its broker. 0: not at all.",
    )
    shutdown_grace_seconds: Seconds = Field(
        20.0, ge=0, le=3600, description="Seconds a worker that is asked to stop lets running steps finish."
    )
    batch_size: Count = Field(50, ge=1, le=1000, description="Most attempts that one claim takes.")
    batch_budget_seconds: Seconds = Field(
        0.05,
        gt=0,
        le=60,
        description="Handler time, in seconds, that one claim aims for: long steps are claimed one by one.",
    )
    flush_after_seconds: Seconds = Field(
        0.02,
        ge=0,
        le=10,
        description="Longest wait, in seconds, of a finished step for others to be settled with.",
    )
    drain_slice_seconds: Seconds = Field(
        30.0, gt=0, le=3600, description="Seconds after which a drain hands its queue on to the next bell."
    )
    heartbeat_interval_seconds: Seconds = Field(
        1.0, gt=0, le=60, description="Seconds between two heartbeats of a worker."
    )
    worker_gone_after_seconds: Seconds = Field(
        3.0,
        gt=0,
        le=3600,
        description="Seconds without heartbeat after which a worker that lost its lock is gone.",
    )
    worker_silent_after_seconds: Seconds = Field(
        30.0,
        gt=0,
        le=86_400,
        description="Seconds without heartbeat after which a worker is gone though it holds its lock.",
    )
    rescue_pause_after_restart_seconds: Seconds = Field(
        10.0,
        ge=0,
        le=600,
        description="Seconds after a restart of PostgreSQL in which no worker is declared gone.",
    )
    redrive_batch_size: Count = Field(
        500, ge=1, le=5000, description="Most dead letters that a redrive requeues in one transaction."
    )
    redrive_wait_seconds: Seconds = Field(
        3600.0,
        gt=0,
        le=2_592_000,
        description="Seconds that a redrive waits for the outcome of what it sent last: a canary is stopped "
        "then, the rest ends without it.",
    )
    partition_interval: Literal["monthly", "weekly", "daily"] = Field(
        "monthly",
        description="How long the periods are by which workflows are partitioned, in UTC. May be changed at "
        "any time: it holds for what follows the last period that is there.",
    )
    partitions_ahead: Count = Field(
        2,
        ge=1,
        le=60,
        description="Periods, after the current one, that have partitions in advance. With short ones take "
        "more: they are the time for which the sweep may fail unnoticed.",
    )
    prune_budget_seconds: Seconds = Field(
        60.0,
        gt=0,
        le=3600,
        description="Seconds after which a prune sweep leaves the rest to the next one.",
    )
    input_max_bytes: Count = Field(
        1_048_576, ge=1024, le=104_857_600, description="Largest input of a workflow, in bytes of JSON."
    )
    result_max_bytes: Count = Field(
        1_048_576,
        ge=1024,
        le=104_857_600,
        description="Largest result or checkpoint of a step, in bytes of JSON.",
    )
    snapshot_max_bytes: Count = Field(
        262_144,
        ge=4096,
        le=16_777_216,
        description="Largest snapshot kept with a dead letter, in bytes of JSON.",
    )
    redact_keys: Names = Field(
        DEFAULT_KEYS,
        description="Parts of field names whose values are masked in logs and snapshots (whole list).",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Least severe level that is logged."
    )
    log_format: Literal["console", "json"] = Field(
        "console", description="`console` for people, `json` for programs: one object a line."
    )
    metrics_port: Count = Field(
        0,
        ge=0,
        le=65_535,
        description="Port where a worker's main process tells Prometheus what its processes counted; "
        "0: none, and nothing is counted.",
    )
    metrics_host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address of that port. Nobody has to sign in there: loopback, or a network of your own.",
    )
    traces: bool = Field(
        False,
        description="Whether submits and attempts are told to OpenTelemetry, set up by its own `OTEL_*` "
        "variables; needs `remand[otel]`.",
    )
    flower_steps: bool = Field(
        False,
        description="Whether workers show every step in Flower, as a task with the name of its handler.",
    )
    retry: RetryOverrides = Field(
        default_factory=RetryOverrides, description="Retry defaults of steps whose templates do not say."
    )
    retry_budget: BudgetSpec = Field(
        default_factory=BudgetSpec,
        description="How large the share of retries may be; those beyond it are spread out.",
    )
    breaker: BreakerOverrides = Field(
        default_factory=BreakerOverrides,
        description="When the circuit breaker of a dependency opens and closes.",
    )
    breakers: dict[str, BreakerOverrides] = Field(
        default_factory=dict, description="The same for one dependency, by its name."
    )
    web: WebSettings = Field(default_factory=WebSettings, description="The server of API and dashboard.")
    commands: CommandSettings = Field(
        default_factory=CommandSettings, description="What workers obey that comes over the broker."
    )
    notify: NotifySettings = Field(
        default_factory=NotifySettings, description="Whom to tell of what needs a person."
    )
    staleness: StalenessSettings = Field(
        StalenessSettings(), description="How workflows without a sign of life are found: `[staleness]`."
    )
    retention: RetentionSettings = Field(
        default_factory=RetentionSettings, description="How long is kept what is over."
    )
    archive: ArchiveSettings = Field(
        default_factory=ArchiveSettings, description="When finished workflows go to the archive."
    )
    dlq: DlqSettings = Field(default_factory=DlqSettings, description="What becomes of dead letters.")
    rules: Rules = Field(
        (),
        max_length=MAX_RULES,
        description="Rules of your own for the classifier, asked before the built-in ones; "
        "in the environment a JSON list.",
    )

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_capitals(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("database_url")
    @classmethod
    def _names_postgres(cls, value: str | None) -> str | None:
        if value is None:
            return None
        DatabaseAddress.parse(value)
        return tidied(value)

    @field_validator("broker_url")
    @classmethod
    def _names_a_broker(cls, value: str | None) -> str | None:
        if value is None:
            return None
        BrokerAddress.parse_all(value)
        return tidied(value)

    @field_validator("worker_gone_after_seconds")
    @classmethod
    def _outlasts_two_heartbeats(cls, value: float, info: ValidationInfo) -> float:
        beat = info.data.get("heartbeat_interval_seconds")
        if beat is not None and value <= 2 * beat:
            raise ValueError(
                f"should be more than twice heartbeat_interval_seconds ({beat:g}): one late beat is no death"
            )
        return value

    @field_validator("worker_silent_after_seconds")
    @classmethod
    def _outlasts_gone(cls, value: float, info: ValidationInfo) -> float:
        gone = info.data.get("worker_gone_after_seconds")
        if gone is not None and value < gone:
            raise ValueError(
                f"should be at least worker_gone_after_seconds ({gone:g}): a held lock is a sign of life"
            )
        return value

    @field_validator("drain_slice_seconds")
    @classmethod
    def _holds_a_batch(cls, value: float, info: ValidationInfo) -> float:
        budget = info.data.get("batch_budget_seconds")
        if budget is not None and value < budget:
            raise ValueError(f"should be at least batch_budget_seconds ({budget:g})")
        return value

    def interval_seconds(self, sweep: str) -> float:
        """Return the seconds between two runs of a sweep."""
        seconds: float = getattr(self, BEAT_SCHEDULE[sweep].interval)
        return seconds

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        for name, value in super().__repr_args__():
            if isinstance(value, str):
                yield name, shown(value) if name in URLS else redact_text(value)
            else:
                yield name, value
