"""Requests that are remembered, so that a repeated one takes effect once."""

from __future__ import annotations

import sqlalchemy as sa

from remand_app.store.tables.columns import column, instant, json, metadata

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    column("caller", sa.Text, "who sent it: keys of different callers do not meet"),
    column("key", sa.Text, "as sent"),
    column("fingerprint", sa.Text, "SHA-256 of method, path and body, hex"),
    column("seed", sa.Uuid, "id of what the request makes: one that was cut off makes the same again"),
    column("at", instant, "when it came first; a day later it is forgotten"),
    column("busy_until", instant, "until when whoever acts on it is trusted to"),
    column("status", sa.SmallInteger, "HTTP status of the answer; null: there is none yet", nullable=True),
    column("answer", json, "its body", nullable=True),
    sa.PrimaryKeyConstraint("caller", "key"),
    sa.Index("idempotency_keys_by_age", "at"),
    comment="Requests that carried an Idempotency-Key, with their answers.",
)
