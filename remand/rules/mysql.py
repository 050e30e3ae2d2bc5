"""Rules for MySQL and MariaDB: the numbers of server and client errors."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    IMMEDIATE,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
)

_MY: Final = "MySQL reference manual, server error messages"

RULES: Final = (
    Rule(
        "mysql.deadlock",
        "mysql",
        (1213, 1205, 3572, 1020, 1614),
        TRANSIENT,
        "the transaction met another one; run it again",
        _MY,
        IMMEDIATE,
    ),
    Rule(
        "mysql.connection",
        "mysql",
        (2002, 2003, 2005, 2006, 2013, 2055, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031),
        NETWORK,
        "the connection to the database failed",
        _MY,
    ),
    Rule(
        "mysql.limits",
        "mysql",
        (1040, 1203, 1226, 1041, 1037, 1038, 1135),
        RESOURCE,
        "the database has no free connection or memory",
        _MY,
    ),
    Rule("mysql.disk", "mysql", (1021, 1114, 3), RESOURCE, "the database's disk is full", _MY),
    Rule(
        "mysql.denied",
        "mysql",
        (1044, 1045, 1142, 1143, 1227, 1370, 1698, 1129, 1130),
        PERMISSION,
        "the database refuses the login or the right",
        _MY,
    ),
    Rule(
        "mysql.read-only",
        "mysql",
        (1290, 1792, 1836),
        TRANSIENT,
        "the server is read-only, as during a failover",
        _MY,
        confidence=0.7,
    ),
    Rule(
        "mysql.timeout",
        "mysql",
        (3024, 1317, 1969),
        TRANSIENT,
        "the statement took too long or was cancelled",
        _MY,
    ),
    Rule(
        "mysql.data",
        "mysql",
        (
            1048,
            1062,
            1216,
            1217,
            1264,
            1265,
            1292,
            1364,
            1366,
            1406,
            1451,
            1452,
            1557,
            1586,
            3819,
            1153,
            1118,
        ),
        VALIDATION,
        "the database refuses the row",
        _MY,
    ),
    Rule(
        "mysql.statement",
        "mysql",
        (1046, 1049, 1051, 1054, 1064, 1109, 1136, 1146, 1305, 1052, 1050, 1060, 1061),
        PERMANENT,
        "the statement or the schema is wrong",
        _MY,
    ),
)
