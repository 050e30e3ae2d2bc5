"""The Celery queues that exist whatever templates say. Templates name further ones for steps."""

from __future__ import annotations

from typing import Final

from app.domain.retry import POLICIES
from app.domain.template.model import DEFAULT_QUEUE

STEPS: Final = DEFAULT_QUEUE
RETRY: Final = tuple(f"retry.{policy}" for policy in POLICIES)
"""Whose workers turn failures into retries or dead letters."""
MAINTENANCE: Final = "remand.maintenance"
"""Sweeps."""
COMMANDS: Final = "remand.commands"
"""Verbs of the service as Celery tasks."""
BUILT_IN: Final = (STEPS, *RETRY, MAINTENANCE, COMMANDS)
