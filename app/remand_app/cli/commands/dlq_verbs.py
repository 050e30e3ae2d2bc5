"""`remand dlq`: the verbs on a dead letter."""

from __future__ import annotations

from typing import Any

from remand_app.cli.commands.dlq import GROUP, LetterId
from remand_app.cli.context import By, Cli, Reason, WorkflowId
from remand_app.cli.dry_run import answer_dry_run
from remand_app.cli.render.output import short
from remand_app.cli.render.wording import command, decided, follow, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.cli.verbs import DryRun
from remand_app.engine.operate.open_by_hand import open_dead_letter
from remand_app.resources import letters
from remand_app.resources.verbs import Verb
from remand_app.resources.workflows import find_workflow

__all__ = ["GROUP"]


def _find(cli: Cli, typed: str) -> Target:
    letter = letters.find_dead_letter(cli.database, typed)
    return Target((letter.id,), letter.workflow_id)


def _answer(cli: Cli, did: Done) -> None:
    letter_id = did.key[0]
    if did.verb.name == "note":
        note = letters.NoteMade(letter_id, did.arguments["by"], did.arguments["text"])
        cli.out.answer(note, f"noted on dead letter {short(letter_id)}")
        return
    value = letters.decided(cli.database, letter_id, did.value)
    cli.out.answer(value, *_told(did.verb, value))


def _told(verb: Verb, value: letters.LetterDecision) -> list[Any]:
    end = short(value.id)
    if not verb.keeps_workflow:
        goes_on = value.after not in ("cancelled", "error", "resolved_manually", "complete")
        summary = decided(f"workflow {short(value.workflow_id)}", value)
        return [summary, *([follow(value.workflow_id)] if goes_on else [])]
    summary = decided(f"dead letter {end}", value)
    if verb.name == "claim":
        steps = next_steps(command("remand dlq note", end, "TEXT"), command("remand dlq requeue", end))
        return [summary, steps]
    marks = [
        value.claimed_by and f"investigated by {value.claimed_by}",
        value.labels and f"labels {', '.join(value.labels)}",
        value.links and f"links {', '.join(value.links)}",
    ]
    return [summary, *(mark for mark in marks if mark)]


make_commands(GROUP, "letter", takes=[("letter", LetterId)], find=_find, answer=_answer)


@GROUP.verb(
    "add",
    exits=(2, 4, 5),
    examples=('remand dlq add 1f9c02 --reason "the bank sends wrong balances"',),
)
def add(
    cli: Cli, workflow: WorkflowId, dry_run: DryRun = False, reason: Reason = None, by: By = None
) -> None:
    """Take a workflow out of work into the dead letter queue; requeueing its letter sends it on.

    What waits is withdrawn, results that running steps still bring are refused.
    """
    target = find_workflow(cli.database, workflow)
    who = cli.who(by, reason)
    if dry_run:
        answer_dry_run(cli, target.id, lambda engine: open_dead_letter(engine, target.id, who))
        return
    made = open_dead_letter(cli.engine, target.id, who)
    letter = letters.find_dead_letter(cli.database, str(target.id))
    cli.out.answer(
        letters.decided(cli.database, letter.id, made),
        decided(f"workflow {short(target.id)}", made),
        next_steps(command("remand dlq requeue", short(letter.id))),
    )
