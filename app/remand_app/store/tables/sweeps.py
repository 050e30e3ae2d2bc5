"""The record of sweeps: one row each, so that a sweep that fails or never runs is noticed."""

from __future__ import annotations

import sqlalchemy as sa

from remand_app.store.tables.columns import column, instant, json, metadata

sweep_figures = sa.Table(
    "sweep_figures",
    metadata,
    column("sweep", sa.Text, "its name, as beat rings it", primary_key=True),
    column("figure", sa.Text, "what was counted: a figure of what the sweep returns", primary_key=True),
    column("amount", sa.BigInteger, "how much of it, since ever"),
    comment="What each sweep did, since ever: never pruned, so that counters never go back.",
)

staleness_settings = sa.Table(
    "staleness_settings",
    metadata,
    column("single", sa.Boolean, "true: there is one row", primary_key=True),
    column("settings", json, "`[staleness]`, and when a worker counts as gone"),
    sa.CheckConstraint("single", name="one_row"),
    comment="What the stale sweep goes by, so that the view staleness_monitoring goes by the same.",
)

sweep_runs = sa.Table(
    "sweep_runs",
    metadata,
    column("name", sa.Text, "of the sweep, as beat rings it", primary_key=True),
    column("last_started_at", instant, "begin of the last run that was noted"),
    column("last_success_at", instant, "end of the last run that went well; null: none did", nullable=True),
    column("last_duration_seconds", sa.Float, "of the last run that was noted"),
    column("last_moved", sa.Integer, "rows the last run that moved any has moved", server_default="0"),
    column("last_moved_at", instant, "when that was; null: none moved any", nullable=True),
    column("failures_in_a_row", sa.Integer, "runs that failed since one went well", server_default="0"),
    column("failing_since", instant, "when the first of them failed; null: none did", nullable=True),
    column("last_failed_at", instant, "when a run last failed; null: none did", nullable=True),
    column("last_error", sa.Text, "class of the last failure", nullable=True),
    column("last_error_message", sa.Text, "of the last failure, secrets masked", nullable=True),
    column("runs", sa.BigInteger, "runs that ended, since ever", server_default="0"),
    column("failures", sa.BigInteger, "of them those that failed", server_default="0"),
    column("moved", sa.BigInteger, "rows they moved, since ever", server_default="0"),
    column("worker", sa.Uuid, "incarnation that noted last"),
    comment="One row a sweep, written a few times a minute at most while nothing moves: no log of runs.",
    postgresql_with={"fillfactor": "50"},
)
