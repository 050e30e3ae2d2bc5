"""The tables of schema `remand` as SQLAlchemy models them; the migrations are tested against these files.

One file for each area. To add a table, put it into the file of its area and run `make schema`.
"""

from app.store.tables.access import api_tokens, audit_log, login_attempts, login_codes, sessions, users
from app.store.tables.archive import (
    archive_runs,
    attempts_archive,
    history_archive,
    steps_archive,
    workflows_archive,
)
from app.store.tables.breakers import breaker_moves, breakers, retry_budgets, traffic, unclassified
from app.store.tables.columns import SCHEMA, metadata
from app.store.tables.dead_letters import (
    dead_letter_counts,
    dead_letter_deltas,
    dead_letter_groups,
    dead_letter_hours,
    dead_letter_notes,
    dead_letters,
    dead_queues,
    queue_settings,
)
from app.store.tables.notifications import notification_targets, notifications
from app.store.tables.queues import pauses, queue_service, run_queue, template_pauses, workers
from app.store.tables.redrives import redrive_items, redrives
from app.store.tables.requests import idempotency_keys
from app.store.tables.sweeps import staleness_settings, sweep_figures, sweep_runs
from app.store.tables.templates import template_steps, templates, transition_rule
from app.store.tables.workflows import PARTITIONED, attempts, history, identities, steps, workflows

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
