"""The tables of schema `remand` as SQLAlchemy models them; the migrations are tested against these files.

One file for each area. To add a table, put it into the file of its area and run `make schema`.
"""

from remand_app.store.tables.access import api_tokens, audit_log, login_attempts, login_codes, sessions, users
from remand_app.store.tables.archive import (
    archive_runs,
    attempts_archive,
    history_archive,
    steps_archive,
    workflows_archive,
)
from remand_app.store.tables.breakers import breaker_moves, breakers, retry_budgets, traffic, unclassified
from remand_app.store.tables.columns import SCHEMA, metadata
from remand_app.store.tables.dead_letters import (
    dead_letter_counts,
    dead_letter_deltas,
    dead_letter_groups,
    dead_letter_hours,
    dead_letter_notes,
    dead_letters,
    dead_queues,
    queue_settings,
)
from remand_app.store.tables.notifications import notification_targets, notifications
from remand_app.store.tables.queues import pauses, queue_service, run_queue, template_pauses, workers
from remand_app.store.tables.redrives import redrive_items, redrives
from remand_app.store.tables.requests import idempotency_keys
from remand_app.store.tables.sweeps import staleness_settings, sweep_figures, sweep_runs
from remand_app.store.tables.templates import template_steps, templates, transition_rule
from remand_app.store.tables.workflows import PARTITIONED, attempts, history, identities, steps, workflows

__all__ = [
    "PARTITIONED",
    "SCHEMA",
    "api_tokens",
    "archive_runs",
    "attempts",
    "attempts_archive",
    "audit_log",
    "breaker_moves",
    "breakers",
    "dead_letter_counts",
    "dead_letter_deltas",
    "dead_letter_groups",
    "dead_letter_hours",
    "dead_letter_notes",
    "dead_letters",
    "dead_queues",
    "history",
    "history_archive",
    "idempotency_keys",
    "identities",
    "login_attempts",
    "login_codes",
    "metadata",
    "notification_targets",
    "notifications",
    "pauses",
    "queue_service",
    "queue_settings",
    "redrive_items",
    "redrives",
    "retry_budgets",
    "run_queue",
    "sessions",
    "staleness_settings",
    "steps",
    "steps_archive",
    "sweep_figures",
    "sweep_runs",
    "template_pauses",
    "template_steps",
    "templates",
    "traffic",
    "transition_rule",
    "unclassified",
    "users",
    "workers",
    "workflows",
    "workflows_archive",
]
