"""The tables of schema `remand` as SQLAlchemy models them; the migrations are tested against this file.

`workflows`, `steps`, `attempts` and `history` are partitioned by ranges of the workflow's UUIDv7 and share
boundaries. There are no foreign keys between them: one transaction writes all rows of a workflow.
A step's or workflow's straight road is not written to `history` but kept in its instants: see `moves`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.domain.states import (
    CATEGORIES,
    BreakerState,
    DeadLetterStatus,
    DeadReason,
    Gate,
    Outcome,
    Phase,
    StepState,
    WorkflowState,
)

SCHEMA = "remand"
PARTITIONED = ("workflows", "steps", "attempts", "history")

metadata = sa.MetaData(schema=SCHEMA)
_instant = sa.DateTime(timezone=True)
_json = JSONB(none_as_null=True)


def _column(name: str, type_: Any, comment: str, **options: Any) -> sa.Column[Any]:
    options.setdefault("nullable", False)
    return sa.Column(name, type_, comment=comment, **options)


def _one_of(column: str, values: Iterable[str], name: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=name)


_FINAL_WORKFLOW = "('complete', 'error', 'cancelled', 'resolved_manually')"
_FINAL_STEP = "('complete', 'error', 'cancelled', 'resolved_manually')"

transition_rule = sa.Table(
    "transition_rule",
    metadata,
    _column("kind", sa.Text, "workflow, step or breaker"),
    _column("from_state", sa.Text, "state before the move"),
    _column("event", sa.Text, "why it moves"),
    _column("to_state", sa.Text, "state after the move"),
    sa.PrimaryKeyConstraint("kind", "from_state", "event", "to_state"),
    comment="Every legal move; seeded from the domain's tables. history points here.",
)

templates = sa.Table(
    "templates",
    metadata,
    _column("id", sa.Integer, "key", primary_key=True, autoincrement=True),
    _column("namespace", sa.Text, "owner of the name"),
    _column("name", sa.Text, "name within the namespace"),
    _column("version", sa.Text, "a published version never changes"),
    _column("definition", _json, "the template as published, canonical"),
    _column("hash", sa.Text, "SHA-256 of the canonical definition, hex"),
    _column("on_failure", sa.Text, "finish_branches or fail_fast"),
    _column("created_at", _instant, "when it was published"),
    sa.UniqueConstraint("namespace", "name", "version"),
    _one_of("on_failure", ("finish_branches", "fail_fast"), "on_failure_known"),
    comment="Published workflow templates.",
)

template_steps = sa.Table(
    "template_steps",
    metadata,
    _column("template_id", sa.Integer, "the template"),
    _column("name", sa.Text, "step name, unique in its template"),
    _column("position", sa.Integer, "order in the file, from 0"),
    _column("handler", sa.Text, "registered name of the handler"),
    _column("dependency", sa.Text, "whose breaker it minds; its handler unless declared"),
    _column("queue", sa.Text, "Celery queue whose workers run it"),
    _column("priority", sa.SmallInteger, "0-9, higher first; null: the workflow's", nullable=True),
    _column("timeout_seconds", sa.Float, "soft timeout, seconds; null: the setting", nullable=True),
    _column("commit_each", sa.Boolean, "true: its result is committed alone and at once"),
    _column("depends_on", ARRAY(sa.Text), "names of the parents"),
    _column("children", ARRAY(sa.Text), "names of the steps that depend on it"),
    sa.PrimaryKeyConstraint("template_id", "name"),
    sa.ForeignKeyConstraint(["template_id"], ["remand.templates.id"]),
    comment="The steps of a template, one row each, as submit copies them.",
)

workflows = sa.Table(
    "workflows",
    metadata,
    _column("id", sa.Uuid, "UUIDv7, partition key"),
    _column("template_id", sa.Integer, "templates.id"),
    _column("created_at", _instant, "when it was submitted"),
    _column("input", _json, "the input, as validated against the template's schema"),
    _column("submitted_by", sa.Text, "who or what submitted it"),
    _column("identity_key", sa.Text, "SHA-256 of its identity, hex; null: always unique", nullable=True),
    _column("priority", sa.SmallInteger, "0-9, higher first"),
    _column("state", sa.Text, "see the state machine"),
    _column("state_since", _instant, "instant of the last move"),
    _column("open_steps", sa.Integer, "steps that are neither complete nor resolved nor cancelled"),
    _column("error_steps", sa.Integer, "steps in error", server_default=sa.text("0")),
    _column(
        "troubled",
        sa.Boolean,
        "true once a step failed: settle then rolls the workflow up",
        server_default=sa.text("false"),
    ),
    _column("hold", sa.Text, "not null: why no further step is enqueued", nullable=True),
    sa.PrimaryKeyConstraint("id"),
    _one_of("state", WorkflowState, "state_known"),
    sa.CheckConstraint("priority BETWEEN 0 AND 9", name="priority_range"),
    sa.CheckConstraint("open_steps >= 0 AND error_steps >= 0", name="counters_not_negative"),
    sa.CheckConstraint("state <> 'complete' OR open_steps = 0", name="complete_means_all_done"),
    sa.Index(
        "workflows_open", "state", "state_since", postgresql_where=sa.text(f"state NOT IN {_FINAL_WORKFLOW}")
    ),
    comment="One row per workflow.",
    postgresql_partition_by="RANGE (id)",
)

steps = sa.Table(
    "steps",
    metadata,
    _column("workflow_id", sa.Uuid, "workflows.id, partition key"),
    _column("name", sa.Text, "step name"),
    _column("position", sa.Integer, "order in the template, from 0"),
    _column("handler", sa.Text, "registered name of the handler"),
    _column("dependency", sa.Text, "whose breaker it minds; null: its handler", nullable=True),
    _column("queue", sa.Text, "Celery queue whose workers run it"),
    _column("priority", sa.SmallInteger, "0-9, higher first"),
    _column("timeout_seconds", sa.Float, "soft timeout, seconds; null: the setting", nullable=True),
    _column("commit_each", sa.Boolean, "true: its result is committed alone and at once"),
    _column("depends_on", ARRAY(sa.Text), "names of the parents"),
    _column("children", ARRAY(sa.Text), "names of the steps that depend on it"),
    _column("state", sa.Text, "see the state machine"),
    _column("open_parents", sa.Integer, "parents that do not yet satisfy it"),
    _column("attempt", sa.Integer, "number of the current or last attempt; 0: never claimed"),
    _column("failures", sa.Integer, "attempts that failed or timed out", server_default=sa.text("0")),
    _column("lost_attempts", sa.Integer, "attempts whose process died", server_default=sa.text("0")),
    _column("worker", sa.Uuid, "worker incarnation of the current or last attempt", nullable=True),
    _column("enqueued_at", _instant, "not null: the move to enqueued, not in history", nullable=True),
    _column("started_at", _instant, "not null: the move to in_progress, not in history", nullable=True),
    _column("ended_at", _instant, "when it reached a final state", nullable=True),
    _column("input", _json, "replaces the workflow's input for this step", nullable=True),
    _column("checkpoint", _json, "what the handler saved last", nullable=True),
    _column("failing_since", _instant, "first failure since it was last (re)started", nullable=True),
    _column("failure", _json, "the last failure with its classification", nullable=True),
    _column("result", _json, "what the handler returned", nullable=True),
    sa.PrimaryKeyConstraint("workflow_id", "name"),
    _one_of("state", StepState, "state_known"),
    sa.CheckConstraint(f"(ended_at IS NOT NULL) = (state IN {_FINAL_STEP})", name="ended_means_final"),
    sa.CheckConstraint("open_parents >= 0", name="open_parents_not_negative"),
    comment="One row per step of a workflow.",
    postgresql_partition_by="RANGE (workflow_id)",
)

attempts = sa.Table(
    "attempts",
    metadata,
    _column("workflow_id", sa.Uuid, "workflows.id, partition key"),
    _column("step", sa.Text, "step name"),
    _column("attempt", sa.Integer, "number of the attempt, from 1"),
    _column("outcome", sa.Text, "how it ended"),
    _column("worker", sa.Uuid, "worker incarnation that ran it", nullable=True),
    _column("started_at", _instant, "when it was claimed", nullable=True),
    _column("ended_at", _instant, "when its end was recorded"),
    _column("failure", _json, "class, message, traceback and classification", nullable=True),
    _column("policy", sa.Text, "the retry queue it was routed to", nullable=True),
    _column("decision", sa.Text, "retry, dead or null while undecided", nullable=True),
    _column("decided_at", _instant, "when a worker of that queue decided", nullable=True),
    _column("due_at", _instant, "when the retry is due", nullable=True),
    _column("explanation", sa.Text, "why it was decided so, for a person", nullable=True),
    sa.PrimaryKeyConstraint("workflow_id", "step", "attempt"),
    _one_of("outcome", Outcome, "outcome_known"),
    sa.CheckConstraint("attempt >= 1", name="attempt_from_one"),
    sa.CheckConstraint("decision IN ('retry', 'dead')", name="decision_known"),
    comment="Attempts that did not go well; the good one is in its step's row. View all_attempts has both.",
    postgresql_partition_by="RANGE (workflow_id)",
)

history_seq = sa.Sequence("history_seq", metadata=metadata, data_type=sa.BigInteger, cache=1)

history = sa.Table(
    "history",
    metadata,
    _column("workflow_id", sa.Uuid, "workflows.id, partition key"),
    _column("seq", sa.BigInteger, "order of the moves", server_default=history_seq.next_value()),
    _column("kind", sa.Text, "workflow or step"),
    _column("step", sa.Text, "step name; null: the workflow itself", nullable=True),
    _column("from_state", sa.Text, "state before the move"),
    _column("event", sa.Text, "why it moved"),
    _column("to_state", sa.Text, "state after the move"),
    _column("at", _instant, "when it moved"),
    _column("by", sa.Text, "who or what moved it"),
    _column("reason", sa.Text, "a person's words", nullable=True),
    sa.PrimaryKeyConstraint("workflow_id", "seq"),
    sa.ForeignKeyConstraint(
        ["kind", "from_state", "event", "to_state"],
        [
            "remand.transition_rule.kind",
            "remand.transition_rule.from_state",
            "remand.transition_rule.event",
            "remand.transition_rule.to_state",
        ],
        name="history_legal_move",
    ),
    sa.CheckConstraint("(kind = 'workflow') = (step IS NULL)", name="step_named"),
    comment="Moves off the straight road; view moves has every move.",
    postgresql_partition_by="RANGE (workflow_id)",
)

run_queue = sa.Table(
    "run_queue",
    metadata,
    _column("workflow_id", sa.Uuid, "workflows.id"),
    _column("step", sa.Text, "step name"),
    _column("phase", sa.Text, "ready, claimed, failed, waiting or settling"),
    _column("queue", sa.Text, "Celery queue whose workers act next"),
    _column("dependency", sa.Text, "whose breaker it minds"),
    _column("gate", sa.Text, "held: the breaker holds it back; passed: it let it through", nullable=True),
    _column("priority", sa.SmallInteger, "0-9, higher first"),
    _column("due_at", _instant, "not before this instant"),
    _column("attempt", sa.Integer, "number of the last attempt; the fence of every result"),
    _column(
        "suspect",
        sa.Boolean,
        "true: a process died holding it; it is claimed alone",
        server_default=sa.text("false"),
    ),
    _column("worker", sa.Uuid, "incarnation that holds the claim", nullable=True),
    _column("pid", sa.Integer, "process that holds the claim", nullable=True),
    _column("lease_until", _instant, "end of the lease", nullable=True),
    sa.PrimaryKeyConstraint("workflow_id", "step"),
    _one_of("phase", Phase, "phase_known"),
    sa.CheckConstraint(
        "(phase IN ('claimed', 'settling')) = (worker IS NOT NULL)", name="claimed_means_worker"
    ),
    sa.CheckConstraint("(phase = 'claimed') = (lease_until IS NOT NULL)", name="claimed_means_lease"),
    _one_of("gate", Gate, "gate_known"),
    sa.CheckConstraint("gate <> 'held' OR phase = 'waiting'", name="held_means_waiting"),
    sa.Index(
        "run_queue_ready",
        "queue",
        sa.text("priority DESC"),
        "due_at",
        postgresql_where=sa.text("phase = 'ready'"),
    ),
    sa.Index(
        "run_queue_by_dependency",
        "dependency",
        postgresql_where=sa.text("phase = 'ready' AND gate IS NULL"),
    ),
    sa.Index("run_queue_failed", "queue", "due_at", postgresql_where=sa.text("phase = 'failed'")),
    sa.Index("run_queue_waiting", "due_at", postgresql_where=sa.text("phase = 'waiting' AND gate IS NULL")),
    sa.Index(
        "run_queue_gated",
        "dependency",
        "gate",
        sa.text("priority DESC"),
        "due_at",
        postgresql_where=sa.text("gate IS NOT NULL"),
    ),
    sa.Index(
        "run_queue_held",
        "worker",
        "lease_until",
        postgresql_where=sa.text("phase IN ('claimed', 'settling')"),
    ),
    comment="One row per live step: small and hot; every scan of live work reads this table only.",
    postgresql_with={
        "fillfactor": "60",
        "autovacuum_vacuum_scale_factor": "0",
        "autovacuum_vacuum_threshold": "2000",
        "autovacuum_analyze_scale_factor": "0.2",
    },
)

breakers = sa.Table(
    "breakers",
    metadata,
    _column("name", sa.Text, "the dependency", primary_key=True),
    _column("state", sa.Text, "closed, open or half_open"),
    _column("state_since", _instant, "instant of the last move"),
    _column("openings", sa.Integer, "times it opened without closing in between: the cool-down grows"),
    _column("probe_at", _instant, "open: when probes go through; null: not by itself", nullable=True),
    _column("probes_succeeded", sa.Integer, "half-open: probes that went well"),
    _column("releasing_since", _instant, "closed, but what it held goes out at a rate", nullable=True),
    _column("release_all", sa.Boolean, "true: what it held goes out at once"),
    _column("released_at", _instant, "when it last let something through", nullable=True),
    _column("by", sa.Text, "who or what moved it last"),
    _column("reason", sa.Text, "why, for a person", nullable=True),
    _one_of("state", BreakerState, "state_known"),
    sa.CheckConstraint("releasing_since IS NULL OR state = 'closed'", name="releasing_means_closed"),
    sa.CheckConstraint("probe_at IS NULL OR state = 'open'", name="probe_at_means_open"),
    sa.Index(
        "breakers_gating",
        "name",
        postgresql_where=sa.text("state <> 'closed' OR releasing_since IS NOT NULL"),
    ),
    comment="Circuit breakers that ever moved; one that has no row is closed.",
)

breaker_moves = sa.Table(
    "breaker_moves",
    metadata,
    _column("name", sa.Text, "breakers.name"),
    _column("seq", sa.BigInteger, "order of the moves", server_default=history_seq.next_value()),
    _column("kind", sa.Text, "always breaker", server_default=sa.text("'breaker'")),
    _column("from_state", sa.Text, "state before the move"),
    _column("event", sa.Text, "why it moved"),
    _column("to_state", sa.Text, "state after the move"),
    _column("at", _instant, "when it moved"),
    _column("by", sa.Text, "who or what moved it"),
    _column("reason", sa.Text, "the figures, or a person's words", nullable=True),
    sa.PrimaryKeyConstraint("name", "seq"),
    sa.ForeignKeyConstraint(
        ["kind", "from_state", "event", "to_state"],
        [
            "remand.transition_rule.kind",
            "remand.transition_rule.from_state",
            "remand.transition_rule.event",
            "remand.transition_rule.to_state",
        ],
        name="breaker_legal_move",
    ),
    sa.CheckConstraint("kind = 'breaker'", name="kind_breaker"),
    comment="Every move of every breaker.",
)

pauses = sa.Table(
    "pauses",
    metadata,
    _column("queue", sa.Text, "Celery queue nothing is claimed from", primary_key=True),
    _column("since", _instant, "when it was paused"),
    _column("by", sa.Text, "who paused it"),
    _column("reason", sa.Text, "a person's words", nullable=True),
    comment="Paused queues: what is in them waits and is not lost.",
)

traffic = sa.Table(
    "traffic",
    metadata,
    _column("namespace", sa.Text, "of the template"),
    _column("handler", sa.Text, "registered name of the handler"),
    _column("dependency", sa.Text, "whose breaker its steps mind"),
    _column("bucket", _instant, "the second counted"),
    _column("attempts", sa.Integer, "attempts that ended", server_default=sa.text("0")),
    _column("failures", sa.Integer, "failures that the breaker counts", server_default=sa.text("0")),
    _column("retries", sa.Integer, "retries that were decided", server_default=sa.text("0")),
    sa.PrimaryKeyConstraint("dependency", "handler", "namespace", "bucket"),
    sa.Index("traffic_by_age", "bucket"),
    sa.Index("traffic_by_handler", "namespace", "handler", "bucket"),
    comment="What breakers and retry budgets are judged by; the last minutes only, never a record.",
)

retry_budgets = sa.Table(
    "retry_budgets",
    metadata,
    _column("namespace", sa.Text, "of the template"),
    _column("handler", sa.Text, "registered name of the handler"),
    _column("next_at", _instant, "the next free turn of a retry beyond the budget"),
    sa.PrimaryKeyConstraint("namespace", "handler"),
    comment="How far retries beyond the budget are spread already.",
)

unclassified = sa.Table(
    "unclassified",
    metadata,
    _column("fingerprint", sa.Text, "what the failures have in common", primary_key=True),
    _column("error_class", sa.Text, "qualified class"),
    _column("message", sa.Text, "of the last one, redacted"),
    _column("count", sa.BigInteger, "failures so far"),
    _column("first_at", _instant, "first seen"),
    _column("last_at", _instant, "last seen"),
    _column("workflow_id", sa.Uuid, "of the last one"),
    _column("step", sa.Text, "of the last one"),
    _column("attempt", sa.Integer, "of the last one"),
    _column("handler", sa.Text, "of the last one"),
    sa.Index("unclassified_newest", sa.text("last_at DESC")),
    comment="Failures that no rule knows, by fingerprint: what a rule could be written from.",
)

identities = sa.Table(
    "identities",
    metadata,
    _column("namespace", sa.Text, "of the template"),
    _column("name", sa.Text, "of the template"),
    _column("key", sa.Text, "SHA-256 of the identity, hex"),
    _column("workflow_id", sa.Uuid, "the first workflow with this identity"),
    _column("created_at", _instant, "when it was taken"),
    sa.PrimaryKeyConstraint("namespace", "name", "key"),
    comment="Which identities are taken; unpartitioned so that uniqueness holds over all time.",
)

workers = sa.Table(
    "workers",
    metadata,
    _column("id", sa.Uuid, "incarnation: new at each start", primary_key=True),
    _column("hostname", sa.Text, "Celery node name"),
    _column("pid", sa.Integer, "of the main process"),
    _column("queues", ARRAY(sa.Text), "queues it consumes"),
    _column("pool", sa.Text, "Celery pool"),
    _column("concurrency", sa.Integer, "size of the pool"),
    _column("version", sa.Text, "of Remand"),
    _column("lock_key", sa.BigInteger, "advisory lock its main process holds while it lives"),
    _column("started_at", _instant, "registration"),
    _column("heartbeat_at", _instant, "last sign of life"),
    _column("stopped_at", _instant, "when it said goodbye or was found gone", nullable=True),
    sa.Index("workers_live", "heartbeat_at", postgresql_where=sa.text("stopped_at IS NULL")),
    comment="Worker registry: one row per start of a worker.",
)

dead_letters = sa.Table(
    "dead_letters",
    metadata,
    _column("id", sa.Uuid, "UUIDv7", primary_key=True),
    _column("workflow_id", sa.Uuid, "the workflow; no foreign key: the letter outlives its archive"),
    _column("source", sa.Text, "what kind of thing died"),
    _column("source_id", sa.Text, "its identity: moving the same thing twice is a no-op"),
    _column("namespace", sa.Text, "of the template"),
    _column("template", sa.Text, "name:version"),
    _column("step", sa.Text, "step whose failure opened it"),
    _column("handler", sa.Text, "its handler"),
    _column("queue", sa.Text, "its queue"),
    _column("attempts", sa.Integer, "attempts made"),
    _column("reason", sa.Text, "why it was opened"),
    _column("category", sa.Text, "classification of the last failure"),
    _column("rule", sa.Text, "rule that classified it"),
    _column("error_class", sa.Text, "qualified class of the last failure"),
    _column("error_message", sa.Text, "its message, redacted"),
    _column("worker", sa.Text, "node name of the worker that saw it last"),
    _column("status", sa.Text, "how the investigation stands"),
    _column("opened_at", _instant, "when the failure became terminal"),
    _column("claimed_by", sa.Text, "who looks at it", nullable=True),
    _column("claimed_at", _instant, "since when", nullable=True),
    _column("closed_by", sa.Text, "who closed it", nullable=True),
    _column("closed_at", _instant, "when", nullable=True),
    _column("resolution", sa.Text, "how it was resolved, in a person's words", nullable=True),
    _column("snapshot", _json, "workflow, steps, attempts, last moves at that moment; redacted, size capped"),
    _column("metadata", _json, "merged, never replaced", server_default=sa.text("'{}'::jsonb")),
    sa.UniqueConstraint("source", "source_id"),
    _one_of("status", DeadLetterStatus, "status_known"),
    _one_of("reason", DeadReason, "reason_known"),
    _one_of("category", CATEGORIES, "category_known"),
    sa.CheckConstraint(
        "(closed_at IS NOT NULL) = (status NOT IN ('pending', 'investigating'))",
        name="closed_means_closed_at",
    ),
    sa.CheckConstraint("(closed_at IS NULL) = (closed_by IS NULL)", name="closed_by_whom"),
    sa.CheckConstraint("status <> 'investigating' OR claimed_by IS NOT NULL", name="claimed_by_whom"),
    sa.Index(
        "dead_letters_one_open",
        "workflow_id",
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'investigating')"),
    ),
    sa.Index("dead_letters_by_status", "status", sa.text("opened_at DESC")),
    sa.Index("dead_letters_by_workflow", "workflow_id"),
    comment="One investigation per row: what happened, in which state, who looks at it, how it was resolved.",
)

dead_letter_notes = sa.Table(
    "dead_letter_notes",
    metadata,
    _column("id", sa.Uuid, "UUIDv7", primary_key=True),
    _column("dead_letter_id", sa.Uuid, "dead_letters.id"),
    _column("at", _instant, "when it was written"),
    _column("author", sa.Text, "who wrote it; 'remand' for the product itself"),
    _column("text", sa.Text, "the note"),
    sa.ForeignKeyConstraint(["dead_letter_id"], ["remand.dead_letters.id"]),
    sa.Index("dead_letter_notes_by_letter", "dead_letter_id", "id"),
    comment="Append-only notes of an investigation.",
)
