"""`remand workflow`: cancel, pause, resume, restart."""

from __future__ import annotations

from remand_app.cli.commands.workflow import GROUP
from remand_app.cli.context import Cli, WorkflowId
from remand_app.cli.render.output import short
from remand_app.cli.render.wording import command, decided, follow, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.resources.workflows import find_workflow

__all__ = ["GROUP"]


def _find(cli: Cli, typed: str) -> Target:
    workflow_id = find_workflow(cli.database, typed).id
    return Target((workflow_id,), workflow_id)


def _answer(cli: Cli, did: Done) -> None:
    end = short(did.key[0])
    what = {
        "pause": f"workflow {end} is paused",
        "resume": f"workflow {end} goes on",
        "restart": f"step {did.arguments.get('step')} of workflow {end}",
    }.get(did.verb.name, f"workflow {end}")
    then = {
        "pause": next_steps(command("remand workflow resume", end)),
        "resume": follow(did.value.workflow_id),
        "restart": follow(did.value.workflow_id),
    }
    cli.out.answer(
        did.value, decided(what, did.value), *([then[did.verb.name]] if did.verb.name in then else [])
    )


make_commands(GROUP, "workflow", takes=[("workflow", WorkflowId)], find=_find, answer=_answer)
