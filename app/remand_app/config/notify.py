"""Settings of notices: which target gets which notices. There is no target by default."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from remand_app.config.kinds import Count, Seconds
from remand_app.config.web import is_loopback
from remand_app.domain.errors import NotifyUnfit
from remand_app.domain.notifications import DEFAULT_KINDS, NotificationKind

MAX_TARGETS = 20
_SHORTEST_SECRET = 16
_MOST_BYTES = 10_000
_WHSEC = "whsec_"


def _parse(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        # Not the text of the error: it might quote what is secret.
        raise ValueError(f"is not JSON: {error.msg} at character {error.pos}") from None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a target is, and what its messages are signed with; `repr` shows neither."""

    url: str = field(repr=False)
    key: bytes | None = field(repr=False)
    """None: messages are not signed."""


class NotifyTarget(BaseModel):
    """One `[[notify.targets]]`. Immutable; `repr` and JSON hide address and secret."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True, hide_input_in_errors=True
    )

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Told in lists and logs in place of the address."
    )
    format: Literal["json", "slack"] = Field(
        "json", description="`json`: as Standard Webhooks; `slack`: as Slack's incoming webhooks."
    )
    url: SecretStr | None = Field(
        None, description="Its address, https; shown nowhere, for that of Slack is a secret."
    )
    url_from: str | None = Field(
        None, description="Where to read the address instead: `env:NAME` or `file:/path`."
    )
    secret: SecretStr | None = Field(
        None, description="Key of the signature: text, or `whsec_` and Base64. Unset: not signed."
    )
    secret_from: str | None = Field(
        None, description="Where to read the secret instead: `env:NAME` or `file:/path`."
    )
    allow_http: bool = Field(False, description="Whether the address may be plain http beyond this machine.")
    kinds: Annotated[tuple[NotificationKind, ...], BeforeValidator(_parse)] = Field(
        DEFAULT_KINDS, min_length=1, description="What it is told; every other kind is not."
    )
    timeout_seconds: Seconds = Field(10.0, gt=0, le=60, description="Seconds that one try may take in all.")
    max_attempts: Count = Field(15, ge=1, le=100, description="Tries of a message before it is given up.")
    min_interval_seconds: Seconds = Field(
        30.0,
        ge=0,
        le=86_400,
        description="Fewest seconds between two messages; what comes up meanwhile goes into one.",
    )

    @field_validator("url_from", "secret_from")
    @classmethod
    def _names_a_place(cls, value: str | None) -> str | None:
        if value is not None and (value.partition(":")[0] not in {"env", "file"} or value.endswith(":")):
            raise ValueError("should be env:NAME or file:/path")
        return value

    @model_validator(mode="after")
    def _can_be_reached(self) -> NotifyTarget:
        if (self.url is None) == (self.url_from is None):
            raise ValueError("needs either url or url_from")
        if self.secret is not None and self.secret_from is not None:
            raise ValueError("has both secret and secret_from")
        if self.url is not None:
            _check_url(self.url.get_secret_value(), self.allow_http)
        if self.secret is not None:
            _key(self.secret.get_secret_value())
        return self

    def address(self, environ: Mapping[str, str] | None = None) -> Address:
        """Return address and key as they are now, read from where the settings say.

        Raises:
            NotifyUnfit: what is named is missing or unusable; the message holds no secret.
        """
        environ = os.environ if environ is None else environ
        try:
            url = _value(self.url, self.url_from, environ)
            secret = _value(self.secret, self.secret_from, environ)
            assert url is not None
            _check_url(url, self.allow_http)
            return Address(url, None if secret is None else _key(secret))
        except ValueError as error:
            raise NotifyUnfit(f"target {self.name}: {error}", details={"target": self.name}) from None


class NotifySettings(BaseModel):
    """The table `[notify]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    targets: Annotated[tuple[NotifyTarget, ...], BeforeValidator(_parse)] = Field(
        (),
        max_length=MAX_TARGETS,
        description="Who is told of dead letters and the like, a `[[notify.targets]]` each; none: nobody, "
        "and nothing is kept. In the environment a JSON list.",
    )
    keep_seconds: Seconds = Field(
        2_592_000.0,
        ge=3600,
        le=31_536_000,
        description="Seconds that notices are kept, sent or not; what is older is deleted.",
    )

    @field_validator("targets")
    @classmethod
    def _have_names_of_their_own(cls, value: tuple[NotifyTarget, ...]) -> tuple[NotifyTarget, ...]:
        names = [target.name for target in value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two targets are called {', '.join(twice)}")
        return value


def _value(secret: SecretStr | None, place: str | None, environ: Mapping[str, str]) -> str | None:
    if place is None:
        return None if secret is None else secret.get_secret_value()
    kind, _, name = place.partition(":")
    if kind == "env":
        if not environ.get(name):
            raise ValueError(f"the environment variable {name} is not set")
        return environ[name].strip()
    try:
        with Path(name).open("rb") as file:
            read = file.read(_MOST_BYTES + 1)
        text = read.decode("utf-8").strip()
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not UTF-8 text") from None
    if not text or len(read) > _MOST_BYTES:
        raise ValueError(f"{name} is {'too long' if text else 'empty'}")
    return text


def _check_url(url: str, allow_http: bool) -> None:
    """Raise ValueError for an invalid address, without quoting it: it may be a secret."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the address is no URL") from None
    if parts.scheme not in {"https", "http"} or not host:
        raise ValueError("the address should be a URL that starts with https://")
    if parts.scheme == "http" and not (allow_http or is_loopback(host)):
        raise ValueError("the address should be https; plain http needs allow_http, or this machine")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("the address should have no login and no fragment")
    if not url.isascii() or any(ord(sign) <= 0x20 or ord(sign) == 0x7F for sign in url):
        raise ValueError("the address holds characters that a URL cannot; write them as %XX")


def _key(secret: str) -> bytes:
    if not secret.startswith(_WHSEC):
        if len(secret) < _SHORTEST_SECRET:
            raise ValueError(f"the secret should have at least {_SHORTEST_SECRET} characters")
        return secret.encode()
    try:
        key = base64.b64decode(secret.removeprefix(_WHSEC), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the secret starts with whsec_ but goes on as no Base64") from None
    if len(key) < _SHORTEST_SECRET:
        raise ValueError(f"the secret should hold at least {_SHORTEST_SECRET} bytes")
    return key
