"""Circuit breakers, retry budgets, and the counts that both are judged by."""

from __future__ import annotations

import sqlalchemy as sa

from remand_app.domain.states import BreakerState
from remand_app.store.tables.columns import column, history_seq, instant, metadata, one_of

breakers = sa.Table(
    "breakers",
    metadata,
    column("name", sa.Text, "the dependency", primary_key=True),
    column("state", sa.Text, "closed, open or half_open"),
    column("state_since", instant, "instant of the last move"),
    column("openings", sa.Integer, "times it opened without closing in between: the cool-down grows"),
    column("probe_at", instant, "open: when probes go through; null: not by itself", nullable=True),
    column("probes_succeeded", sa.Integer, "half-open: probes that went well"),
    column("releasing_since", instant, "closed, but what it held goes out at a rate", nullable=True),
    column("release_all", sa.Boolean, "true: what it held goes out at once"),
    column("released_at", instant, "when it last let something through", nullable=True),
    column("by", sa.Text, "who or what moved it last"),
    column("reason", sa.Text, "why, for a person", nullable=True),
    one_of("state", BreakerState, "state_known"),
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
    column("name", sa.Text, "breakers.name"),
    column("seq", sa.BigInteger, "order of the moves", server_default=history_seq.next_value()),
    column("kind", sa.Text, "always breaker", server_default=sa.text("'breaker'")),
    column("from_state", sa.Text, "state before the move"),
    column("event", sa.Text, "why it moved"),
    column("to_state", sa.Text, "state after the move"),
    column("at", instant, "when it moved"),
    column("by", sa.Text, "who or what moved it"),
    column("reason", sa.Text, "the figures, or a person's words", nullable=True),
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
    sa.Index("breaker_moves_by_age", "at"),
    comment="Every move of every breaker.",
)

traffic = sa.Table(
    "traffic",
    metadata,
    column("namespace", sa.Text, "of the template"),
    column("handler", sa.Text, "registered name of the handler"),
    column("dependency", sa.Text, "whose breaker its steps mind"),
    column("bucket", instant, "the second counted"),
    column("attempts", sa.Integer, "attempts that ended", server_default=sa.text("0")),
    column("failures", sa.Integer, "failures that the breaker counts", server_default=sa.text("0")),
    column("retries", sa.Integer, "retries that were decided", server_default=sa.text("0")),
    sa.PrimaryKeyConstraint("dependency", "handler", "namespace", "bucket"),
    sa.Index("traffic_by_age", "bucket"),
    sa.Index("traffic_by_handler", "namespace", "handler", "bucket"),
    comment="What breakers and retry budgets are judged by; the last minutes only, never a record.",
)

retry_budgets = sa.Table(
    "retry_budgets",
    metadata,
    column("namespace", sa.Text, "of the template"),
    column("handler", sa.Text, "registered name of the handler"),
    column("next_at", instant, "the next free turn of a retry beyond the budget"),
    sa.PrimaryKeyConstraint("namespace", "handler"),
    comment="How far retries beyond the budget are spread already.",
)

unclassified = sa.Table(
    "unclassified",
    metadata,
    column("fingerprint", sa.Text, "what the failures have in common", primary_key=True),
    column("error_class", sa.Text, "qualified class"),
    column("message", sa.Text, "of the last one, redacted"),
    column("count", sa.BigInteger, "failures so far"),
    column("first_at", instant, "first seen"),
    column("last_at", instant, "last seen"),
    column("workflow_id", sa.Uuid, "of the last one"),
    column("step", sa.Text, "of the last one"),
    column("attempt", sa.Integer, "of the last one"),
    column("handler", sa.Text, "of the last one"),
    sa.Index("unclassified_newest", sa.text("last_at DESC")),
    comment="Failures that no rule knows, by fingerprint: what a rule could be written from.",
)
