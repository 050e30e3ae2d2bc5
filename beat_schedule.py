"""What beat rings, for `celery -A beat_schedule beat`; the table is in app/remand_app/beat_schedule.py."""

from remand_app.beat_schedule import BEAT_SCHEDULE, SWEEPS
from remand_workers import celery

__all__ = ["BEAT_SCHEDULE", "SWEEPS", "celery"]
