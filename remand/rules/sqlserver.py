"""Rules for SQL Server and Azure SQL: the server's numbers, whichever driver tells them; DB-Lib's, ODBC's."""

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

_EVENTS: Final = (
    "https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors"
)
_AZURE: Final = "https://learn.microsoft.com/azure/azure-sql/database/troubleshoot-common-errors-issues"
_DBLIB: Final = "FreeTDS, sybdb.h"


def _numbers(numbers: str) -> tuple[str, ...]:
    return tuple(f"MSSQL-{number}" for number in numbers.split())


_ODBC: Final = "https://learn.microsoft.com/sql/odbc/reference/appendixes/appendix-a-odbc-error-codes"

RULES: Final = (
    Rule(
        "odbc.memory",
        "sqlstate",
        ("HY001", "HY013", "HY014"),
        RESOURCE,
        "the driver is short of memory or handles",
        _ODBC,
    ),
    Rule("odbc.cancelled", "sqlstate", ("HY008", "HY018"), TRANSIENT, "the call was cancelled", _ODBC),
    Rule("odbc.manager", "sqlstate", ("IM",), PERMANENT, "the driver or data source is not there", _ODBC),
    Rule(
        "odbc.usage",
        "sqlstate",
        (
            *("HY003", "HY004", "HY007", "HY009", "HY010", "HY011", "HY012", "HY021", "HY024", "HY090"),
            *("HY092", "HY096", "HY104", "HY105", "HY106", "HY107", "HY109", "HYC00", "07002", "07006"),
            "07009",
        ),
        PERMANENT,
        "the driver was called wrongly, or cannot do that",
        _ODBC,
        confidence=0.85,
    ),
    Rule(
        "mssql.conflict",
        "vendor",
        _numbers("1205 3960 3961 41301 41302 41305 41325 41839 3935 1204 41300"),
        TRANSIENT,
        "the transaction met another one; run it again",
        _EVENTS,
        IMMEDIATE,
    ),
    Rule(
        "mssql.locked",
        "vendor",
        _numbers("1222 1221 3928 845 5030 5070 924 8628"),
        TRANSIENT,
        "something is locked or in use",
        _EVENTS,
    ),
    Rule(
        "mssql.denied",
        "vendor",
        _numbers(
            "229 230 262 297 300 301 916 2760 4060 4062 4064 10316 15247 15151 15517 18450 "
            "18451 18452 18456 18458 18470 18486 18487 "
            "18488 18461 40532 40607 40615 40914 47073 20014 378 3906 3908"
        ),
        PERMISSION,
        "SQL Server refuses the login or the right",
        _EVENTS,
    ),
    Rule(
        "mssql.busy",
        "vendor",
        _numbers(
            "10928 10929 10936 40501 40549 40550 40551 40552 40553 49918 49919 49920 8645 "
            "8651 8657 17300 17809 17803 10922"
        ),
        RESOURCE,
        "the server has no resources left for the request",
        _AZURE,
        EXPONENTIAL,
    ),
    Rule(
        "mssql.full",
        "vendor",
        _numbers("701 802 1101 1105 1121 3967 5149 9002 40544 8928 41805 41823 41840 1119 1480 20010"),
        RESOURCE,
        "disk, log or memory of the server is full",
        _EVENTS,
    ),
    Rule(
        "mssql.unavailable",
        "vendor",
        _numbers(
            "40197 40613 40143 40166 40540 40545 40627 49983 42108 42109 6005 17142 921 "
            "922 923 926 927 942 946 952 976 978 979 982 983 988 4221 "
            "14355 40642 45168 45169 45170 45182 18401 8649 1203 41383 35250 3314 605 823 824 825"
        ),
        TRANSIENT,
        "the database is moving, starting or recovering",
        _AZURE,
    ),
    Rule(
        "mssql.network",
        "vendor",
        _numbers(
            "2 20 53 64 233 10053 10054 10060 10061 11001 17830 17832 20002 20003 20004 "
            "20006 20009 20012 20013 20016 20017 20047 20056 26 109 40 17836"
        ),
        NETWORK,
        "SQL Server cannot be reached, or dropped the connection",
        f"{_EVENTS}; {_DBLIB}",
    ),
    Rule(
        "mssql.row",
        "vendor",
        _numbers(
            "241 242 244 245 248 220 232 260 271 273 295 296 515 517 544 545 547 548 2601 "
            "2627 2628 3930 8114 8115 8134 8152 8162 8178 4815 4863 4864 9420 13609 50000 "
            "8169 6522"
        ),
        VALIDATION,
        "the database refuses the row",
        _EVENTS,
    ),
    Rule(
        "mssql.statement",
        "vendor",
        _numbers(
            "102 103 104 105 107 110 111 116 117 119 120 128 130 133 134 137 139 141 142 "
            "144 145 147 148 153 154 155 156 157 170 174 178 "
            "189 195 201 203 205 206 207 208 209 213 214 235 257 264 267 2714 2717 2812 "
            "3701 3728 4104 4121 4145 4902 4924 8101 8117 8144 8145 8146 8155 "
            "911 1779 1750 1767 1785 1801 1913 1934 2705 15009 15225 11514 20018 20020 345"
        ),
        PERMANENT,
        "the statement is wrong",
        _EVENTS,
        confidence=0.85,
    ),
)
