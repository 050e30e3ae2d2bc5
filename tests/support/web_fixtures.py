"""Fixtures for tests of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from remand_app.store.database import Database
from tests.support.clock import FakeClock
from tests.support.web import Web


@pytest.fixture
def web_with(database: Database, clock: FakeClock) -> Iterator[Callable[..., Web]]:
    """Make a server with settings of `[web]` of its own."""
    made: list[Web] = []

    def make(**web: Any) -> Web:
        made.append(Web(database, clock, **web))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def web(web_with: Callable[..., Web]) -> Web:
    """The server on this test's database."""
    return web_with()
