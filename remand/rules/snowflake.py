"""Rules for Snowflake: the numbers of connector and server, asked before the SQLSTATE, which says less."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
)

_SOURCE: Final = (
    "https://docs.snowflake.com/en/user-guide/client-connectivity-troubleshooting; "
    "snowflake.connector.errorcode"
)


def _numbers(numbers: str) -> tuple[str, ...]:
    return tuple(f"SNOWFLAKE-{number}" for number in numbers.split())


RULES: Final = (
    Rule(
        "snowflake.login",
        "vendor",
        _numbers("250001 250003 250006 251001 251002 251005 251006 251008"),
        PERMISSION,
        "Snowflake refuses the login; the number says no more than that there is no connection",
        _SOURCE,
        text=r"incorrect username or password|password|jwt token|not allowed to access"
        r"|user .*(locked|disabled)|mfa|authenticat",
        confidence=0.9,
    ),
    Rule(
        "snowflake.denied",
        "vendor",
        _numbers(
            "251003 251004 251007 390100 390101 390102 390103 390104 390105 390106 390107 "
            "390108 390109 390110 390111 390112 390113 390114 390115 390116 "
            "390117 390118 390120 390127 390128 390144 390195 390201 390202 390302 390303 "
            "390318 390390 390400 390403 390408 390422 390432 394300 394301 "
            "394302 394303 394304 394305 394306 394307 394400 394401 394508 395090 395092 "
            "3001 3003 3041 3540 3541 2049"
        ),
        PERMISSION,
        "Snowflake refuses the login or the right",
        _SOURCE,
    ),
    Rule(
        "snowflake.connection",
        "vendor",
        _numbers(
            "250001 250002 250003 250004 250005 250007 250008 251011 251012 253002 253003 "
            "253004 253005 290500 290502 290503 290504 290403 290408 290429"
        ),
        NETWORK,
        "Snowflake cannot be reached",
        _SOURCE,
    ),
    Rule(
        "snowflake.waiting",
        "vendor",
        _numbers("604 625 630 639 300002 300005 300010 370001 390330 8501 8505 707 709 1051 93200"),
        TRANSIENT,
        "the statement met another one, or was ended from outside",
        _SOURCE,
    ),
    Rule(
        "snowflake.quota",
        "vendor",
        _numbers("90073 90072 90083 627 631 90077"),
        RESOURCE,
        "a quota of the account or the warehouse is used up",
        _SOURCE,
        EXPONENTIAL,
    ),
    Rule(
        "snowflake.data",
        "vendor",
        _numbers(
            "100035 100037 100038 100039 100040 100046 100048 100051 100052 100058 100069 "
            "100071 100072 100078 100080 100090 100096 100097 100132 100183 1007"
        ),
        VALIDATION,
        "Snowflake refuses the data",
        _SOURCE,
    ),
    Rule(
        "snowflake.statement",
        "vendor",
        _numbers(
            "606 900 904 979 1003 1008 1044 2001 2002 2003 2004 2026 2043 2140 2141 90082 "
            "90105 90106 90109 90232 251010 251013 252001 252004 252005 252006 252007 252012"
        ),
        PERMANENT,
        "the statement is wrong, or what it names is not there",
        _SOURCE,
    ),
)
