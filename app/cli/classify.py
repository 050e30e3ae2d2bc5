"""`remand classify`: what would happen to an exception, and why."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from app.cli.context import EXPLAIN, ROOT, Cli
from app.cli.lookalike import look_alike, read_pairs, read_traceback, read_value
from app.cli.output import facts, span
from app.domain.decide import Dead, EndedAttempt, Retry, decide, route
from app.domain.retry import RetrySpec, resolve_retry
from remand.classify import Classification, classify

SHOWN = 20
"""Retries listed at most."""


@ROOT.verb(
    "classify",
    panel=EXPLAIN,
    examples=(
        'remand classify ConnectionResetError --message "[Errno 104] Connection reset by peer"',
        "remand classify urllib.error.HTTPError --attr code=503 --header Retry-After=30",
        "remand classify --traceback - < error.txt",
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
) -> None:
    """Explain what would happen to an exception: its category, the rule that says so, the retries.

    The retries are those of the settings; a template may say otherwise. Needs no servers.
    """
    if (exception is None) == (traceback is None):
        raise typer.BadParameter("give either a CLASS or --traceback")
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
    at = datetime.now(UTC)
    verdict = classify(failure, now=at)
    spec = resolve_retry(cli.given.retry)
    policy = route(verdict.category, verdict.policy, spec)
    plan = schedule(verdict, policy, spec, at)
    told = {name: getattr(verdict, name) for name in Classification.__slots__}
    cli.out.answer(
        {**told, "policy": policy, "schedule": [_planned(one) for one in plan]},
        _verdict(verdict, policy),
        Text(),
        *_plan(plan),
    )


def schedule(verdict: Classification, policy: str, spec: RetrySpec, at: datetime) -> list[Retry | Dead]:
    """Return the decisions after each attempt if it fails so every time, without jitter, up to the death."""
    plan: list[Retry | Dead] = []
    for failures in range(1, spec.max_attempts + 1):
        ended = EndedAttempt("failed", failures, 0, verdict.category, policy, verdict.retry_after)
        plan.append(decide(ended, spec, now=at, jitter=0.0))
        if isinstance(plan[-1], Dead):
            break
    return plan


def _text(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    try:
        return Path(given).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise typer.BadParameter(f"{given} cannot be read: {error.strerror}") from None


def _planned(decision: Retry | Dead) -> dict[str, Any]:
    if isinstance(decision, Dead):
        return {"then": "dead_letter", "reason": decision.reason, "explanation": decision.explanation}
    return {"then": "retry", "delay_seconds": decision.delay, "explanation": decision.explanation}


def _verdict(verdict: Classification, policy: str) -> RenderableType:
    told = policy if policy == verdict.policy else f"{policy} (settings; the rule says {verdict.policy})"
    return facts(
        [
            ("category", verdict.category),
            ("policy", Text(told, style="red" if policy == "never" else "yellow")),
            ("rule", f"{verdict.rule} (confidence {verdict.confidence:g})"),
            ("why", verdict.explanation),
            ("asked to wait", span(verdict.retry_after.total_seconds()) if verdict.retry_after else None),
        ]
    )


def _plan(plan: list[Retry | Dead]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for number, decision in enumerate(plan[:SHOWN], start=1):
        if isinstance(decision, Dead):
            lines.append(f"after attempt {number}: dead letter, {decision.reason}")
        else:
            lines.append(f"after attempt {number}: again in {span(decision.delay.total_seconds())}")
    if len(plan) > SHOWN:
        lines.append(f"… and so on up to attempt {len(plan)}, then a dead letter")
    return lines
