"""Where people open the dashboard: as set, as `remand up` wrote it down, or as the server would listen."""

from __future__ import annotations

import contextlib
from pathlib import Path

from app.config import Settings

_FILE = "dashboard.url"


def base_url(settings: Settings) -> str:
    """Return the dashboard's address, without a slash at its end."""
    if settings.web.dashboard_url is not None:
        return settings.web.dashboard_url
    with contextlib.suppress(OSError):
        return _file(settings).read_text(encoding="utf-8").strip()
    return address_of(settings.web.host, settings.web.port)


def address_of(host: str, port: int) -> str:
    """Return the address of a server that listens there, for a browser on this machine."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{reached}:{port}"


def link_to(base: str, code: str) -> str:
    """Return the link that signs in once."""
    return f"{base}/login/link?code={code}"


def write_down(settings: Settings, url: str) -> None:
    """Let other commands on this machine know where the dashboard is."""
    _file(settings).write_text(url + "\n", encoding="utf-8")


def forget(settings: Settings) -> None:
    """Take that back."""
    _file(settings).unlink(missing_ok=True)


def _file(settings: Settings) -> Path:
    return settings.data_dir / _FILE
