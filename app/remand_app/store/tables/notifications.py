"""Notices to people outside, and their targets."""

from __future__ import annotations

import sqlalchemy as sa

from remand_app.domain.notifications import DeliveryState, NotificationKind
from remand_app.store.tables.columns import column, instant, json, metadata, one_of

notifications = sa.Table(
    "notifications",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("target", sa.Text, "name of a target in the settings"),
    column("kind", sa.Text, "what it is about, a kind of notice"),
    column("subject_id", sa.Text, "id or name of what it is about"),
    column("occurrence", sa.Text, "tells one time from the next", server_default=sa.text("''")),
    column("payload", json, "title, facts and link, redacted"),
    column("created_at", instant, "when it was enqueued"),
    column("message_id", sa.Uuid, "the message it went into; null: in none yet", nullable=True),
    column("state", sa.Text, "pending, sent or given_up", server_default=sa.text("'pending'")),
    column("due_at", instant, "pending: when it is next sent; a claim moves it on as its lease"),
    column("attempts", sa.Integer, "times its message was sent or tried", server_default=sa.text("0")),
    column("last_error", sa.Text, "why the last try failed, redacted", nullable=True),
    column("sent_at", instant, "when the target took it", nullable=True),
    one_of("kind", NotificationKind, "kind_known"),
    one_of("state", DeliveryState, "state_known"),
    sa.CheckConstraint("(sent_at IS NOT NULL) = (state = 'sent')", name="sent_when"),
    sa.CheckConstraint("state <> 'sent' OR message_id IS NOT NULL", name="sent_in_a_message"),
    sa.UniqueConstraint("target", "kind", "subject_id", "occurrence", name="notifications_once"),
    sa.Index("notifications_due", "target", "due_at", "id", postgresql_where=sa.text("state = 'pending'")),
    sa.Index("notifications_of_message", "message_id", postgresql_where=sa.text("message_id IS NOT NULL")),
    sa.Index("notifications_by_age", "created_at"),
    sa.Index("notifications_by_state", "state", "id"),
    comment="An outbox: one row for each notice and target, written in the transaction of the fact.",
)

notification_targets = sa.Table(
    "notification_targets",
    metadata,
    column("name", sa.Text, "name of a target in the settings", primary_key=True),
    column("next_at", instant, "not before then is anything sent to it"),
    column("failures", sa.Integer, "tries that failed in a row", server_default=sa.text("0")),
    column("sent_at", instant, "when it last took a message; null: never", nullable=True),
    comment="How the targets of notices fare; who sends to one holds its row.",
)
