"""Rules for ClickHouse: the numbers of its error table, which both drivers tell inside one class."""

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
    under,
)

_TABLE: Final = "https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp"


def _numbers(numbers: str) -> tuple[str, ...]:
    return tuple(f"CLICKHOUSE-{number}" for number in numbers.split())


RULES: Final = (
    Rule(
        "clickhouse.denied",
        "vendor",
        _numbers("164 192 193 194 195 291 492 493 494 495 496 497 511 516 519 530 535 669 482 740"),
        PERMISSION,
        "ClickHouse refuses the login or the right",
        _TABLE,
    ),
    Rule(
        "clickhouse.overloaded",
        "vendor",
        _numbers("202 203 241 252 469 473 439 173 745 655 621"),
        RESOURCE,
        "ClickHouse is short of memory, threads or parts",
        _TABLE,
        EXPONENTIAL,
    ),
    Rule(
        "clickhouse.full",
        "vendor",
        _numbers("201 243 290 307 396 158 161 191 1001"),
        RESOURCE,
        "a quota, a limit or the disk is used up",
        _TABLE,
    ),
    Rule(
        "clickhouse.moving",
        "vendor",
        _numbers(
            "159 160 236 242 285 286 289 319 225 254 265 364 369 415 416 425 426 517 521 525 "
            "529 571 574 585 599 650 659 667 668 685 689 700 722 730 998 999 234 235 305 341 "
            "342 371 372 385 394 412 422 446"
        ),
        TRANSIENT,
        "a replica, Keeper or a merge is not ready",
        _TABLE,
    ),
    Rule(
        "clickhouse.network",
        "vendor",
        _numbers("32 33 74 75 76 95 96 101 102 198 209 210 211 212 213 279 303 499 590 1000"),
        NETWORK,
        "a server cannot be reached, or the connection broke",
        _TABLE,
    ),
    Rule(
        "clickhouse.data",
        "vendor",
        _numbers(
            "6 25 26 27 34 35 38 41 43 53 57 69 70 72 117 128 130 131 132 153 169 190 196 "
            "321 349 407 441 467 675 676 "
            "370 380 395 82 377 436 24 23 22 21 20"
        ),
        VALIDATION,
        "ClickHouse refuses the data",
        _TABLE,
    ),
    Rule(
        "clickhouse.statement",
        "vendor",
        _numbers(
            "8 10 15 16 36 37 40 42 44 45 46 47 48 49 50 51 52 54 56 58 59 60 61 62 63 65 "
            "66 67 71 73 78 79 80 81 83 84 85 86 110 115 116 118 119 120 122 "
            "124 125 127 137 152 168 170 174 179 181 182 183 184 206 207 215 218 219 220 "
            "221 223 226 228 229 230 231 232 239 253 258 264 270 276 277 278 302 "
            "344 352 359 386 392 393 403 417 418 427 428 435 457 459 524 536 537 538 548 580 582"
        ),
        PERMANENT,
        "the statement is wrong, or what it names is not there",
        _TABLE,
        confidence=0.9,
    ),
    Rule(
        "clickhouse.connection",
        "type",
        under(
            "clickhouse_driver.errors",
            names="NetworkError SocketTimeoutError UnexpectedPacketFromServerError "
            "PartiallyConsumedQueryError ChecksumDoesntMatchError",
        )
        + under("clickhouse_connect.driver.exceptions", names="StreamFailureError"),
        NETWORK,
        "the server cannot be reached, or the connection is out of step",
        "clickhouse-driver's class tree",
    ),
    Rule(
        "clickhouse.client-operational",
        "fallback",
        ("clickhouse_connect.driver.exceptions.OperationalError",),
        NETWORK,
        "the server cannot be reached",
        "clickhouse-connect's class tree",
        confidence=0.7,
    ),
    Rule(
        "clickhouse.any",
        "fallback",
        ("clickhouse_driver.errors.Error", "clickhouse_connect.driver.exceptions.Error"),
        TRANSIENT,
        "ClickHouse failed without saying how",
        "the drivers' class trees",
        confidence=0.4,
    ),
)
