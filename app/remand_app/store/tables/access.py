"""Who may do what, and who did what."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from remand_app.domain.access import Role
from remand_app.store.tables.columns import column, instant, json, metadata, one_of

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
    sa.Index("audit_log_by_age", "at"),
    comment="Every change that somebody decided, with before and after; append-only.",
)

users = sa.Table(
    "users",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("name", sa.Text, "what they sign in with; lower case"),
    column("role", sa.Text, "viewer, operator or admin"),
    column("password_hash", sa.Text, "argon2id, with its salt and parameters"),
    column("password_at", instant, "when the password was last set"),
    column("created_at", instant, "when they were added"),
    column("created_by", sa.Text, "who added them"),
    column("disabled_at", instant, "since when they may not sign in; null: they may", nullable=True),
    one_of("role", Role, "users_role"),
    sa.UniqueConstraint("name", name="users_name"),
    comment="People who may sign in to the dashboard.",
)

sessions = sa.Table(
    "sessions",
    metadata,
    column("token_hash", sa.LargeBinary, "SHA-256 of what the cookie holds", primary_key=True),
    column("user_id", sa.Uuid, "whose it is; null: opened by a link", nullable=True),
    column("name", sa.Text, "who it is"),
    column("role", sa.Text, "what they may do; that of a user counts, where there is one"),
    column("created_at", instant, "when they signed in"),
    column("seen_at", instant, "when it was last used; written at most once a minute"),
    column("expires_at", instant, "when it ends, used or not"),
    column("address", sa.Text, "from where they signed in", nullable=True),
    one_of("role", Role, "sessions_role"),
    sa.ForeignKeyConstraint(["user_id"], ["remand.users.id"], name="sessions_user", ondelete="CASCADE"),
    sa.Index("sessions_by_user", "user_id"),
    sa.Index("sessions_by_end", "expires_at"),
    comment="Who is signed in to the dashboard.",
)

login_codes = sa.Table(
    "login_codes",
    metadata,
    column("code_hash", sa.LargeBinary, "SHA-256 of the code in the link", primary_key=True),
    column("name", sa.Text, "who is signed in by it"),
    column("role", sa.Text, "what they may do then"),
    column("expires_at", instant, "until when it can be used, once"),
    one_of("role", Role, "login_codes_role"),
    sa.Index("login_codes_by_end", "expires_at"),
    comment="Links that sign in once, as `remand up` prints; a used one is deleted.",
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    column("id", sa.Uuid, "UUIDv7", primary_key=True),
    column("name", sa.Text, "what decisions made with it are recorded by"),
    column("token_hash", sa.LargeBinary, "SHA-256 of the token"),
    column("hint", sa.Text, "its first characters, to tell it by"),
    column("role", sa.Text, "viewer, operator or admin"),
    column(
        "scopes",
        ARRAY(sa.Text),
        "what is left of the role, area:read or area:write; null: all",
        nullable=True,
    ),
    column("created_at", instant, "when it was made"),
    column("created_by", sa.Text, "who made it"),
    column("expires_at", instant, "when it ends; null: never", nullable=True),
    column("used_at", instant, "when it was last used; written at most once a minute", nullable=True),
    column("revoked_at", instant, "when it was revoked; null: it was not", nullable=True),
    one_of("role", Role, "api_tokens_role"),
    sa.UniqueConstraint("token_hash", name="api_tokens_hash"),
    sa.Index("api_tokens_by_end", sa.text("coalesce(revoked_at, expires_at)")),
    sa.Index("api_tokens_by_name", "name", unique=True, postgresql_where=sa.text("revoked_at IS NULL")),
    comment="What programs sign in with.",
)

login_attempts = sa.Table(
    "login_attempts",
    metadata,
    column("key", sa.Text, "account:NAME, address:ADDRESS, or device:HASH of a browser", primary_key=True),
    column("account", sa.Text, "of a browser: who signed in there before", nullable=True),
    column("failures", sa.Integer, "wrong passwords in a row", server_default="0"),
    column("blocked_until", instant, "until when no try counts; null: none is held up", nullable=True),
    column("at", instant, "when it was last tried"),
    sa.Index("login_attempts_by_age", "at"),
    comment="How often signing in failed lately, by account, by address and by browser.",
)
