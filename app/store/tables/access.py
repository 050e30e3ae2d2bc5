"""Who may do what, and who did what."""

from __future__ import annotations

import sqlalchemy as sa

from app.store.tables.columns import column, instant, json, metadata

audit_log = sa.Table(
    "audit_log",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("at", instant, "when it was decided"),
    column("by", sa.Text, "who decided"),
    column("via", sa.Text, "cli, api, dashboard, celery or sweep"),
    column("verb", sa.Text, "what was decided, noun.verb"),
    column("kind", sa.Text, "kind of the thing it was about"),
    column("subject", sa.Text, "its id or name"),
    column("workflow_id", sa.Uuid, "its workflow; null: none", nullable=True),
    column("reason", sa.Text, "a person's words", nullable=True),
    column("before", json, "what changed, as it was", nullable=True),
    column("after", json, "what changed, as it is", nullable=True),
    sa.Index("audit_log_by_subject", "kind", "subject", sa.text("id DESC")),
    sa.Index(
        "audit_log_by_workflow",
        "workflow_id",
        sa.text("id DESC"),
        postgresql_where=sa.text("workflow_id IS NOT NULL"),
    ),
    sa.Index("audit_log_by_person", "by", sa.text("id DESC")),
    comment="Every change that somebody decided, with before and after; append-only.",
)
