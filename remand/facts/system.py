"""Read the codes of systems and protocols: errno, name resolution, TLS, SMTP, gRPC, exit codes, headers."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from remand.facts.reading import HOSTILE, item, read
from remand.facts.subject import SMTP_ROOTS, Subject
from remand.rules.rule import Key

_TLS_IN_TEXT = re.compile(r"\[(?:SSL|X509|PEM)(?::|\]) ?([A-Za-z0-9_]+(?: lib)?)")
# The numbers of <netdb.h>: HOST_NOT_FOUND, TRY_AGAIN, NO_RECOVERY, NO_DATA.
_HERROR: Final = {1: socket.EAI_NONAME, 2: socket.EAI_AGAIN, 3: socket.EAI_FAIL, 4: socket.EAI_NONAME}
_GAI_IN_TEXT = re.compile(r"\[Errno (-\d{1,2})\]|\bError (-\d{1,2}) (?:while )?connecting")
GAI_IN_TEXT_ROOTS: Final = frozenset(
    {"requests", "urllib3", "redis", "valkey", "botocore", "elastic_transport", "opensearchpy", "kombu"}
)
EXIT_ROOTS: Final = frozenset({"subprocess", "docker", "sh", "invoke", "asyncssh", "fabric"})
_NOT_ERRNO_ROOTS: Final = SMTP_ROOTS | {"ssl", "socket"}


def headers(facts: Subject) -> Sequence[Key]:
    if facts.response is None and facts.get("headers") is None:
        return ()
    try:
        said = [(name, facts.header(name)) for name in ("x-should-retry", "stripe-should-retry")]
    except HOSTILE:
        return ()
    return [f"{name}:{value.strip().lower()}" for name, value in said if value]


def grpc(facts: Subject) -> Iterator[Key]:
    for name in ("code", "grpc_status_code", "status"):
        value = facts.get(name)
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
    codes = [facts.get("smtp_code"), facts.get("code")]
    recipients = facts.get("recipients")
    if isinstance(recipients, Mapping):
        codes += [item(answer, 0) for answer in list(recipients.values())[:100]]
    elif isinstance(recipients, (list, tuple)):
        codes += [read(refused, "code") for refused in recipients[:100]]
    numbers = sorted(code for code in codes if isinstance(code, int) and 400 <= code < 600)
    if numbers:
        # One address that may yet succeed is worth another attempt.
        yield numbers[0]


def exits(facts: Subject) -> Iterator[Key]:
    for name in ("returncode", "exit_status", "exit_code"):
        code = facts.get(name)
        if isinstance(code, int):
            yield from _exit(code)
            return


def exit_of_process(facts: Subject) -> Iterator[Key]:
    if isinstance(facts.exc, SystemExit):
        yield from _exit(facts.get("code"))


def _exit(code: object) -> Iterator[Key]:
    if isinstance(code, int) and not isinstance(code, bool):
        # A shell or a container reports a signal as 128 plus its number.
        yield 128 - code if 128 < code <= 192 else code


def ssl(facts: Subject) -> Iterator[Key]:
    reason = facts.get("reason")
    if isinstance(reason, str):
        yield reason
    elif match := _TLS_IN_TEXT.search(facts.text):
        yield match.group(1).upper().replace(" ", "_")


def gai(facts: Subject) -> Iterator[Key]:
    number = facts.get("errno")
    if not isinstance(number, int):
        return
    if "socket.gaierror" in facts.names:
        yield number
    elif "socket.herror" in facts.names and number in _HERROR:
        yield _HERROR[number]


def gai_in_text(facts: Subject) -> Iterator[Key]:
    """Read the number from clients that keep only the text of a failed lookup; such numbers are negative."""
    if " -" in facts.text and (match := _GAI_IN_TEXT.search(facts.text)):
        yield int(match[1] or match[2])


def errnos(facts: Subject) -> Sequence[Key]:
    number = facts.get("errno")
    if not isinstance(number, int) or not isinstance(facts.exc, OSError):
        return ()
    # OpenSSL, mail servers and name resolution have numbers of their own, not the system's.
    if not facts.roots.isdisjoint(_NOT_ERRNO_ROOTS):
        return ()
    # aiohttp copies the number of an OpenSSL error, which is always 1, into errno.
    return () if number == 1 and "aiohttp" in facts.roots else (number,)
