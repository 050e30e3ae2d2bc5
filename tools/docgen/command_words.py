"""Put the nouns of the command line together, and record their words in `words.json` (`make docs`).

The only module that loads all commands; the entry point reads what is recorded here.
"""

from __future__ import annotations

import inspect
import json
from types import ModuleType
from typing import Any, get_type_hints

from remand_app.cli.commands import (
    archive,
    audit,
    breaker,
    classify,
    config,
    dead_queue,
    dlq_groups,
    dlq_statistics,
    dlq_verbs,
    doctor,
    env,
    migrate,
    notify,
    partitions,
    queue,
    redrive,
    retention,
    serve,
    stale,
    step,
    submit,
    sweeps,
    template,
    token,
    top,
    up,
    user,
    worker,
    workflow_verbs,
)
from remand_app.cli.verb_words import made_of, parameter
from remand_app.cli.verbs import EXPLAIN, FROM_TABLE, RUN, VERBS, WORK, Group, Verb
from remand_app.cli.words import recorded
from remand_app.demo import demo, outage

_NOUNS: tuple[tuple[ModuleType, str | None], ...] = (
    (workflow_verbs, WORK),
    (step, WORK),
    (dlq_verbs, WORK),
    (redrive, None),
    (dead_queue, None),
    (dlq_groups, None),
    (queue, WORK),
    (breaker, WORK),
    (template, WORK),
    (user, RUN),
    (token, RUN),
    (partitions, RUN),
    (archive, RUN),
    (notify, RUN),
    (config, EXPLAIN),
    (audit, EXPLAIN),
)
_OF_THE_ROOT = (
    up, env, demo, outage, submit, migrate, worker, serve, dlq_statistics, top, sweeps, stale, retention,
    doctor, classify,
)  # fmt: skip
_ORDER = (
    "up", "env", "demo", "demo-outage", "submit", "migrate", "worker", "beat", "serve", "top", "sweeps",
    "stale", "retention", "doctor", "classify",
)  # fmt: skip


def words() -> str:
    """Return what `words.json` has to hold."""
    commands = [VERBS[name] for name in _ORDER]
    more = (verb for path, verb in VERBS.items() if " " in path and not is_of_table(path))
    commands += sorted(more, key=_place)
    groups = {noun.GROUP.name: _group(noun.GROUP, panel) for noun, panel in _NOUNS}
    told = {"commands": {verb.path: _words(verb) for verb in commands}, "groups": groups}
    return _json(told) + "\n"


def _place(verb: Verb) -> tuple[str, bool, str]:
    """Return what a noun's verbs are sorted by: its own module first, whichever was imported first."""
    noun = verb.path.rpartition(" ")[0]
    module = verb.function.__module__
    return noun, module.rpartition(".")[2] != noun, module


def is_of_table(path: str) -> bool:
    """Say whether a command is made of the table of verbs."""
    group, _, name = path.rpartition(" ")
    verbs = FROM_TABLE.get(group)
    return verbs is not None and any(verb.command == name for verb in made_of(verbs.noun))


def _group(group: Group, panel: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"about": group.about, **({"panel": panel} if panel else {})}
    verbs = FROM_TABLE.get(group.name)
    if verbs is not None:
        takes = [recorded(parameter(name, annotation), annotation) for name, annotation in verbs.takes]
        made["verbs"] = {"noun": verbs.noun, "module": verbs.module, "takes": takes}
    return made


def _json(value: Any, depth: int = 0) -> str:
    """Return JSON with a line for each parameter: what two people change, Git can merge."""
    if depth == 4 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=True)
    inner, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(_json(one, 4) for one in value)}{end}]"
    parts = (f"{json.dumps(str(name))}: {_json(part, depth + 1)}" for name, part in value.items())
    return f"{{{inner}{f',{inner}'.join(parts)}{end}}}"


def _words(verb: Verb) -> dict[str, Any]:
    hints = get_type_hints(verb.function, include_extras=True)
    _, *own = inspect.signature(verb.function).parameters.values()
    return {
        "module": verb.function.__module__,
        "about": verb.about,
        **({"panel": verb.panel} if verb.panel else {}),
        "examples": list(verb.examples),
        "exits": verb.exits,
        "parameters": [recorded(one, hints[one.name]) for one in own],
    }


assert {module.__name__ for module in _OF_THE_ROOT} <= {verb.function.__module__ for verb in VERBS.values()}
