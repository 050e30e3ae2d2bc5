"""Read the codes of systems and protocols: errno, name resolution, TLS, SMTP, gRPC, exit codes, headers."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from remand.facts.reading import HOSTILE, item, read
from remand.facts.subject import SMTP_ROOTS, Subject
from remand.rules.rule import Key

_TLS_IN_TEXT = re.compile(r"\[(?:SSL|X509|PEM)(?::|\]) ?([A-Za-z0-9_]+(?: lib)?)")
# The numbers of <netdb.h>: HOST_NOT_FOUND, TRY_AGAIN, NO_RECOVERY, NO_DATA.
_HERROR: Final = {1: socket.EAI_NONAME, 2: socket.EAI_AGAIN, 3: socket.EAI_FAIL, 4: socket.EAI_NONAME}
_EXIT_ROOTS: Final = frozenset({"subprocess", "docker", "sh", "invoke", "asyncssh", "fabric"})
_NOT_ERRNO_ROOTS: Final = SMTP_ROOTS | {"ssl", "socket"}


def headers(facts: Subject) -> Iterator[Key]:
    if read(facts.exc, "headers") is None and facts.response is None:
        return
    for name in ("x-should-retry", "stripe-should-retry"):
        if value := facts.header(name):
            yield f"{name}:{value.strip().lower()}"


def grpc(facts: Subject) -> Iterator[Key]:
    exc = facts.exc
    if facts.roots.isdisjoint(("grpc", "grpclib", "google")):
        return
    for name in ("code", "grpc_status_code", "status"):
        value = read(exc, name)
        if callable(value) and "grpc.RpcError" in facts.names:
            value = _called(value)
        label = value if isinstance(value, str) else read(value, "name")
        if isinstance(label, str):
            yield label.upper()


def _called(method: Callable[[], object]) -> object:
    try:
        return method()
    except HOSTILE:
        return None


def smtp(facts: Subject) -> Iterator[Key]:
    exc = facts.exc
    if facts.roots.isdisjoint(SMTP_ROOTS):
        return
    codes = [read(exc, "smtp_code"), read(exc, "code")]
    recipients = read(exc, "recipients")
    if isinstance(recipients, Mapping):
        codes += [item(answer, 0) for answer in list(recipients.values())[:100]]
    elif isinstance(recipients, (list, tuple)):
        codes += [read(refused, "code") for refused in recipients[:100]]
    numbers = sorted(code for code in codes if isinstance(code, int) and 400 <= code < 600)
    if numbers:
        # One address that may yet succeed is worth another attempt.
        yield numbers[0]


def exits(facts: Subject) -> Iterator[Key]:
    exc, code = facts.exc, None
    if isinstance(exc, SystemExit):
        code = read(exc, "code")
    elif facts.roots & _EXIT_ROOTS:
        code = next(
            (c for n in ("returncode", "exit_status", "exit_code") if isinstance(c := read(exc, n), int)),
            None,
        )
    if isinstance(code, int) and not isinstance(code, bool):
        # A shell or a container reports a signal as 128 and its number.
        yield 128 - code if 128 < code <= 192 else code


def ssl(facts: Subject) -> Iterator[Key]:
    if "ssl" not in facts.roots:
        return
    reason = read(facts.exc, "reason")
    if isinstance(reason, str):
        yield reason
    elif found := _TLS_IN_TEXT.search(facts.text):
        yield found.group(1).upper().replace(" ", "_")


def gai(facts: Subject) -> Iterator[Key]:
    number = read(facts.exc, "errno")
    if not isinstance(number, int):
        return
    if "socket.gaierror" in facts.names:
        yield number
    elif "socket.herror" in facts.names and number in _HERROR:
        yield _HERROR[number]


def errnos(facts: Subject) -> Iterator[Key]:
    # The numbers of OpenSSL, of mail servers and of name resolution are not those of the system.
    if not isinstance(facts.exc, OSError) or facts.roots & _NOT_ERRNO_ROOTS:
        return
    number = read(facts.exc, "errno")
    # aiohttp copies the number of an OpenSSL error, which is always 1, into errno.
    if isinstance(number, int) and not (number == 1 and "aiohttp" in facts.roots):
        yield number
