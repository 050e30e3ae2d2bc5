"""`remand classify` on what the database holds: a stored attempt, and failures that no rule knew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from remand.failure import Failure
from remand.rejudge import explain_recorded
from remand_app.cli.context import Cli
from remand_app.cli.render.explanation import RenderedExplanation, render_explanation
from remand_app.cli.render.output import age, facts, now, short, span, state, table
from remand_app.cli.render.rule_draft import draft
from remand_app.domain.errors import FingerprintNotFound, InputInvalid, StepNotFound
from remand_app.engine.routing import Routing
from remand_app.engine.rule_sets import RuleSets
from remand_app.resources.steps import Attempt, stored_attempts, stored_step
from remand_app.resources.unclassified import Unclassified, forget, list_unclassified
from remand_app.resources.workflows import find_workflow


def show_attempt(cli: Cli, books: RuleSets, workflow: str, step: str, number: int, *, verbose: bool) -> None:
    """Answer with what was decided on a stored attempt, and with what today's rules say of its failure.

    Raises:
        WorkflowNotFound, StepNotFound: there is no such attempt.
        InputInvalid: it did not fail.
    """
    stored = find_workflow(cli.database, workflow)
    stored_step(cli.database, stored.id, step)
    attempt, failure = _attempt(stored_attempts(cli.database, stored.id, step), step, number)
    template = cli.engine.templates.get(stored.template_id).template
    book = books.of(template, step)
    at = now()
    spec = Routing(cli.engine.templates, cli.settings, books).spec(template, step)
    today = render_explanation(
        explain_recorded(failure, now=attempt.ended_at or at, book=book),
        spec,
        book,
        at,
        is_nothing_sent=failure.facts.get("nothing_sent") is True,
    )
    cli.out.answer(
        {"workflow_id": stored.id, "attempt": attempt, "today": today.to_dict()},
        _then(stored.id, attempt, failure),
        Text(),
        _difference(failure, today),
        today.verdict_lines(),
        Text(),
        today.chain(whole=verbose),
    )


def _attempt(attempts: list[Attempt], step: str, number: int) -> tuple[Attempt, Failure]:
    attempt = next((attempt for attempt in attempts if attempt.attempt == number), None)
    if attempt is None:
        raise StepNotFound(
            f"step {step!r} has no attempt {number}",
            hint=f"it has {', '.join(str(attempt.attempt) for attempt in attempts) or 'none'}",
        )
    if attempt.failure is None:
        raise InputInvalid(f"attempt {number} of step {step!r} did not fail: it is {attempt.outcome}")
    return attempt, attempt.failure


def _then(workflow_id: Any, attempt: Attempt, failure: Failure) -> RenderableType:
    verdict = failure.classification
    wait = verdict.retry_after
    codes = failure.facts.get("codes", {})
    return facts(
        [
            ("workflow", str(workflow_id)),
            ("attempt", Text.assemble(f"#{attempt.attempt} of {attempt.step}, ", state(attempt.outcome))),
            ("failure", f"{failure.error_class}: {failure.message}"),
            ("caused by", "\n".join(failure.causes)),
            ("derives from", " › ".join(failure.facts.get("bases", [])[1:])),
            ("codes", "  ".join(f"{kind} {code}" for kind, code in codes.items())),
            ("then", f"{verdict.category}/{verdict.policy} by {verdict.rule}: {verdict.explanation}"),
            ("asked to wait", None if wait is None else span(wait.total_seconds())),
            ("routed as", attempt.policy),
            ("decided", _decided(attempt)),
        ]
    )


def _decided(attempt: Attempt) -> str | None:
    if attempt.decision is None:
        return None
    due = f", due {attempt.due_at:%Y-%m-%d %H:%M:%S} UTC" if attempt.due_at is not None else ""
    why = f": {attempt.explanation}" if attempt.explanation else ""
    return f"{attempt.decision}{due}{why}"


def _difference(failure: Failure, today: RenderedExplanation) -> Text:
    then, again = failure.classification, today.explanation.verdict
    if (then.category, then.policy, then.rule) == (again.category, again.policy, again.rule):
        return Text("today's rules say the same", style="green")
    return Text("today's rules say otherwise", style="yellow")


def show_unclassified(cli: Cli, after: str | None, limit: int) -> None:
    """Answer with the failures that no rule knew, the last seen first, each with a rule to start from."""
    page = list_unclassified(cli.database, after=after, limit=limit)
    known = "no rule was missing: every failure so far was known"
    parts: list[RenderableType] = [_listing(page.items) if page.items else known]
    for failure in page.items:
        parts += [
            Text(f"\n# {failure.fingerprint}", style="dim"),
            Text(draft(failure.error_class, failure.message, failure.fingerprint)),
        ]
    cli.out.answer_page(
        page.each(
            lambda failure: {
                **_fields(failure),
                "rule": draft(failure.error_class, failure.message, failure.fingerprint),
            }
        ),
        *parts,
    )


def forget_unclassified(cli: Cli, fingerprint: str) -> None:
    """Take a fingerprint off the list; failures that a rule still does not know bring it back.

    Raises:
        FingerprintNotFound: it is not on the list.
    """
    if not forget(cli.database, fingerprint):
        raise FingerprintNotFound(
            f"no unclassified failure has the fingerprint {fingerprint!r}",
            hint="`remand classify --unclassified` lists them",
            details={"fingerprint": fingerprint},
        )
    cli.out.answer({"forgotten": fingerprint}, f"{fingerprint} is forgotten")


def _fields(failure: Unclassified) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in Unclassified.__slots__}


def _listing(failures: Sequence[Unclassified]) -> RenderableType:
    at = now()
    return table(
        "fingerprint", "count", "first", "last", "handler", "example", "failure",
        rows=[
            (
                failure.fingerprint,
                str(failure.count),
                f"{age(failure.first_at, at)} ago",
                f"{age(failure.last_at, at)} ago",
                failure.handler,
                f"{short(failure.workflow_id)} {failure.step} {failure.attempt}",
                f"{failure.error_class}: {failure.message}",
            )
            for failure in failures
        ],
    )  # fmt: skip
