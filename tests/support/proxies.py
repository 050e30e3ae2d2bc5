"""The proxies of this machine, run as the examples in ops/proxy say, on ports and certificates of a test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from remand_app.embedded import launch
from tests.support.waiting import eventually

EXAMPLES = Path(__file__).parents[2] / "ops/proxy"
UPSTREAM = "127.0.0.1:8484"
"""What the examples pass requests on to."""
_CERTIFICATE = ("/etc/ssl/certs/remand.pem", "/etc/ssl/private/remand.key")
_MODULES = ("mpm_event", "authz_core", "proxy", "proxy_http", "headers", "socache_shmcb", "ssl")
_NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/client;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""
_APACHE = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
ErrorLog /dev/stderr
Listen 127.0.0.1:{port}
{modules}
{user}
{site}
"""


def needs(program: str) -> str:
    """Return where a program is; skip the test, by that name, where it is not."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


@contextmanager
def nginx(folder: Path, site: str, port: int) -> Iterator[None]:
    """Run nginx with these server blocks."""
    site = site.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(folder=folder, site=_certified(site, folder)))
    with _running([needs("nginx"), "-p", str(folder), "-c", str(config)], port):
        yield


@contextmanager
def apache(folder: Path, site: str, port: int) -> Iterator[None]:
    """Run Apache with these virtual hosts."""
    program = needs("apache2")
    site = _certified(site.replace("*:443", f"127.0.0.1:{port}"), folder)
    modules = "\n".join(f"LoadModule {one}_module /usr/lib/apache2/modules/mod_{one}.so" for one in _MODULES)
    user = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
    config = folder / "apache.conf"
    config.write_text(_APACHE.format(folder=folder, port=port, modules=modules, user=user, site=site))
    with _running([program, "-d", str(folder), "-f", str(config), "-D", "FOREGROUND"], port):
        yield


@contextmanager
def caddy(folder: Path, site: str, port: int) -> Iterator[None]:
    """Run Caddy with these sites, and a certificate of its own making."""
    site = re.sub(r"^(\S+) {", rf"\1:{port} {{\ntls internal", site, flags=re.MULTILINE)
    alone = "{\nadmin off\nauto_https disable_redirects\nskip_install_trust\n}\n"
    config = folder / "Caddyfile"
    config.write_text(alone + site)
    homes = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}
    command = [needs("caddy"), "run", "--adapter", "caddyfile", "--config", str(config)]
    with _running(command, port, homes):
        yield


def named(host: str) -> httpx.HTTPTransport:
    """Return a way to this machine by a name that nobody else knows, from an address of its own."""
    return _Named(host)


class _Named(httpx.HTTPTransport):
    def __init__(self, host: str) -> None:
        # No certificate of a test is known to anybody.
        super().__init__(verify=False, local_address="127.0.0.2")
        self._host = host

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert request.url.host == self._host, f"{request.url} leads elsewhere"
        sent = httpx.Request(
            request.method,
            request.url.copy_with(host="127.0.0.1"),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": self._host},
        )
        return super().handle_request(sent)


def _certified(site: str, folder: Path) -> str:
    """Return a configuration with a certificate that is made for it."""
    files = [folder / "remand.pem", folder / "remand.key"]
    made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=remand.example.org", "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run([needs("openssl"), *made, *names], check=True, capture_output=True)
    for example, own in zip(_CERTIFICATE, files, strict=True):
        site = site.replace(example, str(own))
    return site


@contextmanager
def _running(command: list[str], port: int, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    process = subprocess.Popen(
        launch.command(command, death_signal=signal.SIGKILL),
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )

    def is_up() -> bool:
        assert process.poll() is None, f"{command[0]} ended"
        with socket.socket() as door:
            return door.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually(is_up, message=f"{command[0]} does not start")
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
