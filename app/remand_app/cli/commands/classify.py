"""`remand classify`: what would happen to an exception, and why; the rules themselves; what no rule knew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from remand.explain import Explanation, explain
from remand.not_sent import is_nothing_sent
from remand_app.cli.arguments import read_bytes
from remand_app.cli.commands import classify_stored
from remand_app.cli.context import EXPLAIN, ROOT, After, Cli, Limit
from remand_app.cli.option_groups import with_options
from remand_app.cli.render import rule_table
from remand_app.cli.render.explanation import render_explanation
from remand_app.cli.synthetic_error import (
    look_alike,
    nearest_name,
    not_installed,
    read_pairs,
    read_traceback,
    read_value,
)
from remand_app.domain.errors import ClassNotFound, HandlerNotFound
from remand_app.domain.retry import resolve_retry
from remand_app.engine.rule_sets import RuleSets, books_of_settings, load_books
from remand_app.runtime import import_handlers

_ONE_OF = "give one of: a CLASS, --traceback, --attempt, --rules, --unclassified, --forget"


ExceptionClass = Annotated[
    str | None, typer.Argument(metavar="CLASS", help="Its class with module; alone, one of Python's own.")
]
Message = Annotated[str, typer.Option("--message", help="What it says.")]
Attributes = Annotated[
    list[str] | None, typer.Option("--attr", metavar="NAME=VALUE", help="An attribute; NAME may be a.b.")
]
Headers = Annotated[
    list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="A header of the response.")
]
Bases = Annotated[
    list[str] | None, typer.Option("--base", help="What it derives from, if it is not installed here.")
]
Cause = Annotated[str | None, typer.Option("--cause", help="Class of the exception that caused it.")]
Traceback = Annotated[
    str | None, typer.Option("--traceback", metavar="FILE|-", help="Take class and message from its end.")
]
StoredAttempt = Annotated[
    tuple[str, str, int] | None,
    typer.Option(
        "--attempt",
        metavar="WORKFLOW STEP N",
        help="Explain a stored attempt: what was decided then, and what today's rules would say.",
    ),
]
Rules = Annotated[bool, typer.Option("--rules", help="List all rules, your own first.")]
Family = Annotated[
    str | None, typer.Option("--family", metavar="NAME", help="With --rules: those of one family.")
]
UnclassifiedOnes = Annotated[
    bool, typer.Option("--unclassified", help="List what no rule knew, with a rule to start from for each.")
]
Forget = Annotated[
    str | None,
    typer.Option("--forget", metavar="FINGERPRINT", help="Take one off that list, once it has its rule."),
]
ByName = Annotated[
    bool, typer.Option("--by-name", help="Judge a class that is not installed here by its name alone.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="All that was asked on the way.")]


@dataclass(frozen=True, slots=True)
class Described:
    """An exception as it was typed; of `exception` and `traceback` one is given, if any."""

    exception: str | None
    message: str
    attributes: Sequence[str]
    headers: Sequence[str]
    bases: Sequence[str]
    cause: str | None
    traceback: str | None

    def failure(self) -> BaseException:
        """Return one that looks like it. Raises as what reads it does."""
        exception, message = self.exception, self.message
        if self.traceback is not None:
            exception, message = read_traceback(_text(self.traceback))
        assert exception is not None
        attributes = read_pairs(self.attributes, "--attr")
        return look_alike(
            exception,
            message,
            attributes={name: read_value(value) for name, value in attributes.items()},
            headers=read_pairs(self.headers, "--header"),
            bases=self.bases,
            cause=self.cause,
        )


def _described(
    _: Cli,
    exception: ExceptionClass = None,
    message: Message = "",
    attr: Attributes = None,
    header: Headers = None,
    base: Bases = None,
    cause: Cause = None,
    traceback: Traceback = None,
) -> Described:
    return Described(exception, message, attr or (), header or (), base or (), cause, traceback)


@ROOT.verb(
    "classify",
    panel=EXPLAIN,
    exits=(4,),
    examples=(
        'remand classify ConnectionResetError --message "[Errno 104] Connection reset by peer"',
        "remand classify urllib.error.HTTPError --attr code=503 --header Retry-After=30",
        "remand classify shop.gateway.Closed --by-name",
        "remand classify --traceback - < error.txt",
        "remand classify --attempt 1f9c02 charge 2",
        "remand classify --rules --family http",
        "remand classify --unclassified",
        "remand classify --forget 3f2a9c0d11e4b7a8",
    ),
)
@with_options(described=_described)
def classify_(
    cli: Cli,
    described: Described,
    *,
    attempt: StoredAttempt = None,
    rules: Rules = False,
    family: Family = None,
    unclassified: UnclassifiedOnes = False,
    forget: Forget = None,
    by_name: ByName = False,
    after: After = None,
    limit: Limit = 100,
    verbose: Verbose = False,
) -> None:
    """Explain what would happen to an exception: its category, the rule that says so, the retries.

    Your own rules of settings, code and entry points are asked as workers ask them; the retries are those of
    the settings. A template may say otherwise: --attempt knows its rules. Only --attempt, --unclassified
    and --forget need a database; --after and --limit are of --unclassified.
    """
    subjects = (described.exception, described.traceback, attempt, forget)
    chosen = [subject is not None for subject in subjects] + [rules, unclassified]
    if sum(chosen) != 1:
        raise typer.BadParameter(_ONE_OF)
    if family is not None and not rules:
        raise typer.BadParameter("--family goes with --rules")
    if rules:
        rule_table.show(cli, books(cli).layers, family)
    elif unclassified:
        classify_stored.show_unclassified(cli, after, limit)
    elif forget is not None:
        classify_stored.forget_unclassified(cli, forget)
    elif attempt is not None:
        classify_stored.show_attempt(cli, books(cli), *attempt, verbose=verbose)
    else:
        failure = described.failure()
        # A traceback shows that the class exists.
        by_name = by_name or described.traceback is not None
        _explain(cli, failure, by_name=by_name, verbose=verbose)


def books(cli: Cli) -> RuleSets:
    """Return the rules as a worker would gather them; without those of code where that cannot be imported."""
    try:
        import_handlers(cli.given.handlers)
    except HandlerNotFound as error:
        cli.out.say(f"rules in code are left out: {error.message}", "yellow")
        return books_of_settings(cli.given)
    return load_books(cli.given)


def _explain(cli: Cli, failure: BaseException, *, by_name: bool, verbose: bool) -> None:
    at = datetime.now(UTC)
    book = books(cli).base
    explanation = explain(failure, now=at, book=book)
    if not by_name:
        _refuse_unknown(failure, explanation)
    explained = render_explanation(
        explanation,
        resolve_retry(cli.given.retry),
        book,
        at,
        is_nothing_sent=is_nothing_sent(failure),
    )
    cli.out.answer(
        explained.to_dict(),
        explained.verdict_lines(),
        Text(),
        explained.chain(whole=verbose),
        Text(),
        *explained.plan_lines(),
    )


def _refuse_unknown(failure: BaseException, explanation: Explanation) -> None:
    """Refuse to judge by the name of a class what nothing here, and no rule, has ever heard of."""
    named = {
        considered.subject
        for considered in explanation.considered
        if considered.rule is not None
        and (considered.key == considered.subject or considered.stage == "registered rules")
    }
    for name in not_installed(failure):
        if name not in named:
            close = nearest_name(name)
            raise ClassNotFound(
                f"no class {name!r} is installed here, and no rule names it",
                hint=f"did you mean {close}?"
                if close
                else "--by-name judges it by its name alone, --base says what it derives from",
                details={"class": name},
            )


def _text(text: str) -> str:
    return read_bytes(text, "traceback").decode("utf-8-sig", "replace")
