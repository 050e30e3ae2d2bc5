"""`remand classify`: what would happen to an exception, and why; the rules themselves; what no rule knew."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from app.cli.arguments import read_bytes
from app.cli.commands import classify_stored
from app.cli.context import EXPLAIN, ROOT, After, Cli, Limit
from app.cli.render import rule_table
from app.cli.render.explanation import render_explanation
from app.cli.synthetic_error import (
    look_alike,
    nearest_name,
    not_installed,
    read_pairs,
    read_traceback,
    read_value,
)
from app.domain.errors import ClassNotFound, HandlerNotFound
from app.domain.retry import resolve_retry
from app.engine.rule_sets import RuleSets, books_of_settings, load_books
from app.runtime import import_handlers
from remand.explain import Explanation, explain
from remand.not_sent import is_nothing_sent

_ONE_OF = "give one of: a CLASS, --traceback, --attempt, --rules, --unclassified, --forget"


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
def classify_(
    cli: Cli,
    exception: Annotated[
        str | None, typer.Argument(metavar="CLASS", help="Its class with module; alone, one of Python's own.")
    ] = None,
    message: Annotated[str, typer.Option("--message", help="What it says.")] = "",
    attr: Annotated[
        list[str] | None, typer.Option("--attr", metavar="NAME=VALUE", help="An attribute; NAME may be a.b.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="NAME=VALUE", help="A header of the response.")
    ] = None,
    base: Annotated[
        list[str] | None, typer.Option("--base", help="What it derives from, if it is not installed here.")
    ] = None,
    cause: Annotated[
        str | None, typer.Option("--cause", help="Class of the exception that caused it.")
    ] = None,
    traceback: Annotated[
        str | None, typer.Option("--traceback", metavar="FILE|-", help="Take class and message from its end.")
    ] = None,
    attempt: Annotated[
        tuple[str, str, int] | None,
        typer.Option(
            "--attempt",
            metavar="WORKFLOW STEP N",
            help="Explain a stored attempt: what was decided then, and what today's rules would say.",
        ),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List all rules, your own first.")] = False,
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="With --rules: those of one family.")
    ] = None,
    unclassified: Annotated[
        bool,
        typer.Option("--unclassified", help="List what no rule knew, with a rule to start from for each."),
    ] = False,
    forget: Annotated[
        str | None,
        typer.Option("--forget", metavar="FINGERPRINT", help="Take one off that list, once it has its rule."),
    ] = None,
    by_name: Annotated[
        bool, typer.Option("--by-name", help="Judge a class that is not installed here by its name alone.")
    ] = False,
    after: After = None,
    limit: Limit = 100,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="All that was asked on the way.")] = False,
) -> None:
    """Explain what would happen to an exception: its category, the rule that says so, the retries.

    Your own rules of settings, code and entry points are asked as workers ask them; the retries are those of
    the settings. A template may say otherwise: --attempt knows its rules. Only --attempt, --unclassified
    and --forget need a database; --after and --limit are of --unclassified.
    """
    chosen = [one is not None for one in (exception, traceback, attempt, forget)] + [rules, unclassified]
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
        if traceback is not None:
            exception, message = read_traceback(_text(traceback))
        assert exception is not None
        failure = look_alike(
            exception,
            message,
            attributes={name: read_value(value) for name, value in read_pairs(attr or (), "--attr").items()},
            headers=read_pairs(header or (), "--header"),
            bases=base or (),
            cause=cause,
        )
        # Whoever has a traceback has met the class.
        _explain(cli, failure, by_name=by_name or traceback is not None, verbose=verbose)


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
    told = render_explanation(
        explanation,
        resolve_retry(cli.given.retry),
        book,
        at,
        is_nothing_sent=is_nothing_sent(failure),
    )
    cli.out.answer(
        told.to_dict(), told.verdict_lines(), Text(), told.chain(whole=verbose), Text(), *told.plan_lines()
    )


def _refuse_unknown(failure: BaseException, explanation: Explanation) -> None:
    """Refuse to judge by the name of a class what nothing here, and no rule, has ever heard of."""
    named = {
        one.subject
        for one in explanation.considered
        if one.rule is not None and (one.key == one.subject or one.stage == "registered rules")
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


def _text(given: str) -> str:
    return read_bytes(given, "traceback").decode("utf-8-sig", "replace")
