"""Write the page of the classifier from its rules: order of asking, categories, a table for each family."""

from __future__ import annotations

from collections.abc import Iterable

from remand.rules import FAMILIES, POLICY_OF, Family, Rule
from remand.rules.user import ENTRY_POINT_GROUP
from remand.stages import STAGES
from remand_app.cli.render.rule_table import keys_of, looks_at

_ABOUT = (
    "What kind of failure an exception is, and so whether, when and how a step is tried again. The first"
    " stage that knows settles it; `remand classify` shows what each was asked, `remand classify --rules`"
    " these tables together with your own rules."
)
_STAGES = {
    "own word": "`RetryableError`, `RateLimited`, `PermanentError`; attributes `retryable` and `retry_after`;"
    " Celery's `Retry` and `Reject`",
    "registered rules": "your own rules: for the exception, then for what it wraps, the nearest first",
    "group members": "a group is as bad as its worst member; one that can never succeed settles it",
    "type": "the class or one of its bases, by qualified name, nearest first",
    "codes": "codes it carries, the most telling first: SQLSTATE, gRPC, errno, a vendor's code, HTTP …",
    "base": "classes that say little, Python's own among them, unless a code has spoken",
    "causes": "what it wraps: `__cause__`, `.orig`, `.reason`, `last_attempt` …, each judged by all stages",
    "text": "the message and the body of the answer: phrases that libraries print, the last resort",
    "name": "how a library that no rule speaks of calls its class: ends such as `…Timeout`, `…NotFound`",
    "fallback": "the general class of a library, and its own flag whether to try again",
    "context": "the error that was being handled when it was raised",
}
_UNKNOWN = (
    "What no stage knows is tried again a bounded number of times, marked `unclassified` and listed by"
    " `remand classify --unclassified`, each with a rule to start from."
)
_PRECEDENCE = (
    "the exception's own word",
    "rules of the step",
    "rules of the template",
    "rules of the settings (`[[rules]]`)",
    "functions under `@remand.rule`",
    f"rules of installed packages (entry points of the group `{ENTRY_POINT_GROUP}`)",
    "the built-in rules",
)
_WRAPPED = (
    "An exception is asked about before what it wraps, and for each the places in the order above: a rule"
    " for what is wrapped goes before every built-in rule for the wrapper, but not before your own for the"
    " wrapper. Within one place the first rule that holds counts."
)


def classification() -> str:
    """Return the page."""
    return "\n".join(
        [
            "# Classification\n",
            f"{_ABOUT}\n",
            "## Categories\n",
            _categories(),
            "## Order of asking\n",
            _stages(),
            f"{_UNKNOWN}\n",
            "## Whose rules count first\n",
            "\n".join(f"{number}. {place}" for number, place in enumerate(_PRECEDENCE, start=1)) + "\n",
            f"{_WRAPPED} [Write a rule](../guides/write-a-rule.md) says how.\n",
            *(_family(one) for one in FAMILIES),
        ]
    )


def _categories() -> str:
    rows = "\n".join(f"| `{category}` | `{policy}` |" for category, policy in POLICY_OF.items())
    about = (
        "Unless a rule, the settings, a template or a step says otherwise. Rate limits are `resource` and"
        " back off exponentially; a deadlock is `transient` and tried again at once."
    )
    return f"{about}\n\n| category | policy |\n|---|---|\n{rows}\n"


def _stages() -> str:
    names = [name for name, _ in STAGES]
    assert names == list(_STAGES), "each stage is told here, in its order"
    rows = "\n".join(f"| {number} | {name} | {_STAGES[name]} |" for number, name in enumerate(names, start=1))
    return f"| | stage | what is looked at |\n|---|---|---|\n{rows}\n"


def _family(family: Family) -> str:
    rows = "\n".join(_row(rule) for rule in family.rules)
    head = "| rule | looks at | keys | category | policy | reason | source |\n|---|---|---|---|---|---|---|"
    return f"## {family.name}\n\n{family.about}\n\n{head}\n{rows}\n"


def _row(rule: Rule) -> str:
    cells = (
        f"`{rule.name}`",
        looks_at(rule),
        _ticked(keys_of(rule)) + (f"; message `{rule.text}`" if rule.text else ""),
        rule.category,
        rule.policy,
        rule.reason,
        rule.source,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _ticked(keys: Iterable[str]) -> str:
    return " ".join(f"`{key}`" for key in keys)
