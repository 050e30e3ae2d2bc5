"""Rules for Oracle: ORA numbers of the server, DPY and DPI numbers of the drivers."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    IMMEDIATE,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
)

_ORA: Final = "https://docs.oracle.com/en/error-help/db/"
_DPY: Final = "https://python-oracledb.readthedocs.io/en/latest/user_guide/troubleshooting.html"


def _ora(numbers: str) -> tuple[str, ...]:
    return tuple(f"ORA-{int(number):05}" for number in numbers.split())


def _dpy(numbers: str) -> tuple[str, ...]:
    return tuple(f"DPY-{number}" for number in numbers.split())


RULES: Final = (
    Rule(
        "oracle.denied",
        "vendor",
        _ora(
            "1005 1017 1031 1035 1045 1109 1918 1920 1924 1950 1988 28000 28001 28002 28003 "
            "28009 28030 28040 28150 28171 28365 41900"
        )
        + _dpy("2001 3001 3015 4027 6002")
        + _ora("12660 12662 24247 28547 28759 28860 1720 4042"),
        PERMISSION,
        "Oracle refuses the login or the right",
        _ORA,
    ),
    Rule(
        "oracle.conflict",
        "vendor",
        _ora("60 8177 4020 4021 8176 104 99 14452"),
        TRANSIENT,
        "the statement met another one; run it again",
        _ORA,
        IMMEDIATE,
    ),
    Rule(
        "oracle.busy",
        "vendor",
        _ora("54 1013 1555 4061 4065 4068 4045 25408 25402 1466 30006 51 8103 24761 1591 1002 2049"),
        TRANSIENT,
        "the object is locked, changed or was interrupted meanwhile",
        _ORA,
    ),
    Rule(
        "oracle.connections",
        "vendor",
        _ora("18 20 2391 12516 12519 12520 12518 24418 24457 24459 12526 12527") + _dpy("4005 6003"),
        RESOURCE,
        "there is no free session, process or connection",
        _ORA,
        EXPONENTIAL,
    ),
    Rule(
        "oracle.full",
        "vendor",
        _ora(
            "257 1536 1562 1628 1631 1632 1650 1652 1653 1654 1655 1658 1659 1688 1691 1692 "
            "1693 4030 4031 4036 19809 19815 30036 40 2393 2395 2399 56720"
        ),
        RESOURCE,
        "space, memory or a quota of the database is used up",
        _ORA,
    ),
    Rule(
        "oracle.starting",
        "vendor",
        _ora("1033 1034 1089 1090 1092 1012 16456 16000 10458 1154 27101 44203 1155 1507 1081"),
        TRANSIENT,
        "the database is starting, stopping or changing its role",
        _ORA,
    ),
    Rule(
        "oracle.network",
        "vendor",
        _ora(
            "28 3113 3114 3135 3136 12150 12151 12152 12153 12157 12161 12170 12203 12224 "
            "12225 12226 12500 12502 12525 12528 12530 12535 12537 12540 12541 12543 12545 "
            "12547 12560 12564 12570 12571 12583 12592 12606 12609 12636 12637 2396 17002 "
            "17008 17410 1041 2063 3150"
        )
        + _dpy("1001 4011 4024 6000 6005 1002"),
        NETWORK,
        "Oracle cannot be reached, or dropped the connection",
        _ORA,
    ),
    Rule(
        "oracle.unknown-service",
        "vendor",
        _ora("12154 12505 12514 12533 12538 12162 12521")
        + _dpy("4000 4001 4017 4018 4022 4026 4033 6001 4038"),
        PERMANENT,
        "the name or service that is connected to is not known",
        _ORA,
        confidence=0.75,
    ),
    Rule(
        "oracle.row",
        "vendor",
        _ora(
            "1 1400 1401 1402 1407 1410 1426 1438 1440 1451 1452 1458 1476 1722 1830 1840 "
            "1841 1843 1847 1858 1861 1862 2290 2291 2292 2437 12899 12900 6502 1403 1422 "
            "22835 22858 24381 40441 40478 1483 1461 1489 31011"
        ),
        VALIDATION,
        "the database refuses the row",
        _ORA,
    ),
    Rule(
        "oracle.statement",
        "vendor",
        _ora(
            "900 901 902 903 904 905 906 907 908 909 911 913 917 918 920 921 922 923 925 926 "
            "927 928 929 932 933 934 936 937 938 939 942 947 955 957 972 979 980 984 1006 "
            "1008 1036 1418 1430 1735 1747 1756 1775 2289 2303 2443 4043 4044 4067 4088 4098 "
            "6508 6512 6550 6553 6576 20000 24344 38104"
        )
        + _dpy(
            "2000 2002 2003 2004 2005 2006 2007 2008 2009 2010 2011 2012 2015 2016 3002 3003 "
            "3004 3006 3007 3008 3009 3010 3011 3012 3013 3014 3016 3028 1003 1006 1004"
        ),
        PERMANENT,
        "the statement is wrong, or is not supported",
        f"{_ORA}; {_DPY}",
    ),
)
