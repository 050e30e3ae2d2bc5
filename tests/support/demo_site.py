"""A small shop to look at: workflows in every state, dead letters of several causes, a breaker that is open.

`seed` plays it on a harness; `Served` puts the real server before it, on a port of its own.
"""

from __future__ import annotations

import socket
import threading
import time
from types import TracebackType
from typing import Any, NamedTuple, Self
from uuid import UUID

import uvicorn

from remand.errors import PermanentError, RetryableError
from remand_app.config import Settings
from remand_app.domain.access import Role
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.engine import access, pauses, redrive
from remand_app.engine.operate import Who, breakers
from remand_app.runtime import Runtime
from remand_app.server import _uvicorn, create
from tests.support.bell import RecordingBell
from tests.support.engine import Harness
from tests.support.shapes import shape

PASSWORD = "seven wet otters"
_ORDER: dict[str, tuple[str, ...]] = {
    "reserve-stock": (),
    "check-fraud": (),
    "charge-card": ("reserve-stock", "check-fraud"),
    "write-invoice": ("charge-card",),
    "pack": ("charge-card",),
    "ship": ("pack",),
    "notify": ("write-invoice", "ship"),
}
_RESIZE: dict[str, tuple[str, ...]] = {"fetch": (), "resize": ("fetch",), "store": ("resize",)}


class Seeded(NamedTuple):
    """What pages of their own can be looked at."""

    workflow: UUID
    """It stands at a dead step."""
    redrive: UUID
    """It is planned and was not started."""


def seed(harness: Harness, *, orders: int = 24) -> Seeded:
    """Play some hours of the shop."""
    clock = harness.clock
    harness.publish(
        shape("order", _ORDER, namespace="shop", description="Takes an order from the cart to the door")
    )
    harness.publish(shape("resize", _RESIZE, namespace="media", description="Makes small pictures of scans"))
    harness.play(
        **{"charge-card": _charge, "resize": _resize, "ship": _ship, "reserve-stock": _slow(harness)}
    )
    stands = harness.submit("shop/order", _order(0, bank="old"))
    for hour in range(6):
        harness.submit_many("shop/order", [_order(100 * hour + n) for n in range(orders // 6)])
        harness.submit_many("shop/order", [_order(hour * 7 + n, bank="old") for n in range(hour % 3 + 1)])
        harness.submit_many("media/resize", [{"scan": f"scan-{hour}{n}", "kind": "tiff"} for n in range(2)])
        harness.run_until_quiet()
        harness.advance(minutes=31)
    harness.submit("shop/order", _order(7, carrier="strike"))
    harness.run_until_quiet()
    harness.submit_many("shop/order", [_order(900 + n) for n in range(5)])
    harness.bell.take()
    clock.advance(seconds=40)
    harness.worker.beat()
    pauses.pause_queue(harness.engine, "steps", by="ada", reason="the bank is moving house", via="cli")
    options = redrive.Options(canary=(1, 5), success_share=0.8, rate_per_second=5)
    scans, who = LetterFilter(template="resize"), Who("ada", "the scans came back whole")
    planned = redrive.plan(harness.engine, scans, who, options)
    breakers.open_breaker(harness.engine, "bank", by="ada", reason="announced maintenance", via="cli")
    return Seeded(stands, planned.redrive.id)


def _publish(
    harness: Harness, name: str, graph: dict[str, tuple[str, ...]], about: str, parts: dict[str, Any]
) -> None:
    """Publish a template whose steps each have a handler of their own."""
    namespace, _, short = name.partition("/")
    each = {step: {"handler": f"{namespace}.{step.replace('-', '_')}"} for step in graph}
    harness.publish(shape(short, graph, each=each, namespace=namespace, description=about))
    for step, more in each.items():
        harness.handlers.add(more["handler"], parts.get(step, lambda ctx: {"done": ctx.step}))


def _order(number: int, *, bank: str = "new", carrier: str = "fine") -> dict[str, Any]:
    return {
        "order": 4000 + number,
        "bank": bank,
        "carrier": carrier,
        "amount_cents": 1250 + 7 * number,
        "password": "not for every eye",
    }


def _charge(ctx: Any) -> Any:
    if ctx.input["bank"] == "old":
        raise PermanentError(f"the bank declined order {ctx.input['order']}: account closed")
    return {"paid_cents": ctx.input["amount_cents"]}


def _resize(ctx: Any) -> Any:
    raise PermanentError(f"cannot identify image file '{ctx.input['scan']}.tiff'")


def _ship(ctx: Any) -> Any:
    if ctx.input["carrier"] == "strike":
        raise RetryableError("the carrier answered 503: no pickup today")
    return {"parcel": f"RB{ctx.input['order']}"}


def _slow(harness: Harness) -> Any:
    def reserve(_ctx: Any) -> Any:
        harness.clock.advance(0.4)
        return {"shelf": "B7"}

    return reserve


class Served:
    """The server on a free port of this machine, in a thread; with one person of each role."""

    def __init__(self, settings: Settings, harness: Harness) -> None:
        self.runtime = Runtime(settings, bell=RecordingBell(), clock=harness.clock)
        for role in Role:
            access.add_user(self.runtime.engine, str(role), role, PASSWORD, Who("setup"))
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        config = _uvicorn(create(self.runtime), settings.web)
        config.timeout_graceful_shutdown = 1
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._door],), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started:
            assert self._thread.is_alive(), "the server ended"
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self.runtime.database.dispose()
