"""Own what a retry policy consists of: the overrides people write and the resolved numbers the engine uses.

Settings, template and step each may give `RetryOverrides`; `resolve_retry` lays them over `DEFAULT_RETRY`,
the later wins. All durations are seconds. What the numbers do to an attempt is in `backoff` and `decide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Category = Literal["transient", "network", "resource", "permission", "validation", "permanent"]
Policy = Literal["exponential", "linear", "immediate", "never"]

CATEGORIES: Final[tuple[str, ...]] = get_args(Category)
POLICIES: Final[tuple[str, ...]] = get_args(Policy)

MAX_SECONDS: Final = 366 * 86_400
"""The longest duration a policy may name: a year. Beyond that a date is a mistake, not a plan."""

MAX_ATTEMPTS: Final = 10_000

Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)]


@dataclass(frozen=True, slots=True)
class Exponential:
    """Wait `base_seconds * factor ** (failures - 1)`, at most `cap_seconds`."""

    base_seconds: float
    factor: float
    cap_seconds: float


@dataclass(frozen=True, slots=True)
class Linear:
    """Wait `step_seconds * failures`, at most `cap_seconds`."""

    step_seconds: float
    cap_seconds: float


@dataclass(frozen=True, slots=True)
class Immediate:
    """Wait `delay_seconds`, the same after every failure (a fixed cooldown when it is not 0)."""

    delay_seconds: float


@dataclass(frozen=True, slots=True)
class RetrySpec:
    """Hold the resolved retry rules of one step: every number known."""

    max_attempts: int
    """Total executions, the first included; lost attempts do not count."""
    retryable: bool
    """Gates re-runs only; the first execution is always allowed."""
    lost_attempts: int
    """How many attempts may be lost with their worker before the step counts as poison."""
    jitter: float
    """Ratio 0..1 of the delay by which it is spread."""
    max_retry_after_seconds: float
    """A server asking for a longer wait than this sends the step to the dead letter queue."""
    exponential: Exponential
    linear: Linear
    immediate: Immediate
    policies: Mapping[str, str]
    """Category → policy, where it differs from the classifier's."""


DEFAULT_RETRY: Final = RetrySpec(
    max_attempts=3,
    retryable=True,
    lost_attempts=3,
    jitter=0.15,
    max_retry_after_seconds=6 * 3600,
    exponential=Exponential(base_seconds=60, factor=2, cap_seconds=3600),
    linear=Linear(step_seconds=300, cap_seconds=3600),
    immediate=Immediate(delay_seconds=0),
    policies=MappingProxyType({}),
)


class _Overrides(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExponentialOverrides(_Overrides):
    """Change some of the numbers of the exponential policy."""

    base_seconds: Seconds | None = None
    factor: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] | None = None
    cap_seconds: Seconds | None = None


class LinearOverrides(_Overrides):
    """Change some of the numbers of the linear policy."""

    step_seconds: Seconds | None = None
    cap_seconds: Seconds | None = None


class ImmediateOverrides(_Overrides):
    """Change the fixed delay of the immediate policy."""

    delay_seconds: Seconds | None = None


class RetryOverrides(_Overrides):
    """Hold what one place (settings, template, step) says about retries; what is None is left as it was."""

    max_attempts: Count | None = None
    retryable: bool | None = None
    lost_attempts: Count | None = None
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    max_retry_after_seconds: Seconds | None = None
    exponential: ExponentialOverrides | None = None
    linear: LinearOverrides | None = None
    immediate: ImmediateOverrides | None = None
    policies: dict[Category, Policy] | None = None


def resolve_retry(*overrides: RetryOverrides) -> RetrySpec:
    """Lay the overrides over `DEFAULT_RETRY`, number by number and category by category; the later wins."""
    spec = DEFAULT_RETRY
    for override in overrides:
        spec = _lay(spec, override)
    return spec


_NESTED: Final = ("exponential", "linear", "immediate")


def _lay(spec: RetrySpec, override: RetryOverrides) -> RetrySpec:
    given = _given(override, (name for name in RetryOverrides.model_fields if name not in _NESTED))
    if override.policies is not None:
        given["policies"] = MappingProxyType({**spec.policies, **override.policies})
    for name in _NESTED:
        nested: BaseModel | None = getattr(override, name)
        if nested is not None:
            given[name] = replace(getattr(spec, name), **_given(nested, type(nested).model_fields))
    return replace(spec, **given)


def _given(override: BaseModel, names: Iterable[str]) -> dict[str, Any]:
    values = {name: getattr(override, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
