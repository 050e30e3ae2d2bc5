"""Read HTTP/1.1 strictly by its grammar.

If a proxy before us reads a message differently from us, a second request can hide in it and pass the proxy's
rules unseen (request smuggling). h11 tolerates what old clients sent. Here a line ends only with CRLF, does
not continue on the next line, and a body has one length.
"""

from __future__ import annotations

import re
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer

_LARGEST_HEAD = 32_768
_BARE = re.compile(rb"(?<!\r)\n")


class StrictConnection(h11.Connection):
    """The server's side of a connection."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, _LARGEST_HEAD)
        self._receive_buffer = self._unread = _Lines()

    @property
    def has_begun(self) -> bool:
        """Whether part of a message has arrived that was not read yet."""
        return bool(self._unread)

    def next_event(self) -> Any:
        """Return what came next.

        Raises:
            RemoteProtocolError: it is not HTTP, or could be read in more ways than one.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            named = {name for name, _ in event.headers}
            if b"transfer-encoding" in named and (b"content-length" in named or event.http_version < b"1.1"):
                raise h11.RemoteProtocolError("a body has one length")
        return event


class _Lines(ReceiveBuffer):
    """The received bytes, from which lines are taken: the head of a request, and the end of its chunks."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return all lines before the first empty one; None: there is none yet."""
        if self._data[:2] == b"\r\n":
            self._extract(2)
            return []
        end = self._data.find(b"\r\n\r\n")
        if _BARE.search(self._data, 0, end if end >= 0 else len(self._data)):
            raise h11.RemoteProtocolError("a line ends by LF alone")
        if end < 0:
            return None
        lines = self._extract(end + 4)[:-4].split(b"\r\n")
        if any(line.startswith((b" ", b"\t")) for line in lines):
            raise h11.RemoteProtocolError("a line goes on in the next one")
        return lines
