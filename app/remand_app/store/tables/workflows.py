"""Workflows, steps, attempts, history: partitioned by ranges of the workflow's UUIDv7, on shared boundaries.

There are no foreign keys between them: one transaction writes all rows of a workflow. The usual moves of a
step or workflow are not written to `history` but kept in its columns of instants: see the view `moves`.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from remand_app.domain.states import Outcome, StepState, WorkflowState
from remand_app.store.tables.columns import column, history_seq, instant, json, metadata, one_of

PARTITIONED = ("workflows", "steps", "attempts", "history")
_FINAL_WORKFLOW = "('complete', 'error', 'cancelled', 'resolved_manually')"
_IN_MOTION = "('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')"
_OWN_ACCORD = "('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures')"
"""States that a workflow does not leave by itself."""
_FINAL_STEP = "('complete', 'error', 'cancelled', 'resolved_manually')"

workflows = sa.Table(
    "workflows",
    metadata,
    column("id", sa.Uuid, "UUIDv7, partition key"),
    column("template_id", sa.Integer, "templates.id"),
    column("created_at", instant, "when it was submitted"),
    column("input", json, "the input, as validated against the template's schema"),
    column("submitted_by", sa.Text, "who or what submitted it"),
    column("identity_key", sa.Text, "SHA-256 of its identity, hex; null: always unique", nullable=True),
    column("priority", sa.SmallInteger, "0-9, higher first"),
    column("state", sa.Text, "see the state machine"),
    column("state_since", instant, "instant of the last move"),
    column("open_steps", sa.Integer, "steps that are neither complete nor resolved nor cancelled"),
    column("error_steps", sa.Integer, "steps in error", server_default=sa.text("0")),
    column(
        "troubled",
        sa.Boolean,
        "true once a step failed: settle then rolls the workflow up",
        server_default=sa.text("false"),
    ),
    column(
        "gives_up",
        sa.Boolean,
        "true: its failure got no dead letter: it ends in error once nothing else is under way",
        server_default=sa.text("false"),
    ),
    column(
        "conditional",
        sa.Boolean,
        "true: some steps follow a failure of their parents, or any end",
        server_default=sa.text("false"),
    ),
    column("hold", sa.Text, "not null: why no further step is enqueued", nullable=True),
    column("tags", ARRAY(sa.Text), "words of the submitter, to find it by; null: none", nullable=True),
    column(
        "expires_at", instant, "when it becomes a dead letter if it has not ended; null: never", nullable=True
    ),
    column("paused_at", instant, "since when a person holds it; null: nobody does", nullable=True),
    column("paused_by", sa.Text, "who holds it", nullable=True),
    column("pause_reason", sa.Text, "a person's words", nullable=True),
    column(
        "paused_with_template",
        sa.Boolean,
        "true: held because its template is; goes on with it",
        server_default=sa.text("false"),
    ),
    column("stale_warned_at", instant, "when people were warned that it may be stale soon", nullable=True),
    column("restored_at", instant, "when it came back from the archive; null: it did not", nullable=True),
    sa.PrimaryKeyConstraint("id"),
    one_of("state", WorkflowState, "state_known"),
    sa.CheckConstraint("priority BETWEEN 0 AND 9", name="priority_range"),
    sa.CheckConstraint("open_steps >= 0 AND error_steps >= 0", name="counters_not_negative"),
    sa.CheckConstraint("state <> 'complete' OR open_steps = 0", name="complete_means_all_done"),
    sa.Index(
        "workflows_open", "state", "state_since", postgresql_where=sa.text(f"state NOT IN {_FINAL_WORKFLOW}")
    ),
    sa.Index("workflows_tags", "tags", postgresql_using="gin", postgresql_where=sa.text("tags IS NOT NULL")),
    sa.Index(
        "workflows_expiring",
        "expires_at",
        postgresql_where=sa.text(f"state IN {_IN_MOTION}"),
    ),
    sa.Index(
        "workflows_by_age",
        "template_id",
        "created_at",
        postgresql_where=sa.text(f"state NOT IN {_OWN_ACCORD} AND paused_at IS NULL"),
    ),
    sa.Index("workflows_paused", "id", postgresql_where=sa.text("paused_at IS NOT NULL")),
    sa.Index("workflows_held", "id", postgresql_where=sa.text(f"hold IS NOT NULL AND state IN {_IN_MOTION}")),
    comment="One row per workflow.",
    postgresql_partition_by="RANGE (id)",
)

steps = sa.Table(
    "steps",
    metadata,
    column("workflow_id", sa.Uuid, "workflows.id, partition key"),
    column("name", sa.Text, "step name"),
    column("position", sa.Integer, "order in the template, from 0"),
    column("handler", sa.Text, "registered name of the handler"),
    column("dependency", sa.Text, "whose breaker it minds; null: its handler", nullable=True),
    column("queue", sa.Text, "Celery queue whose workers run it"),
    column("priority", sa.SmallInteger, "0-9, higher first"),
    column("timeout_seconds", sa.Float, "soft timeout, seconds; null: the setting", nullable=True),
    column("commit_each", sa.Boolean, "true: its result is committed alone and at once"),
    column("depends_on", ARRAY(sa.Text), "names of the parents"),
    column("children", ARRAY(sa.Text), "names of the steps that depend on it"),
    column("state", sa.Text, "see the state machine"),
    column("open_parents", sa.Integer, "parents that do not yet satisfy it"),
    column("attempt", sa.Integer, "number of the current or last attempt; 0: never claimed"),
    column("failures", sa.Integer, "attempts that failed or timed out", server_default=sa.text("0")),
    column("lost_attempts", sa.Integer, "attempts whose process died", server_default=sa.text("0")),
    column("worker", sa.Uuid, "worker incarnation of the current or last attempt", nullable=True),
    column("enqueued_at", instant, "not null: the move to enqueued, not in history", nullable=True),
    column("started_at", instant, "not null: the move to in_progress, not in history", nullable=True),
    column("ended_at", instant, "when it reached a final state", nullable=True),
    column("input", json, "replaces the workflow's input for this step", nullable=True),
    column("checkpoint", json, "what the handler saved last", nullable=True),
    column("failing_since", instant, "first failure since it was last (re)started", nullable=True),
    column("failure", json, "the last failure with its classification", nullable=True),
    column("result", json, "what the handler returned", nullable=True),
    column(
        "after",
        sa.Text,
        "failure or always: what end of its parents it follows; null: success",
        nullable=True,
    ),
    sa.PrimaryKeyConstraint("workflow_id", "name"),
    one_of("state", StepState, "state_known"),
    sa.CheckConstraint(f"(ended_at IS NOT NULL) = (state IN {_FINAL_STEP})", name="ended_means_final"),
    sa.CheckConstraint("open_parents >= 0", name="open_parents_not_negative"),
    sa.Index(
        "steps_conditional",
        "workflow_id",
        postgresql_where=sa.text("after IS NOT NULL AND state = 'pending'"),
    ),
    comment="One row per step of a workflow.",
    postgresql_partition_by="RANGE (workflow_id)",
)

attempts = sa.Table(
    "attempts",
    metadata,
    column("workflow_id", sa.Uuid, "workflows.id, partition key"),
    column("step", sa.Text, "step name"),
    column("attempt", sa.Integer, "number of the attempt, from 1"),
    column("outcome", sa.Text, "how it ended"),
    column("worker", sa.Uuid, "worker incarnation that ran it", nullable=True),
    column("started_at", instant, "when it was claimed", nullable=True),
    column("ended_at", instant, "when its end was recorded"),
    column("failure", json, "class, message, traceback and classification", nullable=True),
    column("policy", sa.Text, "the retry queue it was routed to", nullable=True),
    column("decision", sa.Text, "retry, dead or null while undecided", nullable=True),
    column("decided_at", instant, "when a worker of that queue decided", nullable=True),
    column("due_at", instant, "when the retry is due", nullable=True),
    column("explanation", sa.Text, "why it was decided so, for a person", nullable=True),
    sa.PrimaryKeyConstraint("workflow_id", "step", "attempt"),
    one_of("outcome", Outcome, "outcome_known"),
    sa.CheckConstraint("attempt >= 1", name="attempt_from_one"),
    sa.CheckConstraint("decision IN ('retry', 'dead')", name="decision_known"),
    comment="Attempts that did not go well; the good one is in its step's row. View all_attempts has both.",
    postgresql_partition_by="RANGE (workflow_id)",
)

history = sa.Table(
    "history",
    metadata,
    column("workflow_id", sa.Uuid, "workflows.id, partition key"),
    column("seq", sa.BigInteger, "order of the moves", server_default=history_seq.next_value()),
    column("kind", sa.Text, "workflow or step"),
    column("step", sa.Text, "step name; null: the workflow itself", nullable=True),
    column("from_state", sa.Text, "state before the move"),
    column("event", sa.Text, "why it moved"),
    column("to_state", sa.Text, "state after the move"),
    column("at", instant, "when it moved"),
    column("by", sa.Text, "who or what moved it"),
    column("reason", sa.Text, "a person's words", nullable=True),
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

identities = sa.Table(
    "identities",
    metadata,
    column("namespace", sa.Text, "of the template"),
    column("name", sa.Text, "of the template"),
    column("key", sa.Text, "SHA-256 of the identity, hex"),
    column("workflow_id", sa.Uuid, "the first workflow with this identity"),
    column("created_at", instant, "when it was taken"),
    sa.PrimaryKeyConstraint("namespace", "name", "key"),
    comment="Which identities are taken; unpartitioned so that uniqueness holds over all time.",
)
