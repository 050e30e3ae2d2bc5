"""`make bench-classify`: what a verdict costs, whether it grows with the rules, and how often it is right.

Times are the best of several runs, in microseconds. `peer` tells how they compare, in the same run, to what
people do by hand: a ladder of `isinstance` (which reads no code and no cause), and to one call of
`traceback.format_exception`, which every failure pays anyway.
"""

from __future__ import annotations

import errno
import json
import statistics
import sys
import time
import timeit
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import psycopg2
import psycopg2.errors
import redis.exceptions
import requests
import sqlalchemy.exc

from remand.classify import classify
from remand.rules import BOOK, Key, Rule, RuleBook
from remand.rules.user import UserRule
from tests.libraries.cases import caught, caused, families, passes
from tests.support.lookalikes import accepted, corpus_rows, look_alike

NOW = datetime(2026, 10, 1, tzinfo=UTC)
TIMES = 10
RUNS = 9
CALLS = 300


def main() -> None:
    """Measure; the last line of standard output is the result as JSON."""
    kinds = typical()
    by_kind = {name: cost(lambda exc=exc: classify(exc, now=NOW)) for name, exc in kinds.items()}
    figures = {
        "us": round(statistics.median(by_kind.values()), 1),
        **accuracy(),
        "us_by": {name: round(us, 1) for name, us in by_kind.items()},
        "peer": peers(kinds),
        "growth": round(growth(kinds, RuleBook(many_rules())), 2),
        "growth_user": round(growth(kinds, BOOK.extended([("bench", many_user_rules())])), 2),
        "rules": len(BOOK.rules),
        "others": others(),
    }
    for name, us in figures["us_by"].items():
        print(f"{name:22}{us:>8} µs", file=sys.stderr)
    print(json.dumps(figures))


def http(status: int, headers: dict[str, str], body: bytes = b"") -> BaseException:
    response = requests.Response()
    response.status_code, response._content = status, body
    response.headers.update(headers)
    return caught(response.raise_for_status)


def typical() -> dict[str, BaseException]:
    """Return one raised exception of each kind that a worker meets often."""
    deadlock = psycopg2.errors.DeadlockDetected("deadlock detected")
    deadlock.__setstate__({"pgcode": "40P01"})
    refused = psycopg2.OperationalError("connection to server failed: Connection refused")
    odd = type("Odd", (Exception,), {"__module__": "shop.errors"})
    made = {
        "http_503": http(503, {"Retry-After": "30", "Content-Type": "text/html"}),
        "http_429_json": http(429, {}, b'{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}'),
        "connection_refused": ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        "read_timeout": requests.exceptions.ReadTimeout("Read timed out. (read timeout=30)"),
        "sqlstate": deadlock,
        "sqlalchemy": sqlalchemy.exc.OperationalError("UPDATE t SET a=1", {}, deadlock),
        "no_code_text": refused,
        "redis": redis.exceptions.ConnectionError("Error 111 connecting to redis:6379."),
        "value_error": ValueError("invalid literal for int() with base 10: 'x'"),
        "wrapped": caused(RuntimeError("upload failed"), ConnectionResetError(104, "reset by peer")),
        "unknown": odd("something happened to order 4711"),
    }
    return {name: caught(lambda exc=exc: throw(exc)) for name, exc in made.items()}


def throw(exc: BaseException) -> None:
    raise exc


def cost(action: Callable[[], object]) -> float:
    # Time of the processor, not of the wall: other processes are no fault of the classifier.
    best = min(timeit.repeat(action, number=CALLS, repeat=RUNS, timer=time.process_time))
    return best / CALLS * 1e6


def accuracy() -> dict[str, float | int]:
    rows = corpus_rows()
    verdicts = [(row, classify(look_alike(row), now=NOW)) for row in rows]
    right = sum((v.category, v.policy) in accepted(row) for row, v in verdicts)
    direction = sum(
        (v.policy == "never") in {policy == "never" for _, policy in accepted(row)} for row, v in verdicts
    )
    return {
        "retry_or_never": round(direction / len(rows), 4),
        "exact": round(right / len(rows), 4),
        "rows": len(rows),
    }


def others() -> dict[str, float | int]:
    """Return the score on the exceptions of `tests/libraries` whose libraries are installed here."""
    judged: list[bool] = []
    for family in families():
        try:
            cases = list(family.make())
        except ImportError:
            continue
        judged += [passes(case, classify(case.exc, now=NOW)) for case in cases]
    return {"rows": len(judged), "exact": round(statistics.fmean(judged), 4)}


def peers(kinds: dict[str, BaseException]) -> dict[str, float]:
    """Return the cost of a verdict in units of a ladder, and in units of a formatted traceback (medians)."""
    ours = [cost(lambda exc=exc: classify(exc, now=NOW)) for exc in kinds.values()]
    by_hand = [cost(lambda exc=exc: ladder(exc)) for exc in kinds.values()]
    formatted = [cost(lambda exc=exc: traceback.format_exception(exc)) for exc in kinds.values()]
    return {
        "isinstance_ladder": round(statistics.median(ours) / statistics.median(by_hand), 1),
        "format_exception": round(statistics.median(ours) / statistics.median(formatted), 2),
    }


def ladder(exc: BaseException) -> str:
    """Judge as people do by hand: classes, and the status of an answer."""
    if isinstance(exc, requests.HTTPError):
        status = exc.response.status_code if exc.response is not None else 0
        return "retry" if status >= 500 or status in {408, 429} else "never"
    if isinstance(exc, (requests.ConnectionError, requests.Timeout, ConnectionError, TimeoutError)):
        return "retry"
    if isinstance(exc, (psycopg2.OperationalError, sqlalchemy.exc.OperationalError)):
        return "retry"
    if isinstance(exc, redis.exceptions.RedisError):
        return "retry"
    if isinstance(exc, (ValueError, TypeError, KeyError, AttributeError)):
        return "never"
    return "retry"


def growth(kinds: dict[str, BaseException], book: RuleBook) -> float:
    """Return how many times as long a verdict takes by that book, in the middle."""
    ratios = []
    for exc in kinds.values():
        small = cost(lambda exc=exc: classify(exc, now=NOW))
        large = cost(lambda exc=exc: classify(exc, now=NOW, book=book))
        ratios.append(large / small)
    return statistics.median(ratios)


def many_rules() -> list[Rule]:
    """Return ten times the rules: the others hold for keys that nothing here has."""
    return [
        *BOOK.rules,
        *(
            replace(rule, name=f"{rule.name}.{n}", keys=tuple(far(key, n) for key in rule.keys))
            for n in range(1, TIMES)
            for rule in BOOK.rules
            if rule.kind != "text"
        ),
    ]


def far(key: Key, n: int) -> Key:
    return f"{key}.copy{n}" if isinstance(key, str) else key + 1_000_000 * n


def many_user_rules() -> list[UserRule]:
    return [
        UserRule(name=f"bench.{n}", category="permanent", errors=(f"shop.errors.Number{n}",))
        for n in range(len(BOOK.rules) * (TIMES - 1))
    ]


if __name__ == "__main__":
    main()
