"""The address of server and dashboard: from the settings, from the file of `remand up`, or a free port."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

from remand_app.config import Settings
from remand_app.domain.errors import AddressTaken

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
    name = reached_at(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def reached_at(host: str) -> str:
    """Return the name by which this machine reaches a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not listened on


def port_for(host: str, wanted: int, *, exactly: bool) -> int:
    """Return the port if it is free, else any that is; with `exactly` there is no else.

    Raises:
        AddressTaken: it is taken, or the host is not this machine's.
    """
    for port in (wanted, 0):
        try:
            with socket.create_server((host, port), family=_family(host)) as door:
                free_port: int = door.getsockname()[1]
                return free_port
        except OSError as error:
            if exactly or port == 0:
                raise AddressTaken(
                    f"cannot listen on {host}, port {port}: {error.strerror or error}",
                    hint="another port: --port, or REMAND_WEB__PORT",
                ) from error
    raise AssertionError("a port was found or an error raised")


def answers(host: str, port: int) -> bool:
    """Say whether the server there is up."""
    door = http.client.HTTPConnection(reached_at(host), port, timeout=2)
    try:
        door.request("GET", "/api/v1/health/live")
        return door.getresponse().status == 200
    except OSError:
        return False
    finally:
        door.close()


def link_to(base: str, code: str) -> str:
    """Return the link that signs in once."""
    return f"{base}/login/link?code={code}"


@contextlib.contextmanager
def written_down(settings: Settings, url: str) -> Iterator[None]:
    """Let other commands on this machine know where the dashboard is, as long as it is there."""
    path = _file(settings)
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    # Everybody may read the address; only the owner may change it, whatever the umask.
    path.unlink(missing_ok=True)
    path.touch(0o644, exist_ok=False)
    path.write_text(url + "\n", encoding="utf-8")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _file(settings: Settings) -> Path:
    return settings.data_dir / _FILE
