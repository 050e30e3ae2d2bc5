"""Choose the rules that judge a failure of a step, its retry queue, and its retry policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from remand.rules import RuleBook
from remand_app.config import Settings
from remand_app.domain.decide import route
from remand_app.domain.template import RetrySpec, Template, resolve_retry
from remand_app.engine.rule_sets import RuleSets, books_of_settings
from remand_app.store.claims import Claim, EndedBadly
from remand_app.store.templates import Templates


class Routing:
    """Resolves the retry rules of a step."""

    def __init__(self, templates: Templates, settings: Settings, books: RuleSets | None = None) -> None:
        """`books`: the rule books of the process; None: only the rules of settings and templates."""
        self._templates = templates
        self._settings = settings
        self._books = books

    def route(self, ended: Sequence[EndedBadly]) -> list[EndedBadly]:
        """Return the ends with the policy that settings, template and step give their category."""
        templates = self._templates.of_workflows([end.workflow_id for end in ended])
        routed = []
        for end in ended:
            template = templates.get(end.workflow_id)
            spec = (
                self.spec(template, end.step) if template is not None else resolve_retry(self._settings.retry)
            )
            category = end.failure.classification.category
            routed.append(replace(end, policy=route(category, end.policy, spec)))
        return routed

    def spec(self, template: Template, step: str) -> RetrySpec:
        """Return the retry rules of a step: the step's over the template's over the settings'."""
        own = template.step(step)
        layers = [self._settings.retry, template.retry, *([own.retry] if own is not None else [])]
        return resolve_retry(*layers)

    def book(self, claim: Claim) -> RuleBook:
        """Return the rules for a failure of a claim. Transaction: none once its template is known."""
        if self._books is None:
            self._books = books_of_settings(self._settings)
        return self._books.of(self._templates.get(claim.template_id).template, claim.step)

    @staticmethod
    def fields(end: EndedBadly) -> dict[str, Any]:
        """Return the log fields of a bad end."""
        verdict = end.failure.classification
        return {
            "workflow_id": str(end.workflow_id),
            "step": end.step,
            "attempt": end.attempt,
            "error": end.failure.error_class,
            "category": verdict.category,
            "policy": end.policy,
            "rule": verdict.rule,
        }
