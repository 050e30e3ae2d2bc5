"""The run queue, what holds its work back, and the workers."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, TSTZMULTIRANGE

from remand_app.domain.states import Gate, Phase
from remand_app.store.tables.columns import column, instant, metadata, one_of

run_queue = sa.Table(
    "run_queue",
    metadata,
    column("workflow_id", sa.Uuid, "workflows.id"),
    column("step", sa.Text, "step name"),
    column("phase", sa.Text, "ready, claimed, failed, waiting or settling"),
    column("queue", sa.Text, "Celery queue whose workers act next"),
    column("namespace", sa.Text, "of its template: namespaces share a queue evenly"),
    column("dependency", sa.Text, "whose breaker it minds"),
    column("gate", sa.Text, "held: the breaker holds it back; passed: it let it through", nullable=True),
    column("priority", sa.SmallInteger, "0-9, higher first"),
    column("due_at", instant, "not before this instant"),
    column("attempt", sa.Integer, "number of the last attempt; the fence of every result"),
    column(
        "suspect",
        sa.Boolean,
        "true: a process died holding it; it is claimed alone",
        server_default=sa.text("false"),
    ),
    column("worker", sa.Uuid, "incarnation that holds the claim", nullable=True),
    column("pid", sa.Integer, "process that holds the claim", nullable=True),
    column("lease_until", instant, "end of the lease", nullable=True),
    sa.PrimaryKeyConstraint("workflow_id", "step"),
    one_of("phase", Phase, "phase_known"),
    sa.CheckConstraint(
        "(phase IN ('claimed', 'settling')) = (worker IS NOT NULL)", name="claimed_means_worker"
    ),
    sa.CheckConstraint("(phase = 'claimed') = (lease_until IS NOT NULL)", name="claimed_means_lease"),
    one_of("gate", Gate, "gate_known"),
    sa.CheckConstraint("gate <> 'held' OR phase = 'waiting'", name="held_means_waiting"),
    sa.Index(
        "run_queue_ready",
        "queue",
        "namespace",
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

pauses = sa.Table(
    "pauses",
    metadata,
    column("queue", sa.Text, "Celery queue nothing is claimed from", primary_key=True),
    column("since", instant, "when it was paused"),
    column("by", sa.Text, "who paused it"),
    column("reason", sa.Text, "a person's words", nullable=True),
    comment="Paused queues: what is in them waits and is not lost.",
)

queue_service = sa.Table(
    "queue_service",
    metadata,
    column("queue", sa.Text, "Celery queue", primary_key=True),
    column("served_at", instant, "when a worker of it was last noted; null: never", nullable=True),
    column("unserved", TSTZMULTIRANGE, "when it had none, the newest hundred spans", server_default="{}"),
    column("resumed_at", instant, "when a person last let it go on; null: never", nullable=True),
    comment="When queues had workers, kept by the ring sweep: what waits while there is none grows no older.",
)

template_pauses = sa.Table(
    "template_pauses",
    metadata,
    column("namespace", sa.Text, "of the template"),
    column("name", sa.Text, "of the template, all its versions"),
    column("since", instant, "when it was paused"),
    column("by", sa.Text, "who paused it"),
    column("reason", sa.Text, "a person's words", nullable=True),
    sa.PrimaryKeyConstraint("namespace", "name"),
    comment="Paused templates: their workflows are accepted and wait.",
)

workers = sa.Table(
    "workers",
    metadata,
    column("id", sa.Uuid, "incarnation: new at each start", primary_key=True),
    column("hostname", sa.Text, "Celery node name"),
    column("pid", sa.Integer, "of the main process"),
    column("queues", ARRAY(sa.Text), "queues it consumes"),
    column("pool", sa.Text, "Celery pool"),
    column("concurrency", sa.Integer, "size of the pool"),
    column("version", sa.Text, "of Remand"),
    column(
        "code_version", sa.Text, "of the users' handlers, as they named it; null: not named", nullable=True
    ),
    column("lock_key", sa.BigInteger, "advisory lock its main process holds while it lives"),
    column("started_at", instant, "registration"),
    column("heartbeat_at", instant, "last sign of life"),
    column("stopped_at", instant, "when it said goodbye or was found gone", nullable=True),
    sa.Index("workers_live", "heartbeat_at", postgresql_where=sa.text("stopped_at IS NULL")),
    sa.Index("workers_stopped", "stopped_at", postgresql_where=sa.text("stopped_at IS NOT NULL")),
    comment="Worker registry: one row per start of a worker.",
)
