"""How an explanation is shown: the verdict, what was asked on the way to it, the retries that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from remand.classify_context import Considered
from remand.explain import Explanation
from remand.rules import RuleBook
from remand.verdict import Classification
from remand_app.cli.render.output import facts, span, table
from remand_app.domain.decide import Dead, EndedAttempt, Planned, route, schedule
from remand_app.domain.retry import RetrySpec

SHOWN = 20
"""Retries listed at most."""

CHAIN_SHOWN = 12
"""Things considered that are listed at most, unless all are asked for."""


@dataclass(frozen=True, slots=True)
class RenderedExplanation:
    """An explanation with the policy that settings or a template give it, and the retries that follow."""

    explanation: Explanation
    policy: str
    plan: Sequence[Planned]
    source: str

    def to_dict(self) -> dict[str, Any]:
        """Return the whole of it, for programs."""
        verdict = {name: getattr(self.explanation.verdict, name) for name in Classification.__slots__}
        return {
            **verdict,
            "policy": self.policy,
            "policy_of_rule": self.explanation.verdict.policy,
            "source": self.source,
            "wrappers": self.explanation.wrappers,
            "codes": self.explanation.codes,
            "winner": self.explanation.winner,
            "considered": self.explanation.considered,
            "schedule": [_planned(planned) for planned in self.plan],
        }

    def verdict_lines(self) -> RenderableType:
        """Return category, policy, rule and why."""
        verdict = self.explanation.verdict
        policy = self.policy
        if policy != verdict.policy:
            policy = f"{policy} (by configuration; the rule says {verdict.policy})"
        wait = verdict.retry_after
        return facts(
            [
                ("category", verdict.category),
                ("policy", Text(policy, style="red" if self.policy == "never" else "yellow")),
                ("rule", f"{verdict.rule} (confidence {verdict.confidence:g})"),
                ("source", self.source),
                ("why", verdict.explanation),
                ("looked through", " › ".join(self.explanation.wrappers)),
                ("codes", "  ".join(f"{code.kind} {code.code}" for code in self.explanation.codes)),
                ("asked to wait", span(wait.total_seconds()) if wait is not None else None),
            ]
        )

    def chain(self, *, whole: bool) -> RenderableType:
        """Return what was asked in order: whole, or only rules and codes, and not too many of them."""
        asked = [
            considered
            for considered in self.explanation.considered
            if whole or considered.rule is not None or considered.key
        ]
        if not asked:
            return Text("no rule was found by class, code, cause or text", style="dim")
        left_out = 0
        if not whole and len(asked) > CHAIN_SHOWN:
            left_out, asked = len(asked) - CHAIN_SHOWN, asked[-CHAIN_SHOWN:]
        listed = table(
            "asked",
            "about",
            "looked up",
            "rule",
            "outcome",
            rows=[_asked(considered) for considered in asked],
        )
        if not left_out:
            return listed
        return Group(listed, Text(f"{left_out} asked before these: see them with --verbose", style="dim"))

    def plan_lines(self) -> list[RenderableType]:
        """Return what follows after each attempt if all fail so."""
        lines: list[RenderableType] = [_line(planned) for planned in self.plan[:SHOWN]]
        if len(self.plan) > SHOWN:
            lines.append(f"… and so on up to attempt {self.plan[-1].attempt}, then a dead letter")
        return lines


def render_explanation(
    explanation: Explanation, spec: RetrySpec, book: RuleBook, at: datetime, *, is_nothing_sent: bool
) -> RenderedExplanation:
    """Return an explanation with the retries that follow under `spec`, from the first attempt on."""
    verdict = explanation.verdict
    policy = route(verdict.category, verdict.policy, spec)
    ended = EndedAttempt("failed", 1, 0, verdict.category, policy, verdict.retry_after, is_nothing_sent)
    return RenderedExplanation(explanation, policy, schedule(ended, spec, now=at), _source(explanation, book))


def _source(explanation: Explanation, book: RuleBook) -> str:
    winner = explanation.winner
    if winner is not None and winner.stage == "registered rules":
        return winner.key
    rule = book.by_name(explanation.verdict.rule)
    return "" if rule is None else rule.source


def _asked(considered: Considered) -> tuple[str | Text, ...]:
    style = {"matched": "green", "condition not met": "yellow"}.get(considered.outcome, "dim")
    note = f": {considered.note}" if considered.note else ""
    return (
        considered.stage,
        considered.subject,
        considered.key,
        considered.rule or "",
        Text(f"{considered.outcome}{note}", style=style),
    )


def _planned(planned: Planned) -> dict[str, Any]:
    decision = planned.decision
    if isinstance(decision, Dead):
        return {
            "attempt": planned.attempt, "then": "dead_letter", "reason": decision.reason,
            "explanation": decision.explanation,
        }  # fmt: skip
    return {
        "attempt": planned.attempt,
        "then": "retry",
        "delay_seconds": decision.delay,
        "least_seconds": planned.least,
        "most_seconds": planned.most,
        "explanation": decision.explanation,
    }


def _line(planned: Planned) -> str:
    if isinstance(planned.decision, Dead):
        return f"after attempt {planned.attempt}: dead letter, {planned.decision.reason}"
    least, most = span(planned.least.total_seconds()), span(planned.most.total_seconds())
    spread = f" ({least} to {most})" if least != most else ""
    return f"after attempt {planned.attempt}: again in {span(planned.decision.delay.total_seconds())}{spread}"
