"""The verbs of people, one file for each noun; `context.py` holds what they share."""

from remand_app.engine.decided import Decided
from remand_app.engine.operate.branches import restart_from, skip_step
from remand_app.engine.operate.context import Who
from remand_app.engine.operate.dead_letters import (
    cancel_letter,
    claim_letter,
    give_up_letter,
    note_letter,
    requeue_letter,
    resolve_letter,
)
from remand_app.engine.operate.investigation import (
    assign_letter,
    label_letter,
    link_letter,
    merge_letter_metadata,
    release_letter,
)
from remand_app.engine.operate.pausing import (
    Paused,
    pause_template,
    pause_workflow,
    resume_template,
    resume_workflow,
)
from remand_app.engine.operate.preview import Preview, StepChange, preview
from remand_app.engine.operate.steps import KEEP, complete_step, resolve_step, retry_step
from remand_app.engine.operate.workflows import cancel

__all__ = [
    "KEEP",
    "Decided",
    "Paused",
    "Preview",
    "StepChange",
    "Who",
    "assign_letter",
    "cancel",
    "cancel_letter",
    "claim_letter",
    "complete_step",
    "give_up_letter",
    "label_letter",
    "link_letter",
    "merge_letter_metadata",
    "note_letter",
    "pause_template",
    "pause_workflow",
    "preview",
    "release_letter",
    "requeue_letter",
    "resolve_letter",
    "resolve_step",
    "restart_from",
    "resume_template",
    "resume_workflow",
    "retry_step",
    "skip_step",
]
