"""Rules for mailboxes: the response codes that IMAP and POP servers put in brackets."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import EXPONENTIAL, PERMANENT, PERMISSION, RESOURCE, TRANSIENT, VALIDATION, Rule

_IMAP: Final = "RFC 5530; RFC 9051 section 7.1"
_POP: Final = "RFC 2449 section 8; RFC 3206"


def _imap(names: str) -> tuple[str, ...]:
    return tuple(f"IMAP-{name}" for name in names.split())


RULES: Final = (
    Rule(
        "imap.later",
        "vendor",
        _imap("UNAVAILABLE INUSE SERVERBUG EXPUNGEISSUED"),
        TRANSIENT,
        "the server says that it will pass",
        _IMAP,
    ),
    Rule(
        "imap.denied",
        "vendor",
        _imap("AUTHENTICATIONFAILED AUTHORIZATIONFAILED EXPIRED PRIVACYREQUIRED CONTACTADMIN NOPERM"),
        PERMISSION,
        "the server refuses the login or the right",
        _IMAP,
    ),
    Rule(
        "imap.limit",
        "vendor",
        _imap("OVERQUOTA LIMIT THROTTLED"),
        RESOURCE,
        "a quota or a limit is used up",
        _IMAP,
        EXPONENTIAL,
    ),
    Rule(
        "imap.exists",
        "vendor",
        _imap("ALREADYEXISTS BADCHARSET PARSE TOOBIG TOOWIDE BADCOMPARATOR BADEVENT BADURL"),
        VALIDATION,
        "the server refuses the data",
        _IMAP,
    ),
    Rule(
        "imap.refused",
        "vendor",
        _imap(
            "CORRUPTION CLIENTBUG CANNOT NONEXISTENT TRYCREATE UNKNOWN-CTE NOUPDATE "
            "HASCHILDREN CLOSED USEATTR NOTSAVED"
        ),
        PERMANENT,
        "the server cannot do that",
        _IMAP,
    ),
    Rule(
        "pop.later",
        "vendor",
        ("POP-IN-USE", "POP-SYS/TEMP"),
        TRANSIENT,
        "the server says that it will pass",
        _POP,
    ),
    Rule(
        "pop.delay",
        "vendor",
        ("POP-LOGIN-DELAY",),
        RESOURCE,
        "the server limits how often one may log in",
        _POP,
        EXPONENTIAL,
    ),
    Rule("pop.denied", "vendor", ("POP-AUTH",), PERMISSION, "the server refuses the login", _POP),
    Rule("pop.broken", "vendor", ("POP-SYS/PERM",), PERMANENT, "a person is needed at the server", _POP),
    Rule(
        "pop.refused",
        "text",
        ("poplib",),
        PERMANENT,
        "the server refuses the command",
        "RFC 1939 section 3",
        text=r"-err (?!eof)(?!.*\b(eof|connection|time[d]? ?out|temporar))",
        confidence=0.7,
    ),
)
