"""Workflows, steps, attempts, history, run queue, workers, dead letters, and the functions that move them.

The partitions of the current month and of the two after it are made at once; a default partition catches
whatever falls outside, so that nothing is refused for want of a partition.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SQL = Path(__file__).parent.parent / "sql" / revision
_FUNCTIONS = (
    "uuid7_floor",
    "lifetime",
    "draft_period",
    "attach_period",
    "move_steps",
    "move_workflows",
    "roll_up",
    "pause_workflows",
    "resume_workflows",
    "withdraw_paused",
    "restart_steps",
    "submit",
    "gates",
    "take_out",
    "lanes",
    "take_lane",
    "claim",
    "park",
    "settle",
    "settle_parked",
    "fail_attempts",
    "give_back",
    "interrupt",
    "take_failures",
    "wake",
    "gating",
    "hold_back",
    "let_through",
    "move_breaker",
    "lock_budgets",
    "schedule_retries",
    "wake_due",
    "fail_steps",
    "evaluate",
    "cancel",
    "live_workers",
    "moves",
    "all_attempts",
    "snapshots",
    "archived_moves",
    "archived_attempts",
    "archive_verdict",
    "archive_sums",
    "move_rows",
    "archive_batch",
    "archive_period",
    "restore_workflows",
    "restore_period",
    "v_archive_statistics",
    "count_letters",
    "fold_letters",
    "new_uuid7",
    "requeue_letters",
    "follow_redrive",
    "v_dlq_dashboard",
    "v_dlq_investigation_queue",
    "queue_life",
    "lifecycles",
    "vital_signs",
    "judge_life",
    "staleness",
    "stale_candidates",
    "stale_shown",
    "monitored_staleness",
    "v_staleness_monitoring",
)
_PARTITIONED = ("workflows", "steps", "attempts", "history")
_SHOWN_TO_READERS = (
    "schema_version", "run_queue", "pauses", "breakers", "breaker_moves", "traffic", "workers",
    "template_steps",
)  # fmt: skip
_ARCHIVE = tuple(f"{table}_archive" for table in _PARTITIONED)
_LARGE_VALUES = (
    ("workflows", "input"), ("steps", "input"), ("steps", "checkpoint"), ("steps", "failure"),
    ("steps", "result"), ("attempts", "failure"),
)  # fmt: skip
_TABLES = (
    "archive_runs",
    *_ARCHIVE,
    "notification_targets",
    "notifications",
    "idempotency_keys",
    "sessions",
    "users",
    "login_codes",
    "login_attempts",
    "api_tokens",
    "audit_log",
    "redrive_items",
    "redrives",
    "dead_letter_hours",
    "dead_letter_counts",
    "dead_letter_deltas",
    "dead_letter_notes",
    "dead_letters",
    "dead_letter_groups",
    "queue_settings",
    "dead_queues",
    "staleness_settings",
    "sweep_figures",
    "sweep_runs",
    "workers",
    "identities",
    "unclassified",
    "retry_budgets",
    "traffic",
    "template_pauses",
    "pauses",
    "breaker_moves",
    "breakers",
    "run_queue",
    *_PARTITIONED,
    "template_steps",
    "templates",
    "transition_rule",
)


def _run(name: str) -> None:
    op.get_bind().exec_driver_sql((_SQL / f"{name}.sql").read_text().replace("%", "%%"))


def upgrade() -> None:
    _run("tables")
    _run("transition_rule")
    _compress()
    for table in (*_PARTITIONED, *_ARCHIVE):
        op.execute(f"create table remand.{table}_default partition of remand.{table} default")
    for name in _FUNCTIONS:
        _run(name)
    _make_first_periods()
    _run("triggers")
    _grant_to_reader()


def _make_first_periods() -> None:
    """Make the month of now and the two after it; the sweep makes what follows, as it is set."""
    op.execute(
        """
        do $$
        declare
          v_month timestamp := date_trunc('month', now() at time zone 'UTC'); v_name text;
        begin
          for i in 0..2 loop
            v_name := to_char(v_month, 'YYYY_MM');
            perform remand.attach_period(
              v_name, v_month at time zone 'UTC', (v_month + interval '1 month') at time zone 'UTC',
              array(select remand.draft_period(v_name)));
            v_month := v_month + interval '1 month';
          end loop;
        end $$
        """
    )


def _compress() -> None:
    """Let large values be compressed by lz4, where the server can: faster than its own way, and as small."""
    changes = "".join(
        f"alter table remand.{table}{twin} alter column {name} set compression lz4;"
        for table, name in _LARGE_VALUES
        for twin in ("", "_archive")
    )
    op.execute(f"do $$ begin {changes} exception when feature_not_supported then null; end $$")


def _grant_to_reader() -> None:
    """Let the role of those who watch, where there is one, read queues and views, never inputs."""
    tables = ", ".join(f"remand.{table}" for table in _SHOWN_TO_READERS)
    op.execute(
        f"""
        do $$
        declare v_view text;
        begin
          if exists (select from pg_roles where rolname = 'remand_reader') then
            grant usage on schema remand to remand_reader;
            grant select on {tables} to remand_reader;
            for v_view in
              select viewname from pg_views where schemaname = 'remand' and starts_with(viewname, 'v_')
            loop
              execute format('grant select on remand.%I to remand_reader', v_view);
            end loop;
          end if;
        end $$
        """  # noqa: S608 - names of ours
    )


def downgrade() -> None:
    op.execute(
        """
        do $$
        declare v_view text;
        begin
          for v_view in select viewname from pg_views where schemaname = 'remand' loop
            execute format('drop view remand.%I', v_view);
          end loop;
        end $$
        """
    )
    op.execute(
        """
        do $$
        declare v_function regprocedure;
        begin
          for v_function in select p.oid from pg_proc p where p.pronamespace = 'remand'::regnamespace loop
            execute 'drop function ' || v_function || ' cascade';
          end loop;
        end $$
        """
    )
    for table in _TABLES:
        op.execute(f"drop table remand.{table}")
    op.execute("drop sequence remand.history_seq")
