"""Rules for Windows file and pipe servers: the NTSTATUS that clients of SMB pass on."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import NETWORK, PERMANENT, PERMISSION, RESOURCE, TRANSIENT, Rule

_TABLE: Final = (
    "https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-erref/"
    "596a1078-e883-4972-9bbc-49e60bebca55"
)


def _states(states: str) -> tuple[str, ...]:
    return tuple(f"NTSTATUS-{state}" for state in states.split())


RULES: Final = (
    Rule(
        "smb.denied",
        "vendor",
        _states(
            "C0000022 C0000061 C0000064 C000006A C000006D C000006E C000006F C0000070 C0000071 C0000072 "
            "C00000CA C000015B C000018D C0000193 C0000224 C0000234"
        ),
        PERMISSION,
        "the server refuses the login or the right",
        _TABLE,
    ),
    Rule(
        "smb.connection",
        "vendor",
        _states(
            "C00000B0 C00000B1 C00000B5 C00000BE C00000C4 C00000C9 C000014B C0000203 C000020C C000020D "
            "C0000236 C000023C C000023D C0000241 C000035C"
        ),
        NETWORK,
        "the connection or the session to the server is gone",
        _TABLE,
    ),
    Rule(
        "smb.in-use",
        "vendor",
        _states(
            "C0000043 C0000054 C0000055 C0000056 C000005E C00000AC C00000AE C00000BF C00000D0 "
            "C0000120 C000022D"
        ),
        TRANSIENT,
        "somebody else has it open, or the server is busy",
        _TABLE,
    ),
    Rule(
        "smb.used-up",
        "vendor",
        _states("C0000017 C0000044 C000007F C000009A C00000CE C000011F C0000205"),
        RESOURCE,
        "memory, disk, files or sessions of the server are used up",
        _TABLE,
    ),
    Rule(
        "smb.final",
        "vendor",
        _states(
            "C000000D C000000F C0000010 C0000033 C0000034 C0000035 C0000039 C000003A C000003B C00000A2 "
            "C00000BA C00000BB C00000CC C0000101 C0000103 C0000106 C0000121 C0000225"
        ),
        PERMANENT,
        "the name is wrong, taken or not there, or the server cannot do that",
        _TABLE,
    ),
)
