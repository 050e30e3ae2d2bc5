"""The verbs of people, a file for each noun; `turn.py` is what they share."""

from app.engine.operate.letters import (
    cancel_letter,
    claim_letter,
    give_up_letter,
    note_letter,
    requeue_letter,
    resolve_letter,
)
from app.engine.operate.preview import Preview, StepChange, preview
from app.engine.operate.steps import complete_step, resolve_step, retry_step
from app.engine.operate.turn import Decided, Who
from app.engine.operate.workflows import cancel

__all__ = [
    "Decided",
    "Preview",
    "StepChange",
    "Who",
    "cancel",
    "cancel_letter",
    "claim_letter",
    "complete_step",
    "give_up_letter",
    "note_letter",
    "preview",
    "requeue_letter",
    "resolve_letter",
    "resolve_step",
    "retry_step",
]
