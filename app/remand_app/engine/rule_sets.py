"""The classifier's rules for a failure of a step: the users' in their order, then the built-in ones.

The order: the step's own rules, the template's, the settings', those made by `@remand.rule`, and those of
installed packages (entry points). A process gathers them once, when it imports the modules that define them.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from types import ModuleType
from typing import Any

from remand.rules import RuleBook, built_in
from remand.rules.user import (
    ENTRY_POINT_GROUP,
    AnyRule,
    FunctionRule,
    Layers,
    UserRule,
    conflicts,
    registered,
)
from remand_app.config import Settings
from remand_app.domain.errors import ConfigInvalid, Problem
from remand_app.domain.template import Template
from remand_app.telemetry import log


class RuleSets:
    """The rule book of every step. Books are made on first use; steps without rules share one."""

    def __init__(self, layers: Layers = ()) -> None:
        """`layers`: the rules that come after a template's own."""
        self.layers: Layers = tuple((place, tuple(rules)) for place, rules in layers)
        self.base: RuleBook = built_in().extended(self.layers)
        """The book without any template's rules."""
        self._made: dict[tuple[str, str | None], RuleBook] = {}

    def of(self, template: Template, step: str) -> RuleBook:
        """Return the book of a step; of the template, when it has no such step."""
        spec = template.step(step)
        own = spec if spec is not None and spec.rules else None
        if own is None and not template.rules:
            return self.base
        # A published version never changes: its full name is enough.
        key = (template.ref, own.name if own is not None else None)
        if key not in self._made:
            self._made[key] = self.base.extended(template.rule_layers(own))
        return self._made[key]


def books_of_settings(settings: Settings) -> RuleSets:
    """Return the books with the rules of the settings alone: nothing is imported."""
    return RuleSets([_settings_layer(settings)])


def load_books(settings: Settings) -> RuleSets:
    """Gather the rules of settings, code and installed packages. Modules with handlers are imported by now.

    Raises:
        ConfigInvalid: with every entry point that fails and every conflict between rules.
    """
    problems: list[Problem] = []
    installed = list(_installed_layers(problems))
    # An entry point may hand out what a decorator has registered: that is one rule, not two.
    handed_out = {id(rule) for _, rules in installed for rule in rules}
    code = [rule for rule in registered() if id(rule) not in handed_out]
    layers: Layers = [_settings_layer(settings), ("@remand.rule", code), *installed]
    problems += (Problem(None, None, "rules", conflict, "RULE_CONFLICT") for conflict in conflicts(layers))
    if problems:
        raise ConfigInvalid(problems)
    return RuleSets(layers)


def _settings_layer(settings: Settings) -> tuple[str, list[UserRule]]:
    return "settings", [rule.to_rule("settings") for rule in settings.rules]


def _installed_layers(problems: list[Problem]) -> Iterator[tuple[str, list[AnyRule]]]:
    entry_points = metadata.entry_points(group=ENTRY_POINT_GROUP)
    for entry in sorted(entry_points, key=lambda entry: (entry.name, entry.value)):
        place = f"entry point {entry.name}"
        try:
            rules = _rules_in(entry.load())
        except Exception as error:  # noqa: BLE001 - installed packages: they may raise anything when loaded
            failure = f"{entry.value} fails when it is loaded: {type(error).__name__}: {error}"
            problems.append(Problem(_package(entry), None, place, failure, "RULE_ENTRY_POINT"))
        else:
            yield place, rules


def _package(entry: metadata.EntryPoint) -> str | None:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else None


def _rules_in(loaded: Any) -> list[AnyRule]:
    """Return the rules that an entry point stands for.

    Raises:
        TypeError: it is no rule, no iterable of rules, nor a module or callable that gives one.
    """
    by_function = {rule.function: rule for rule in registered()}
    if isinstance(loaded, ModuleType):
        decorated = [rule for rule in registered() if rule.function.__module__ == loaded.__name__]
        loaded = getattr(loaded, "RULES", decorated)
    elif callable(loaded) and not isinstance(loaded, UserRule | FunctionRule):
        loaded = by_function[loaded] if loaded in by_function else loaded()
    rules = list(loaded) if isinstance(loaded, Iterable) else [loaded]
    for rule in rules:
        if not isinstance(rule, UserRule | FunctionRule):
            raise TypeError(
                f"{rule!r:.80} is no rule: give UserRule objects or functions made by @remand.rule"
            )
    if not rules:
        raise TypeError("it gives no rules")
    return rules


@dataclass(frozen=True, slots=True)
class UnknownClass:
    """A rule that waits for a class no exception will have here."""

    rule: str
    error_class: str
    source: str
    why: str

    def __str__(self) -> str:
        return f"rule {self.rule} ({self.source}): {self.error_class} {self.why}"


def unknown_classes(layers: Layers) -> list[UnknownClass]:
    """Return the classes that rules name, whose package is installed here, and that are not in it.

    Imports the modules they name. What is not installed is passed over: another worker may have it.
    """
    return [
        UnknownClass(rule.name, name, rule.source or place, why)
        for place, rules in layers
        for rule in rules
        for name in sorted(rule.conditions.errors)
        if (why := _what_is_wrong_with(name))
    ]


def warn_of_unknown_classes(layers: Layers) -> None:
    """Log what `unknown_classes` finds."""
    for unknown in unknown_classes(layers):
        log(
            "rule.unknown_class",
            rule=unknown.rule,
            error_class=unknown.error_class,
            source=unknown.source,
            why=unknown.why,
        )


def _what_is_wrong_with(name: str) -> str:
    """Return why no exception has that class name; empty if one may have it, or if nobody can know."""
    package = name.partition(".")[0]
    if package == "__main__" or "<locals>" in name:
        return ""
    try:
        named = pkgutil.resolve_name(name)
    except ModuleNotFoundError as error:
        return "" if error.name == package else f"is not known: {error}"
    except (ImportError, AttributeError) as error:
        return f"is not known: {error}"
    except Exception as error:  # noqa: BLE001 - users' modules: they may raise anything when imported
        return f"cannot be looked at: {type(error).__name__}: {error}"
    if not (isinstance(named, type) and issubclass(named, BaseException)):
        return "is no class of exceptions"
    real = f"{named.__module__}.{named.__qualname__}"
    return "" if real == name else f"is another name of {real}, which is what a rule must say"
