"""Own what a retry policy consists of: the overrides people write and the resolved numbers the engine uses.

Settings, template and step each may give `RetryOverrides`; `resolve_retry` lays them over `DEFAULT_RETRY`,
the later wins. All durations are seconds. What the numbers do to an attempt is in `backoff` and `decide`.
Source: B3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, cast, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

Category = Literal["transient", "network", "resource", "permission", "validation", "permanent"]
Policy = Literal["exponential", "linear", "immediate", "never", "fixed", "fibonacci"]
JitterKind = Literal["none", "full", "equal"]

CATEGORIES: Final[tuple[str, ...]] = get_args(Category)
POLICIES: Final[tuple[str, ...]] = get_args(Policy)

MAX_SECONDS: Final = 366 * 86_400
"""The longest duration a policy may name: a year. Beyond that a date is a mistake, not a plan."""

MAX_ATTEMPTS: Final = 10_000

Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)]


def _read_jitter(value: object, info: ValidationInfo) -> float | JitterKind:
    if value in get_args(JitterKind):
        return cast("JitterKind", value)
    number = value
    if isinstance(value, str) and info.mode == "python":  # environment variables are text
        number = _number(value)
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 1:
        return float(number)
    raise PydanticCustomError("jitter", "should be a number from 0 to 1, or one of none, full, equal")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


ConnectionOnly = Literal["connection_only"]
_TRUTH: Final = TypeAdapter(bool)


def _read_retryable(value: object) -> bool | ConnectionOnly:
    if value == "connection_only":
        return "connection_only"
    try:
        return _TRUTH.validate_python(value)
    except ValidationError:
        raise PydanticCustomError("retryable", "should be true, false or connection_only") from None


Retryable = Annotated[bool | ConnectionOnly, PlainValidator(_read_retryable)]

Jitter = Annotated[float | JitterKind, PlainValidator(_read_jitter)]
"""How a delay is spread. A number: to both sides by that ratio; full: from 0 on; equal: from its half on."""


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
    """Wait `delay_seconds`, normally nothing: the other side is well, only this try was unlucky."""

    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Fixed:
    """Wait `delay_seconds`, the same after every failure."""

    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Fibonacci:
    """Wait `base_seconds` times 1, 1, 2, 3, 5, 8 …, at most `cap_seconds`."""

    base_seconds: float
    cap_seconds: float


@dataclass(frozen=True, slots=True)
class RetrySpec:
    """Hold the resolved retry rules of one step: every number known."""

    max_attempts: int
    """Total executions, the first included; lost attempts do not count."""
    retryable: bool | ConnectionOnly
    """Gates re-runs only; the first execution is always allowed. `connection_only`: only after a failure that
    is known to have come before anything was sent."""
    lost_attempts: int
    """How many attempts may be lost with their worker before the step counts as poison."""
    retry_for_seconds: float | None
    """No retry is planned for later than this after the first failure in a row; None: no such limit."""
    jitter: float | JitterKind
    """Ratio 0..1 of the delay by which it is spread to both sides, or a kind (see `Jitter`)."""
    max_retry_after_seconds: float
    """A server asking for a longer wait than this sends the step to the dead letter queue."""
    exponential: Exponential
    linear: Linear
    immediate: Immediate
    fixed: Fixed
    fibonacci: Fibonacci
    policies: Mapping[str, str]
    """Category → policy, where it differs from the classifier's."""


DEFAULT_RETRY: Final = RetrySpec(
    max_attempts=3,
    retryable=True,
    lost_attempts=3,
    retry_for_seconds=None,
    jitter=0.15,
    max_retry_after_seconds=6 * 3600,
    exponential=Exponential(base_seconds=60, factor=2, cap_seconds=3600),
    linear=Linear(step_seconds=300, cap_seconds=3600),
    immediate=Immediate(delay_seconds=0),
    fixed=Fixed(delay_seconds=60),
    fibonacci=Fibonacci(base_seconds=60, cap_seconds=3600),
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
    """Change the delay of the immediate policy."""

    delay_seconds: Seconds | None = None


class FixedOverrides(_Overrides):
    """Change the delay of the fixed policy."""

    delay_seconds: Seconds | None = None


class FibonacciOverrides(_Overrides):
    """Change some of the numbers of the Fibonacci policy."""

    base_seconds: Seconds | None = None
    cap_seconds: Seconds | None = None


class RetryOverrides(_Overrides):
    """Hold what one place (settings, template, step) says about retries; what is None is left as it was."""

    max_attempts: Count | None = None
    retryable: Retryable | None = None
    lost_attempts: Count | None = None
    retry_for_seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)] | None = None
    jitter: Jitter | None = None
    max_retry_after_seconds: Seconds | None = None
    exponential: ExponentialOverrides | None = None
    linear: LinearOverrides | None = None
    immediate: ImmediateOverrides | None = None
    fixed: FixedOverrides | None = None
    fibonacci: FibonacciOverrides | None = None
    policies: dict[Category, Policy] | None = None


def resolve_retry(*overrides: RetryOverrides) -> RetrySpec:
    """Lay the overrides over `DEFAULT_RETRY`, number by number and category by category; the later wins."""
    spec = DEFAULT_RETRY
    for override in overrides:
        spec = _lay(spec, override)
    return spec


_NESTED: Final = ("exponential", "linear", "immediate", "fixed", "fibonacci")


def _lay(spec: RetrySpec, override: RetryOverrides) -> RetrySpec:
    values = _given(override, (name for name in RetryOverrides.model_fields if name not in _NESTED))
    if override.policies is not None:
        values["policies"] = MappingProxyType({**spec.policies, **override.policies})
    for name in _NESTED:
        nested: BaseModel | None = getattr(override, name)
        if nested is not None:
            values[name] = replace(getattr(spec, name), **_given(nested, type(nested).model_fields))
    return replace(spec, **values)


def _given(override: BaseModel, names: Iterable[str]) -> dict[str, Any]:
    values = {name: getattr(override, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
