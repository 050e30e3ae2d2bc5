"""Draw the state machines from the transition tables and the docstrings of the states."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import pairwise

from remand_app.domain import states
from remand_app.domain.states import DeadLetterStatus, Phase, StepState, WorkflowState
from remand_app.domain.transitions import STEP_RULES, WORKFLOW_RULES, Rule

_BY_HAND = ("cancel", "resolve_manually", "complete_manually")
"""Events that lead out of every live state: drawn, they would hide all else."""


_ABOUT = (
    "Drawn from `app/remand_app/domain/transitions.py`, which the migration seeds into the table "
    "`transition_rule`: a move that is not here cannot be stored."
)
_ABOUT_LETTERS = (
    "Opened by a terminal failure, one open at a time for a workflow; closed by an operator's verb."
)


def state_machines() -> str:
    """Return the page: a diagram, the states and the moves of each kind of entity."""
    return "\n".join(
        [
            "# State machines\n",
            f"{_ABOUT}\n",
            "## Workflow\n",
            _diagram(WORKFLOW_RULES),
            _told(WorkflowState),
            _moves(WORKFLOW_RULES),
            "## Step\n",
            _diagram(STEP_RULES),
            _told(StepState),
            _moves(STEP_RULES),
            "## Dead letter\n",
            f"{_ABOUT_LETTERS}\n",
            _letters(),
            _told(DeadLetterStatus),
            "## Run queue\n",
            "A live step has a row in `run_queue`; its phase says who acts next.\n",
            _told(Phase),
        ]
    )


def _diagram(rules: Iterable[Rule]) -> str:
    drawn = [rule for rule in rules if rule.event not in _BY_HAND]
    lines = [f"    {rule.from_state} --> {rule.to_state}: {rule.event}" for rule in drawn]
    left = {rule.from_state for rule in drawn}
    ends = [
        f"    {state} --> [*]"
        for state in dict.fromkeys(rule.to_state for rule in drawn)
        if state not in left
    ]
    start = f"    [*] --> {drawn[0].from_state}"
    body = "\n".join(["stateDiagram-v2", start, *lines, *ends])
    return (
        f"```mermaid\n{body}\n```\n\nNot drawn, for they lead out of every state that is not final: "
        f"{', '.join(f'`{event}`' for event in _BY_HAND if any(rule.event == event for rule in rules))}.\n"
    )


def _letters() -> str:
    closed = [one for one in DeadLetterStatus if not one.is_open]
    lines = ["    [*] --> pending", "    pending --> investigating: claim"]
    lines += [f"    {one} --> {end}" for one in DeadLetterStatus if one.is_open for end in closed]
    lines += [f"    {end} --> [*]" for end in closed]
    return "```mermaid\n" + "\n".join(["stateDiagram-v2", *lines]) + "\n```\n"


def _told(kind: type[StrEnum]) -> str:
    rows = "\n".join(f"| `{name}` | {text} |" for name, text in _docstrings(kind))
    return f"| state | who moves it in, who out |\n|---|---|\n{rows}\n"


def _docstrings(kind: type[StrEnum]) -> Iterator[tuple[str, str]]:
    """Yield each member's value and the string that follows it in the source."""
    tree = ast.parse(inspect.getsource(states))
    body = next(
        node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    for member, after in pairwise(body):
        if isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
            assert isinstance(after, ast.Expr), f"{member.targets[0].id} has no docstring"
            assert isinstance(after.value, ast.Constant)
            yield str(kind[member.targets[0].id]), str(after.value.value)


def _moves(rules: Iterable[Rule]) -> str:
    rows = "\n".join(f"| `{rule.from_state}` | `{rule.event}` | `{rule.to_state}` |" for rule in rules)
    return f"| from | event | to |\n|---|---|---|\n{rows}\n"
