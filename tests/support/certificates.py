"""Certificates of a test: an authority, a server's for 127.0.0.1 alone, and an authority of somebody else."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Certificates:
    """Files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = self._authority("authority")
        self.other = self._authority("other")
        self.server, self.key = self._server()

    def _authority(self, name: str) -> Path:
        made = self._folder / f"{name}.pem"
        self._openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", made.name,
        )  # fmt: skip
        return made

    def _server(self) -> tuple[Path, Path]:
        (self._folder / "names").write_text("subjectAltName = IP:127.0.0.1\n")
        self._openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=server",
            "-keyout", "server.key", "-out", "server.csr",
        )  # fmt: skip
        self._openssl(
            "x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key",
            "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem",
        )  # fmt: skip
        return self._folder / "server.pem", self._folder / "server.key"

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)
