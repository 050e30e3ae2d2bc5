"""Published templates, and every legal move."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from remand_app.store.tables.columns import column, instant, json, metadata, one_of

transition_rule = sa.Table(
    "transition_rule",
    metadata,
    column("kind", sa.Text, "workflow, step or breaker"),
    column("from_state", sa.Text, "state before the move"),
    column("event", sa.Text, "why it moves"),
    column("to_state", sa.Text, "state after the move"),
    sa.PrimaryKeyConstraint("kind", "from_state", "event", "to_state"),
    comment="Every legal move; seeded from the domain's tables. history points here.",
)

templates = sa.Table(
    "templates",
    metadata,
    column("id", sa.Integer, "key", primary_key=True, autoincrement=True),
    column("namespace", sa.Text, "owner of the name"),
    column("name", sa.Text, "name within the namespace"),
    column("version", sa.Text, "a published version never changes"),
    column("definition", json, "the template as published, canonical"),
    column("hash", sa.Text, "SHA-256 of the canonical definition, hex"),
    column("on_failure", sa.Text, "finish_branches or fail_fast"),
    column("expire_after_seconds", sa.Float, "age at which its workflows expire; null: never", nullable=True),
    column(
        "lifecycle",
        json,
        "how long its workflows may show no sign of life; what is left out: the setting",
        server_default=sa.text("'{}'"),
    ),
    column("created_at", instant, "when it was published"),
    sa.UniqueConstraint("namespace", "name", "version"),
    one_of("on_failure", ("finish_branches", "fail_fast"), "on_failure_known"),
    comment="Published workflow templates.",
)

template_steps = sa.Table(
    "template_steps",
    metadata,
    column("template_id", sa.Integer, "the template"),
    column("name", sa.Text, "step name, unique in its template"),
    column("position", sa.Integer, "order in the file, from 0"),
    column("handler", sa.Text, "registered name of the handler"),
    column("dependency", sa.Text, "whose breaker it minds; its handler unless declared"),
    column("queue", sa.Text, "Celery queue whose workers run it"),
    column("priority", sa.SmallInteger, "0-9, higher first; null: the workflow's", nullable=True),
    column("timeout_seconds", sa.Float, "soft timeout, seconds; null: the setting", nullable=True),
    column("commit_each", sa.Boolean, "true: its result is committed alone and at once"),
    column("input", json, "replaces the workflow's input for this step; null: it does not", nullable=True),
    column("depends_on", ARRAY(sa.Text), "names of the parents"),
    column("children", ARRAY(sa.Text), "names of the steps that depend on it"),
    column(
        "after",
        sa.Text,
        "failure or always: what end of its parents it follows; null: success",
        nullable=True,
    ),
    sa.PrimaryKeyConstraint("template_id", "name"),
    sa.ForeignKeyConstraint(["template_id"], ["remand.templates.id"]),
    comment="The steps of a template, one row each, as submit copies them.",
)
