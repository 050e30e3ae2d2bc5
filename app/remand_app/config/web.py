"""Settings of the server: where it listens, how long sessions last, what it refuses."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from remand_app.config.kinds import Count, Names, Seconds

OWN_PATHS = frozenset(
    {
        "api", "archive", "audit", "breakers", "dead-queues", "dlq", "favicon.ico", "live", "login",
        "login.css", "login.js", "logout", "metrics", "queues", "redrives", "staleness", "static", "sweeps",
        "templates", "workers", "workflows",
    }
)  # fmt: skip
"""First parts of the server's own paths: with one as prefix, it is unclear whether a proxy strips it."""
_PATH = re.compile(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)*")


class WebSettings(BaseModel):
    """The table `[web]`. Immutable; durations are seconds, sizes are bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address the server listens on; beyond loopback only once there is a user or a token.",
    )
    port: Count = Field(8484, ge=0, le=65_535, description="Port the server listens on; 0: any free one.")
    dashboard_url: str | None = Field(
        None,
        description="Where people open the dashboard, as `https://remand.example.org`, or with a path as "
        "`https://tools.example.org/remand`: its host is allowed, its pages may change things, with https "
        "cookies are Secure, links lead there. Unset: host and port.",
    )
    flower_url: str | None = Field(
        None, description="Where people open Flower; the dashboard links there. Unset: no link."
    )
    allowed_hosts: Names = Field(
        (),
        description="Names that requests may be addressed to, beside loopback and that of `dashboard_url`; "
        "`*`: any, which gives up the protection against rebound DNS names.",
    )
    trusted_proxies: Names = Field(
        (),
        description="Addresses or networks of proxies whose X-Forwarded-For, -Proto and -Host are believed; "
        "they see to it themselves to which names they answer.",
    )
    session_idle_seconds: Seconds = Field(
        28_800.0, ge=60, le=2_592_000, description="Seconds without a request after which a session ends."
    )
    session_max_seconds: Seconds = Field(
        604_800.0, ge=60, le=31_536_000, description="Seconds after which a session ends, used or not."
    )
    login_attempts: Count = Field(
        5,
        ge=1,
        le=1000,
        description="Wrong passwords for one account before the next try has to wait; four times as many "
        "from one address.",
    )
    login_max_delay_seconds: Seconds = Field(
        60.0, ge=1, le=3600, description="Longest wait, in seconds, after wrong passwords; it starts at one."
    )
    max_body_bytes: Count = Field(
        2_097_152, ge=1024, le=209_715_200, description="Largest body of a request, in bytes."
    )
    header_seconds: Seconds = Field(
        10.0, ge=0.1, le=300, description="Seconds a client may take to send the head of a request."
    )
    body_seconds: Seconds = Field(
        30.0, ge=0.1, le=3600, description="Seconds a client may take to send the body of a request."
    )
    strangers: Count = Field(
        200,
        ge=1,
        le=800,
        description="Connections by which nobody was recognised yet, at most: of more, the oldest that keeps "
        "the server waiting is ended. All connections may be 1000.",
    )
    threads: Count = Field(
        16,
        ge=1,
        le=256,
        description="Requests that are worked on at a time, each with a connection to Postgres of its own.",
    )

    @field_validator("dashboard_url", "flower_url")
    @classmethod
    def _is_a_page(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("should be a URL that starts with http:// or https://")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("should be a plain address: no login, no query, no fragment")
        return value.rstrip("/")

    @field_validator("dashboard_url")
    @classmethod
    def _has_a_path_of_its_own(cls, value: str | None) -> str | None:
        path = "" if value is None else urlsplit(value).path
        if not _PATH.fullmatch(path):
            raise ValueError("its path should be of letters, digits and - _ ~ . alone, as /remand")
        if path.split("/")[1:2] and path.split("/")[1] in OWN_PATHS:
            raise ValueError(f"its path should not begin as {path!r} does: the dashboard has pages there")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            try:
                ipaddress.ip_network(address, strict=False)
            except ValueError:
                raise ValueError(f"{address!r} is neither an address nor a network") from None
        return value

    @property
    def is_loopback(self) -> bool:
        """Whether nobody outside this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def path(self) -> str:
        """The prefix of every path in a browser: the path of `dashboard_url`, "" for none."""
        return urlsplit(self.dashboard_url).path if self.dashboard_url is not None else ""

    @property
    def is_https(self) -> bool:
        """Whether people reach the server by TLS, so that cookies can be restricted to TLS."""
        return self.dashboard_url is not None and self.dashboard_url.startswith("https:")


def is_loopback(host: str) -> bool:
    """Tell whether an address or name leads only to this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
