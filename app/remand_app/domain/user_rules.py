"""Own the shape of a user's rule as it is written in settings and templates: keys, types, bounds.

`remand.rules.user` applies a rule to an exception; `remand_app.engine.rule_sets` selects the rules of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    Strict,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from remand.rules.user import UserRule
from remand_app.domain.patterns import PatternInvalid, compile_pattern, published_pattern
from remand_app.domain.retry import Category, Policy, Seconds

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
MAX_RULES: Final = 1000
"""How many rules one place (settings, a template, a step) may hold."""


STORED: Final = {"is_stored": True}
"""The validation context for templates that are published already."""


def _listed(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, str | int) and not isinstance(value, bool) else value


def _sound(key: str) -> Callable[[object, ValidationInfo], object]:
    """Check one condition by itself, so that its problem is reported at its own place."""

    def check(value: object, info: ValidationInfo) -> object:
        value = _listed(value) if key != "message" else value
        if value and isinstance(value, str if key == "message" else tuple):
            try:
                if isinstance(value, str):
                    # A published rule was checked when it was published.
                    (published_pattern if info.context == STORED else compile_pattern)(
                        value, ignore_case=True
                    )
                else:
                    UserRule(_ALONE, "permanent", **{key: value})  # type: ignore[arg-type]  # that is checked here
            except PatternInvalid as error:
                raise PydanticCustomError(
                    "bad_condition", "{why}", {"why": f"message {value!r} {error}"}
                ) from None
            except ValueError as error:
                why = str(error).removeprefix(f"rule {_ALONE!r}: ")
                raise PydanticCustomError("bad_condition", "{why}", {"why": why}) from None
        return value

    return check


_ALONE: Final = "alone"
Text = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Errors = Annotated[tuple[Text, ...], BeforeValidator(_sound("errors"))]
Statuses = Annotated[tuple[int | str, ...], BeforeValidator(_sound("statuses"))]
Codes = Annotated[tuple[Text, ...], BeforeValidator(_sound("codes"))]
Pattern = Annotated[str, BeforeValidator(_sound("message")), Field(max_length=1000)]
Reason = Annotated[str, Field(max_length=500)]


class RuleSpec(BaseModel):
    """Say what one kind of failure is: if all that is given holds, the failure is of `category`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name = Field(description="Shown wherever the rule decides; no other rule may have it.")
    category: Category = Field(description="What such a failure is.")
    errors: Errors = Field(
        (), description="Class names with their module, such as `shop.errors.Locked`; subclasses match too."
    )
    statuses: Statuses = Field(
        (), description="HTTP statuses: 400 to 599, or `4xx`, `5xx` for all of a family."
    )
    codes: Codes = Field(
        (), description="Other codes, as text: SQLSTATE, gRPC code, errno name, a vendor's own code."
    )
    message: Pattern = Field(
        "", description="Regular expression, searched in message and response body; case does not matter."
    )
    policy: Policy | None = Field(None, description="When to try again; unset: as the category has it.")
    retry_after: Annotated[Seconds, Strict()] | None = Field(
        None,
        description="Least wait before the next attempt, in seconds, unless the failure asks for longer.",
    )
    reason: Reason = Field("", description="Why, for those who read the explanation of a failure.")
    _written_at: str = PrivateAttr("")

    @model_validator(mode="after")
    def _has_a_condition(self) -> RuleSpec:
        if not (self.errors or self.statuses or self.codes or self.message):
            raise PydanticCustomError(
                "no_condition", "matches everything; give errors, statuses, codes or message"
            )
        return self

    def written_at(self, place: str) -> RuleSpec:
        """Return the same rule, knowing where it was written, such as `remand.toml:12`."""
        same = self.model_copy()
        same._written_at = place  # noqa: SLF001 - it is a copy of this very object
        return same

    def to_rule(self, place: str = "") -> UserRule:
        """Return the rule for the classifier; `place`: where it was written, if the rule does not know."""
        return UserRule(
            name=self.name,
            category=self.category,
            errors=self.errors,
            statuses=self.statuses,
            codes=self.codes,
            message=self.message,
            pattern=published_pattern(self.message, ignore_case=True) if self.message else None,
            policy=self.policy or "",
            retry_after=self.retry_after,
            reason=self.reason,
            source=self._written_at or place,
        )
