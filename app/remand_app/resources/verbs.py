"""The table of verbs: one row for each thing that people can do. Every door is made from it.

A row names the function of the engine, and its arguments apart from the thing itself and the person who
decides. From a row, the API makes the body of a PATCH route, the command line a command, the dashboard a
form; Celery has a task where `task` is set. `lacks` names the doors that lack a verb; a contract test holds
doors to the table. Functions are named, not imported, so that reading the table costs a command nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remand_app.domain.access import Permission
from remand_app.domain.redrive import ACTIVE, OVER
from remand_app.domain.states import GroupState
from remand_app.resources.verb import Argument, Door, Noun, Verb

__all__ = ["VERBS", "Argument", "Door", "Noun", "Verb", "possible", "verb_of", "verbs_of"]


def _is_open(thing: Any) -> bool:
    return bool(thing.status.is_open)


def _is_free(thing: Any) -> bool:
    return bool(thing.status.is_open) and thing.claimed_by is None


def _is_taken(thing: Any) -> bool:
    return bool(thing.status.is_open) and thing.claimed_by is not None


def _is_unresolved(thing: Any) -> bool:
    return thing.state is not GroupState.RESOLVED


def _is_resolved(thing: Any) -> bool:
    return thing.state is GroupState.RESOLVED


def _has_no_owner(thing: Any) -> bool:
    return _is_unresolved(thing) and thing.owner is None


def _has_owner(thing: Any) -> bool:
    return _is_unresolved(thing) and thing.owner is not None


def _is_live(thing: Any) -> bool:
    return not thing.state.is_final


def _runs(workflow: Any) -> bool:
    return _is_live(workflow) and workflow.paused_at is None


def _is_paused(workflow: Any) -> bool:
    return _is_live(workflow) and workflow.paused_at is not None


def _may_restart(workflow: Any) -> bool:
    return workflow.state not in ("complete", "cancelled", "resolved_manually")


def _has_failed(step: Any) -> bool:
    return step.state in ("error", "waiting_for_retry")


def _has_not_ended(step: Any) -> bool:
    return step.state not in ("complete", "cancelled", "resolved_manually")


def _is_planned(redrive: Any) -> bool:
    return bool(redrive.state == "planned")


def _is_under_way(redrive: Any) -> bool:
    return bool(redrive.state in ACTIVE)


def _stands_still(redrive: Any) -> bool:
    return redrive.state in ("paused", "stopped")


def _is_not_over(redrive: Any) -> bool:
    return redrive.state not in OVER


_LETTERS: Final = Permission.LETTERS_WRITE
_WORKFLOWS: Final = Permission.WORKFLOWS_WRITE
_QUEUES: Final = Permission.QUEUES_WRITE
_BREAKERS: Final = Permission.BREAKERS_WRITE
_TEMPLATES: Final = Permission.TEMPLATES_WRITE
_ADMIN: Final = Permission.ADMIN_WRITE
_LETTER: Final = "engine.operate.dead_letters"
_INVESTIGATION: Final = "engine.operate.investigation"
_GROUPS: Final = "engine.operate.groups"
_TAKE_OVER: Final = Argument("take_over", "flag", "Even if somebody else has it.")
_FORCE: Final = Argument("take_over", "flag", "Even if somebody else has it.", parameter="force")
_NOTE: Final = Argument(
    "text",
    "prose",
    "The note; it cannot be changed later.",
    required=True,
    typed="TEXT",
    example="the card was never activated",
)
_INPUT: Final = Argument(
    "input",
    "json",
    "Run it with this input from now on; null is one. Left out: it keeps what it has.",
    parameter="new_input",
)
_DESCRIPTION: Final = Argument("description", "text", "Whose it is and what for.")
_RESULT: Final = Argument("result", "json", "What its handler would have returned.", required=True)

VERBS: Final[tuple[Verb, ...]] = (
    Verb(
        noun="letter",
        name="claim",
        engine=f"{_LETTER}:claim_letter",
        permission=_LETTERS,
        title="Take the investigation",
        button="It is mine",
        about="Take an investigation, so that nobody else does; a reason becomes its first note.",
        done="The investigation is yours.",
        when=_is_free,
        keeps_workflow=True,
        examples=("dlq claim 7be301", "dlq claim 7be301 --by ada"),
    ),
    Verb(
        noun="letter",
        name="release",
        engine=f"{_INVESTIGATION}:release_letter",
        permission=_LETTERS,
        title="Release it",
        button="Release",
        about="Let go of an investigation, so that somebody else may take it.",
        done="Anybody may take it now.",
        arguments=(_FORCE,),
        when=_is_taken,
        keeps_workflow=True,
        examples=("dlq release 7be301",),
    ),
    Verb(
        noun="letter",
        name="assign",
        engine=f"{_INVESTIGATION}:assign_letter",
        permission=_LETTERS,
        title="Give it to somebody",
        button="Assign",
        about="Give an investigation to somebody.",
        done="The investigation is theirs.",
        arguments=(Argument("assignee", "text", "Whose it becomes.", required=True, typed="WHO"), _FORCE),
        when=_is_open,
        keeps_workflow=True,
        examples=("dlq assign 7be301 ada", "dlq assign 7be301 ada --take-over"),
    ),
    Verb(
        noun="letter",
        name="note",
        engine=f"{_LETTER}:note_letter",
        permission=_LETTERS,
        title="Note",
        button="Add note",
        about="Add a note to an investigation; a closed one takes notes, too.",
        done="Noted.",
        arguments=(_NOTE,),
        previews=False,
        own_route="POST /dlq/{letter_id}/notes",
        keeps_workflow=True,
        examples=('dlq note 7be301 "the card was never activated"',),
    ),
    Verb(
        noun="letter",
        name="label",
        engine=f"{_INVESTIGATION}:label_letter",
        permission=_LETTERS,
        title="Labels",
        button="Change",
        about="Put labels on a letter, or take them off.",
        done="Its labels are changed.",
        arguments=(
            Argument("add", "texts", "To put on it.", typed="LABEL..."),
            Argument("remove", "texts", "To take off; repeatable."),
        ),
        keeps_workflow=True,
        examples=("dlq label 7be301 bank eu", "dlq label 7be301 --remove eu"),
    ),
    Verb(
        noun="letter",
        name="link",
        engine=f"{_INVESTIGATION}:link_letter",
        permission=_LETTERS,
        title="Links",
        button="Change",
        about="Link a letter to tickets, deploys or pages, or take links away.",
        done="Its links are changed.",
        arguments=(
            Argument("add", "texts", "To add.", typed="URL..."),
            Argument("remove", "texts", "To take away; repeatable."),
        ),
        keeps_workflow=True,
        examples=("dlq link 7be301 https://tickets.example/417",),
    ),
    Verb(
        noun="letter",
        name="metadata",
        engine=f"{_INVESTIGATION}:merge_letter_metadata",
        permission=_LETTERS,
        title="Metadata",
        button="Change",
        about="Merge values into its metadata; null takes a key away; what is under other keys stays.",
        done="Its metadata are changed.",
        arguments=(
            Argument("values", "object", "The values, by key, as JSON.", required=True, typed="JSON|@FILE|-"),
        ),
        keeps_workflow=True,
        examples=("dlq metadata 7be301 '{\"ticket\": 417}'",),
    ),
    Verb(
        noun="letter",
        name="requeue",
        engine=f"{_LETTER}:requeue_letter",
        permission=_LETTERS,
        title="Retry as it is",
        button="Send it back to work",
        about="Send the failed steps back to work with fresh attempts; the workflow goes on from there.",
        done="Its failed steps are back at work.",
        when=_is_open,
        own_route="POST /dlq/{letter_id}/requeue",
        task="requeue",
        examples=('dlq requeue 7be301 --reason "bank activated the card"',),
    ),
    Verb(
        noun="letter",
        name="retry",
        engine="resources.acts:retry_letter",
        permission=_WORKFLOWS,
        title="Edit the input and retry",
        button="Retry with this input",
        about="Run its step again, with another input if one is given; the workflow keeps its own.",
        done="The step runs again.",
        arguments=(_INPUT,),
        when=_is_open,
        examples=("dlq retry 7be301 --input @corrected.json",),
    ),
    Verb(
        noun="letter",
        name="complete",
        engine="resources.acts:complete_letter",
        permission=_WORKFLOWS,
        title="Complete by hand with a result",
        button="Complete",
        about="Complete the letter's step by hand with a result, as if its handler had returned it.",
        done="The step is complete, with the result you gave.",
        arguments=(_RESULT,),
        when=_is_open,
        examples=('dlq complete 7be301 --result \'{"charge": "ch_1"}\' --reason "charged by phone"',),
    ),
    Verb(
        noun="letter",
        name="resolve",
        engine="resources.acts:resolve",
        permission=_LETTERS,
        title="Resolve: it was done by hand",
        button="Resolve",
        about="Declare the failed steps done by hand: the workflow goes on with the steps after them.",
        done="Declared done by hand.",
        arguments=(
            Argument("whole_workflow", "flag", "Declare the whole workflow done, not only its failed steps."),
            Argument("give_up", "flag", "Close it as permanently failed: the workflow ends in error."),
        ),
        when=_is_open,
        examples=(
            'dlq resolve 7be301 --reason "imported by hand"',
            'dlq resolve 7be301 --whole-workflow --reason "order was refunded"',
        ),
    ),
    Verb(
        noun="letter",
        name="skip",
        engine="resources.acts:skip_letter",
        permission=_WORKFLOWS,
        title="Skip the step",
        button="Skip",
        about="Do without its step and all that is behind that alone; other branches go on.",
        done="The step and what is behind it alone are skipped.",
        when=_is_open,
        examples=('dlq skip 7be301 --reason "customer pays cash"',),
    ),
    Verb(
        noun="letter",
        name="give_up",
        engine=f"{_LETTER}:give_up_letter",
        permission=_LETTERS,
        title="Give up",
        button="Close as permanently failed",
        about="Close a letter as permanently failed: the workflow ends in error.",
        done="Closed as permanently failed.",
        when=_is_open,
        is_dangerous=True,
        examples=('dlq give-up 7be301 --reason "file will never come"',),
    ),
    Verb(
        noun="letter",
        name="cancel",
        engine=f"{_LETTER}:cancel_letter",
        permission=_LETTERS,
        title="Cancel the workflow",
        button="Cancel the workflow",
        about="Cancel the workflow of a dead letter and close it.",
        done="The workflow is cancelled.",
        when=_is_open,
        is_dangerous=True,
        examples=('dlq cancel 7be301 --reason "test data"',),
    ),
    Verb(
        noun="group",
        name="claim",
        engine=f"{_GROUPS}:claim_group",
        permission=_LETTERS,
        title="Take it",
        button="It is mine",
        about="Take a cause, so that nobody else does.",
        done="It is yours.",
        when=_has_no_owner,
        previews=False,
        examples=("dlq group claim 7be301",),
    ),
    Verb(
        noun="group",
        name="release",
        engine=f"{_GROUPS}:release_group",
        permission=_LETTERS,
        title="Release it",
        button="Release",
        about="Let go of a cause.",
        done="Released.",
        arguments=(_TAKE_OVER,),
        when=_has_owner,
        previews=False,
        examples=("dlq group release 7be301",),
    ),
    Verb(
        noun="group",
        name="assign",
        engine=f"{_GROUPS}:assign_group",
        permission=_LETTERS,
        title="Give it to somebody",
        button="Assign",
        about="Give a cause to somebody.",
        done="Assigned.",
        arguments=(Argument("owner", "text", "Who gets it.", required=True, typed="OWNER"), _TAKE_OVER),
        when=_is_unresolved,
        previews=False,
        examples=("dlq group assign 7be301 ada --take-over",),
    ),
    Verb(
        noun="group",
        name="due",
        engine=f"{_GROUPS}:set_due",
        permission=_LETTERS,
        title="Say until when",
        button="Set the day",
        about="Say until when a cause should be dealt with.",
        done="The day is set.",
        arguments=(
            Argument(
                "due_at",
                "instant",
                "Date and time, UTC unless said; null, or `never` where it is typed, takes it away.",
                required=True,
                typed="AT",
            ),
        ),
        when=_is_unresolved,
        previews=False,
        examples=("dlq group due 7be301 2026-12-01T10:00",),
    ),
    Verb(
        noun="group",
        name="note",
        engine=f"{_GROUPS}:note_group",
        permission=_LETTERS,
        title="Note",
        button="Add note",
        about="Add a note to a cause.",
        done="Noted.",
        arguments=(_NOTE,),
        previews=False,
        own_route="POST /dlq/groups/{group_id}/notes",
        examples=('dlq group note 7be301 "the bank closed the account"',),
    ),
    Verb(
        noun="group",
        name="resolve",
        engine=f"{_GROUPS}:resolve_group",
        permission=_LETTERS,
        title="Resolve it",
        button="Resolve",
        about="Declare a cause dealt with; its letters must be closed. It opens again if it comes back.",
        done="Resolved. If its cause comes back, it opens again.",
        when=_is_unresolved,
        previews=False,
        needs_reason=True,
        examples=('dlq group resolve 7be301 --reason "key rotated"',),
    ),
    Verb(
        noun="group",
        name="reopen",
        engine=f"{_GROUPS}:reopen_group",
        permission=_LETTERS,
        title="Open it again",
        button="Open again",
        about="Open a resolved cause again.",
        done="Open again.",
        when=_is_resolved,
        previews=False,
        examples=("dlq group reopen 7be301",),
    ),
    Verb(
        noun="step",
        name="retry",
        engine="engine.operate.steps:retry_step",
        permission=_WORKFLOWS,
        title="Retry",
        button="Retry",
        about="Run a failed step again with fresh attempts; one that waits for its retry runs at once.",
        done="The step runs again.",
        when=_has_failed,
        arguments=(
            _INPUT,
            Argument("queue", "text", "Let it run in this queue from now on."),
            Argument("priority", "priority", "And with this priority: 0 (last) to 9 (first)."),
        ),
        task="retry",
        examples=(
            'step retry 1f9c02 charge --reason "gateway is up again"',
            "step retry 1f9c02 charge --input @corrected.json",
            "step retry 1f9c02 render --queue big-machines --dry-run",
        ),
    ),
    Verb(
        noun="step",
        name="resolve",
        engine="engine.operate.steps:resolve_step",
        permission=_WORKFLOWS,
        title="Resolve: it was done by hand",
        button="Resolve",
        about="Declare a step done by hand, without a result: steps that depend on it go on and find null.",
        done="The step is declared done by hand.",
        when=_has_not_ended,
        task="resolve",
        examples=('step resolve 1f9c02 notify --reason "customer was phoned"',),
    ),
    Verb(
        noun="step",
        name="skip",
        engine="engine.operate.branches:skip_step",
        permission=_WORKFLOWS,
        title="Skip",
        button="Skip",
        about="Do without a step and all that is behind it alone. A step that another branch leads to as well"
        " still runs, and finds null for what was skipped.",
        done="The step and what is behind it alone are skipped.",
        when=_has_not_ended,
        task="skip",
        examples=('step skip 1f9c02 invoice --reason "customer pays cash"',),
    ),
    Verb(
        noun="step",
        name="complete",
        engine="engine.operate.steps:complete_step",
        permission=_WORKFLOWS,
        title="Complete by hand with a result",
        button="Complete",
        about="Complete a step by hand with a result, as if its handler had returned it.",
        done="The step is complete, with the result you gave.",
        when=_has_not_ended,
        arguments=(_RESULT,),
        task="complete",
        examples=('step complete 1f9c02 charge --result \'{"charge": "ch_1"}\' --reason "charged by phone"',),
    ),
    Verb(
        noun="workflow",
        name="cancel",
        engine="engine.operate.workflows:cancel",
        permission=_WORKFLOWS,
        title="Cancel it",
        button="Cancel the workflow",
        about="Cancel a workflow that has not ended. Results that running steps still bring are refused; an"
        " open dead letter is closed with it.",
        done="The workflow is cancelled.",
        when=_is_live,
        is_dangerous=True,
        task="cancel",
        examples=('workflow cancel 1f9c02 --reason "ordered twice"', "workflow cancel 1f9c02 --dry-run"),
    ),
    Verb(
        noun="workflow",
        name="pause",
        engine="engine.operate.pausing:pause_workflow",
        permission=_WORKFLOWS,
        title="Pause it",
        button="Pause",
        about="Hold a workflow: it starts no further step, what runs ends and counts, retries wait.",
        done="The workflow is paused: what runs ends, nothing more starts.",
        when=_runs,
        task="pause",
        examples=('workflow pause 1f9c02 --reason "bank is closed"',),
    ),
    Verb(
        noun="workflow",
        name="resume",
        engine="engine.operate.pausing:resume_workflow",
        permission=_WORKFLOWS,
        title="Resume it",
        button="Resume",
        about="Let a paused workflow go on; a retry is made when it is due.",
        done="The workflow goes on.",
        when=_is_paused,
        task="resume",
        examples=("workflow resume 1f9c02",),
    ),
    Verb(
        noun="workflow",
        name="restart",
        engine="engine.operate.branches:restart_from",
        permission=_WORKFLOWS,
        title="Run it anew from here",
        button="Restart",
        about="Run a step and everything behind it anew; their results and failures are forgotten. Not of a"
        " workflow that is complete, cancelled or resolved, and not while one of these steps runs.",
        done="The step and everything behind it run anew.",
        when=_may_restart,
        arguments=(Argument("step", "text", "The step to begin with.", required=True, typed="--from"),),
        task="restart",
        examples=(
            "workflow restart 1f9c02 --from charge --dry-run",
            'workflow restart 1f9c02 --from charge --reason "prices were wrong"',
        ),
    ),
    Verb(
        noun="redrive",
        name="start",
        engine="engine.redrive:start",
        permission=_LETTERS,
        title="Start it",
        button="Start",
        about="Start what was planned: it acts on exactly the letters that were counted.",
        done="Started: it acts on exactly the letters that were counted.",
        when=_is_planned,
        previews=False,
        own_command=True,
        examples=("dlq redrive start --plan 51c09e",),
    ),
    Verb(
        noun="redrive",
        name="pause",
        engine="engine.redrive:pause",
        permission=_LETTERS,
        title="Pause it",
        button="Pause",
        about="Send nothing more until it is resumed; what was sent goes its way.",
        done="Paused: nothing more is sent.",
        when=_is_under_way,
        previews=False,
        examples=('dlq redrive pause 51c09e --reason "too many timeouts"',),
    ),
    Verb(
        noun="redrive",
        name="resume",
        engine="engine.redrive:resume",
        permission=_LETTERS,
        title="Resume it",
        button="Resume",
        about="Let it go on. One that its canary stopped goes on with the next stage: look at `status`"
        " first.",
        done="It goes on.",
        when=_stands_still,
        previews=False,
        examples=("dlq redrive resume 51c09e",),
    ),
    Verb(
        noun="redrive",
        name="cancel",
        engine="engine.redrive:cancel",
        permission=_LETTERS,
        title="Cancel it",
        button="Cancel",
        about="End it: nothing more is sent; what was sent stays sent.",
        done="Cancelled: what was sent stays sent.",
        when=_is_not_over,
        previews=False,
        is_dangerous=True,
        examples=('dlq redrive cancel 51c09e --reason "wrong fix"',),
    ),
    Verb(
        noun="queue",
        name="pause",
        engine="resources.queues:pause",
        permission=_QUEUES,
        title="Pause",
        button="Pause",
        about="Pause a queue: nothing more is claimed from it, what runs ends, nothing in it is lost.\n\n"
        "In a paused retry queue failed attempts wait undecided: neither tried again nor dead letters.",
        done="{0} is paused: what runs ends, nothing more starts.",
        previews=False,
        examples=(
            'queue pause steps --reason "deploy"',
            'queue pause retry.exponential --reason "look at the failures first"',
        ),
    ),
    Verb(
        noun="queue",
        name="resume",
        engine="resources.queues:resume",
        permission=_QUEUES,
        title="Resume",
        button="Resume",
        about="Let a paused queue go on, and ring its workers.",
        done="{0} goes on.",
        previews=False,
        examples=("queue resume steps",),
    ),
    Verb(
        noun="queue",
        name="set",
        engine="resources.queues:change_settings",
        permission=_ADMIN,
        title="Send a queue's letters elsewhere",
        button="Set it",
        about="Say where dead letters of a queue's steps lie, and at what age workflows that begin in it"
        " expire.\n\nA template that says so itself goes first for the dead queue; of ages the least counts.",
        done="Dead letters of queue {0} go to {value.dead_queue} from now on.",
        arguments=(
            Argument("dead_queue", "text", "Where its letters go; `default` unsets it."),
            Argument("expire_after_seconds", "duration", "0: never.", typed="--expire-after"),
        ),
        previews=False,
        own_command=True,
        own_route="PATCH /queues/{queue}/settings",
        exits=(4, 5),
        examples=(
            "queue set payments --dead-queue payments-dead",
            "queue set payments --expire-after 3600",
        ),
    ),
    Verb(
        noun="dead_queue",
        name="create",
        engine="engine.dead_queues:create_dead_queue",
        permission=_ADMIN,
        title="Make a dead queue",
        button="Make it",
        about="Make a dead queue; then let a template or a queue name it.",
        done="Dead queue {0} is made; now let a queue or a template name it.",
        arguments=(
            _DESCRIPTION,
            Argument("size_limit", "count", "Open letters it is meant to hold; default: the setting."),
        ),
        previews=False,
        own_route="POST /dead-queues",
        exits=(5,),
        examples=('dlq queue create payments-dead --description "the payments team looks here"',),
    ),
    Verb(
        noun="dead_queue",
        name="change",
        engine="engine.dead_queues:change_dead_queue",
        permission=_ADMIN,
        title="Change",
        button="Change",
        about="Change what is told of a dead queue, or how much it is meant to hold; what is not given"
        " stays.",
        done="Dead queue {0} is changed.",
        arguments=(
            _DESCRIPTION,
            Argument("size_limit", "count", "Open letters it is meant to hold; default: the setting."),
        ),
        previews=False,
        typed="set",
        own_route="PATCH /dead-queues/{dead_queue}",
        examples=('dlq queue set payments-dead --size-limit 500 --reason "new team"',),
    ),
    Verb(
        noun="dead_queue",
        name="delete",
        engine="engine.dead_queues:delete_dead_queue",
        permission=_ADMIN,
        title="Delete",
        button="Delete",
        about="Delete a dead queue. No letter is lost: it must be empty, or they are moved.",
        done="Dead queue {0} is gone; {value} letters moved.",
        arguments=(Argument("move_to", "text", "Move its letters to this one first.", metavar="NAME"),),
        previews=False,
        is_dangerous=True,
        own_route="DELETE /dead-queues/{dead_queue}",
        exits=(4, 5),
        examples=("dlq queue delete old-dead", "dlq queue delete old-dead --move-to default"),
    ),
    Verb(
        noun="breaker",
        name="open",
        engine="resources.breakers:open_breaker",
        permission=_BREAKERS,
        title="Open",
        button="Open",
        about="Open a breaker by hand: no attempt of the dependency starts, none is used up, its work"
        " waits.\n\nWhat runs goes on. Without a time it stays open until somebody closes it.",
        done="The breaker of {0}: open.",
        arguments=(
            Argument(
                "seconds",
                "duration",
                "Try again by itself after so long, as 30m or 2h. Default: never.",
                typed="--for",
            ),
        ),
        previews=False,
        examples=(
            'breaker open payments-api --for 30m --reason "their maintenance"',
            "breaker open payments-api",
        ),
    ),
    Verb(
        noun="breaker",
        name="close",
        engine="resources.breakers:close_breaker",
        permission=_BREAKERS,
        title="Close",
        button="Close",
        about="Close a breaker: what it held goes out at its limited rate, so that the dependency meets no"
        " herd.",
        done="The breaker of {0}: close.",
        previews=False,
        examples=('breaker close payments-api --reason "they say it is up again"',),
    ),
    Verb(
        noun="breaker",
        name="reset",
        engine="resources.breakers:reset_breaker",
        permission=_BREAKERS,
        title="Reset",
        button="Reset",
        about="Close a breaker and forget what it counted; what it held goes out at once, whatever its rate.",
        done="The breaker of {0}: reset.",
        previews=False,
        examples=("breaker reset payments-api",),
    ),
    Verb(
        noun="template",
        name="pause",
        engine="engine.operate:pause_template",
        permission=_TEMPLATES,
        title="Pause",
        button="Pause",
        about="Hold all workflows of a template, of any version: they start no further step.\n\n"
        "Workflows that are submitted meanwhile are accepted and wait, too.",
        done="{0} is paused: what runs ends, nothing more starts; {value.workflows} workflows.",
        previews=False,
        exits=(4, 5),
        task="pause_template",
        examples=('template pause payments/order --reason "bank is closed"',),
    ),
    Verb(
        noun="template",
        name="resume",
        engine="engine.operate:resume_template",
        permission=_TEMPLATES,
        title="Resume",
        button="Resume",
        about="Let the workflows of a paused template go on, but for those that were paused one by one.",
        done="{0} goes on; {value.workflows} workflows.",
        previews=False,
        exits=(4, 5),
        task="resume_template",
        examples=("template resume payments/order",),
    ),
)


_BY_NAME: Final = {(verb.noun, verb.name): verb for verb in VERBS}


def verbs_of(noun: Noun, door: Door | None = None) -> Iterator[Verb]:
    """Yield the verbs of a noun, those of a door if one is named."""
    return (verb for verb in VERBS if verb.noun == noun and door not in verb.lacks)


def verb_of(noun: Noun, name: str) -> Verb:
    """Return a verb of a noun.

    Raises:
        KeyError: it has none of that name.
    """
    return _BY_NAME[noun, name]


def possible(noun: Noun, thing: Any) -> list[Verb]:
    """Return what can be done with a thing now."""
    return [verb for verb in verbs_of(noun) if verb.is_possible(thing)]
