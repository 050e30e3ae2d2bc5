"""Dead letters, the groups of one cause they fall into, the queues they lie in, and their counts."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from remand_app.domain.states import CATEGORIES, DeadLetterStatus, DeadReason, GroupState
from remand_app.store.tables.columns import column, instant, json, metadata, one_of

_OPEN = sa.text("status IN ('pending', 'investigating')")

dead_queues = sa.Table(
    "dead_queues",
    metadata,
    column("name", sa.Text, "name of the dead queue", primary_key=True),
    column("description", sa.Text, "whose it is and what for"),
    column("size_limit", sa.Integer, "open letters it is meant to hold; null: the setting", nullable=True),
    column("created_at", instant, "when it was made"),
    column("created_by", sa.Text, "who made it"),
    comment="Where dead letters lie. 'default' is always there; a dead queue has no dead queue of its own.",
)

queue_settings = sa.Table(
    "queue_settings",
    metadata,
    column("queue", sa.Text, "Celery queue of steps", primary_key=True),
    column("dead_queue", sa.Text, "where letters of its steps go unless their template says", nullable=True),
    column("expire_after_seconds", sa.Float, "age at which its steps' workflows expire", nullable=True),
    column("at", instant, "when it was set"),
    column("by", sa.Text, "who set it"),
    sa.ForeignKeyConstraint(["dead_queue"], ["remand.dead_queues.name"]),
    sa.CheckConstraint("dead_queue <> queue", name="not_itself"),
    sa.CheckConstraint("expire_after_seconds > 0", name="expiry_is_positive"),
    comment="What is set for a plain queue.",
)

dead_letter_groups = sa.Table(
    "dead_letter_groups",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("fingerprint", sa.Text, "cause, step and template version"),
    column("cause", sa.Text, "the same for every version of the template"),
    column("namespace", sa.Text, "of the template"),
    column("template", sa.Text, "name of the template"),
    column("version", sa.Text, "version of the template"),
    column("step", sa.Text, "step whose failures these are"),
    column("handler", sa.Text, "its handler"),
    column("error_class", sa.Text, "qualified class"),
    column("message", sa.Text, "the stable part of the message, redacted"),
    column("category", sa.Text, "classification of the first failure"),
    column("state", sa.Text, "open, investigating or resolved"),
    column("state_since", instant, "instant of the last move"),
    column("owner", sa.Text, "who looks at it", nullable=True),
    column("due_at", instant, "until when it should be dealt with", nullable=True),
    column("first_at", instant, "first letter"),
    column("last_at", instant, "last letter, as last counted"),
    column("letters", sa.Integer, "letters ever, as last counted", server_default=sa.text("0")),
    column("open_letters", sa.Integer, "of them open, as last counted", server_default=sa.text("0")),
    column("resolved_at", instant, "when it was resolved last", nullable=True),
    column("resolved_by", sa.Text, "by whom", nullable=True),
    column("resolution", sa.Text, "how, in a person's words", nullable=True),
    column("reopenings", sa.Integer, "times its cause came back", server_default=sa.text("0")),
    sa.UniqueConstraint("fingerprint"),
    one_of("state", GroupState, "state_known"),
    sa.CheckConstraint("state <> 'investigating' OR owner IS NOT NULL", name="investigated_by_whom"),
    sa.CheckConstraint("state <> 'resolved' OR resolved_at IS NOT NULL", name="resolved_when"),
    sa.Index("dead_letter_groups_by_state", "state", sa.text("last_at DESC"), sa.text("id DESC")),
    sa.Index("dead_letter_groups_by_cause", "cause"),
    # The inbox, in both of its orders; what is resolved costs these nothing.
    sa.Index(
        "dead_letter_groups_recent",
        sa.text("last_at DESC"),
        sa.text("id DESC"),
        postgresql_where=sa.text("state IN ('open', 'investigating')"),
    ),
    sa.Index(
        "dead_letter_groups_largest",
        sa.text("open_letters DESC"),
        sa.text("id DESC"),
        postgresql_where=sa.text("state IN ('open', 'investigating')"),
    ),
    sa.Index(
        "dead_letter_groups_quiet",
        sa.text("greatest(last_at, state_since)"),
        postgresql_where=sa.text("state IN ('open', 'resolved')"),
    ),
    comment="Letters with one cause: who looks at it, until when, how it was resolved, whether it came back.",
)

dead_letters = sa.Table(
    "dead_letters",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("workflow_id", sa.Uuid, "the workflow; no foreign key: the letter outlives its archive"),
    column("source", sa.Text, "what kind of thing died"),
    column("source_id", sa.Text, "its identity: moving the same thing twice is a no-op"),
    column("namespace", sa.Text, "of the template"),
    column("template", sa.Text, "name of the template"),
    column("version", sa.Text, "version of the template"),
    column("step", sa.Text, "step whose failure opened it"),
    column("handler", sa.Text, "its handler"),
    column("queue", sa.Text, "its queue"),
    column("dead_queue", sa.Text, "where the letter lies"),
    column("group_id", sa.Uuid, "letters with the same cause"),
    column("attempts", sa.Integer, "attempts made"),
    column("reason", sa.Text, "why it was opened"),
    column("category", sa.Text, "classification of the last failure"),
    column("policy", sa.Text, "retry policy the last failure was routed by"),
    column("rule", sa.Text, "rule that classified it"),
    column("error_class", sa.Text, "qualified class of the last failure"),
    column("error_message", sa.Text, "its message, redacted"),
    column("worker", sa.Text, "node name of the worker that saw it last"),
    column("status", sa.Text, "how the investigation stands"),
    column("opened_at", instant, "when the failure became terminal"),
    column(
        "triage_at", instant, "opened_at less the weight of its reason: the triage queue is in this order"
    ),
    column("claimed_by", sa.Text, "who looks at it", nullable=True),
    column("claimed_at", instant, "since when", nullable=True),
    column("closed_by", sa.Text, "who closed it", nullable=True),
    column("closed_at", instant, "when", nullable=True),
    column("resolution", sa.Text, "how it was resolved, in a person's words", nullable=True),
    column("labels", ARRAY(sa.Text), "words of people, each once", server_default=sa.text("'{}'")),
    column("links", ARRAY(sa.Text), "addresses of tickets, deploys, pages", server_default=sa.text("'{}'")),
    column("follows", sa.Uuid, "the letter before it of the same step", nullable=True),
    column("requeues", sa.Integer, "automatic requeues of this step so far", server_default=sa.text("0")),
    column("requeue_at", instant, "when it goes back by itself; null: it does not", nullable=True),
    column("snapshot", json, "workflow, steps, attempts, last moves at that moment; redacted, size capped"),
    column("metadata", json, "merged, never replaced", server_default=sa.text("'{}'::jsonb")),
    sa.UniqueConstraint("source", "source_id"),
    sa.ForeignKeyConstraint(["group_id"], ["remand.dead_letter_groups.id"]),
    sa.ForeignKeyConstraint(["dead_queue"], ["remand.dead_queues.name"]),
    one_of("status", DeadLetterStatus, "status_known"),
    one_of("reason", DeadReason, "reason_known"),
    one_of("category", CATEGORIES, "category_known"),
    sa.CheckConstraint(
        "(closed_at IS NOT NULL) = (status NOT IN ('pending', 'investigating'))",
        name="closed_means_closed_at",
    ),
    sa.CheckConstraint("(closed_at IS NULL) = (closed_by IS NULL)", name="closed_by_whom"),
    sa.CheckConstraint("status <> 'investigating' OR claimed_by IS NOT NULL", name="claimed_by_whom"),
    sa.CheckConstraint("requeue_at IS NULL OR closed_at IS NULL", name="requeued_means_open"),
    sa.Index("dead_letters_one_open", "workflow_id", unique=True, postgresql_where=_OPEN),
    sa.Index("dead_letters_by_workflow", "workflow_id"),
    sa.Index("dead_letters_by_status", "status", sa.text("id DESC")),
    sa.Index("dead_letters_by_group", "group_id", sa.text("id DESC")),
    # Lists of what is open, by what people filter for; finished letters cost these nothing.
    sa.Index("dead_letters_open", sa.text("id DESC"), postgresql_where=_OPEN),
    sa.Index("dead_letters_triage", "triage_at", "id", postgresql_where=_OPEN),
    sa.Index("dead_letters_open_by_group", "group_id", sa.text("id DESC"), postgresql_where=_OPEN),
    sa.Index(
        "dead_letters_open_by_template", "template", "namespace", sa.text("id DESC"), postgresql_where=_OPEN
    ),
    sa.Index("dead_letters_open_by_reason", "reason", sa.text("id DESC"), postgresql_where=_OPEN),
    sa.Index("dead_letters_open_by_class", "error_class", sa.text("id DESC"), postgresql_where=_OPEN),
    sa.Index("dead_letters_open_by_dead_queue", "dead_queue", sa.text("id DESC"), postgresql_where=_OPEN),
    sa.Index(
        "dead_letters_claimed",
        "claimed_by",
        sa.text("id DESC"),
        postgresql_where=sa.text("status = 'investigating'"),
    ),
    # What is pruned, oldest first.
    sa.Index("dead_letters_closed", "closed_at", postgresql_where=sa.text("closed_at IS NOT NULL")),
    sa.Index("dead_letters_to_requeue", "requeue_at", postgresql_where=sa.text("requeue_at IS NOT NULL")),
    comment="One investigation per row: what happened, in which state, who looks at it, how it was resolved.",
)

dead_letter_notes = sa.Table(
    "dead_letter_notes",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("dead_letter_id", sa.Uuid, "dead_letters.id; null: a note of a group", nullable=True),
    column("group_id", sa.Uuid, "dead_letter_groups.id; null: a note of a letter", nullable=True),
    column("at", instant, "when it was written"),
    column("author", sa.Text, "who wrote it; 'remand' for the product itself"),
    column("text", sa.Text, "the note"),
    sa.ForeignKeyConstraint(["dead_letter_id"], ["remand.dead_letters.id"], ondelete="CASCADE"),
    sa.ForeignKeyConstraint(["group_id"], ["remand.dead_letter_groups.id"], ondelete="CASCADE"),
    sa.CheckConstraint("(dead_letter_id IS NULL) <> (group_id IS NULL)", name="of_one_thing"),
    sa.Index("dead_letter_notes_by_letter", "dead_letter_id", "id"),
    sa.Index("dead_letter_notes_by_group", "group_id", "id"),
    comment="Append-only notes of an investigation, or of a group of them.",
)

dead_letter_deltas = sa.Table(
    "dead_letter_deltas",
    metadata,
    column("seq", sa.BigInteger, "key", primary_key=True, autoincrement=True),
    column("hour", instant, "when letters were opened, to the hour; null: they only changed", nullable=True),
    column("at", instant, "newest of these letters"),
    column("group_id", sa.Uuid, "their group"),
    column("namespace", sa.Text, "of the template"),
    column("template", sa.Text, "name of the template"),
    column("dead_queue", sa.Text, "where they lie"),
    column("reason", sa.Text, "why they were opened"),
    column("category", sa.Text, "of their failures"),
    column("policy", sa.Text, "of their failures"),
    column("status", sa.Text, "which they came into, or left"),
    column("amount", sa.Integer, "letters; negative: they left it"),
    column("closed_seconds", sa.Float, "sum of the seconds from opened to closed, of those just closed"),
    column("opened", sa.Integer, "letters just opened", server_default=sa.text("0")),
    column("closed", sa.Integer, "letters just closed", server_default=sa.text("0")),
    column("returned", sa.Integer, "of those opened: their step had one before", server_default=sa.text("0")),
    comment="Changes of letters not yet counted; only inserted and folded, so no writer waits for another.",
)

dead_letter_counts = sa.Table(
    "dead_letter_counts",
    metadata,
    column("namespace", sa.Text, "of the template"),
    column("template", sa.Text, "name of the template"),
    column("dead_queue", sa.Text, "where they lie"),
    column("reason", sa.Text, "why they were opened"),
    column("category", sa.Text, "of their failures"),
    column("policy", sa.Text, "of their failures"),
    column("status", sa.Text, "in which they are"),
    column("now", sa.BigInteger, "letters in it now"),
    column("ever", sa.BigInteger, "times a letter came into it"),
    column("closed_seconds", sa.Float, "sum of the seconds from opened to closed, of those closed into it"),
    column(
        "opened",
        sa.BigInteger,
        "letters opened in it, ever; moving them counts none",
        server_default=sa.text("0"),
    ),
    column(
        "closed",
        sa.BigInteger,
        "letters closed into it, ever; moving them counts none",
        server_default=sa.text("0"),
    ),
    column(
        "returned", sa.BigInteger, "of those opened: their step had one before", server_default=sa.text("0")
    ),
    sa.PrimaryKeyConstraint("namespace", "template", "dead_queue", "reason", "category", "policy", "status"),
    comment="Letters, counted.",
)

dead_letter_hours = sa.Table(
    "dead_letter_hours",
    metadata,
    column("group_id", sa.Uuid, "dead_letter_groups.id"),
    column("hour", instant, "start of the hour"),
    column("opened", sa.Integer, "letters opened in it"),
    sa.PrimaryKeyConstraint("group_id", "hour"),
    sa.Index("dead_letter_hours_by_hour", "hour"),
    comment="Letters opened by group and hour: the trend.",
)
