"""Find the servers: both URLs are set, or neither is and the embedded stack of `data_dir` supplies them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from remand_app.config import Settings
from remand_app.domain.errors import ConfigInvalid, Problem
from remand_app.embedded.stack import Stack

if TYPE_CHECKING:
    from remand_app.bell import CeleryBell


def with_urls(settings: Settings) -> Settings:
    """Return the settings with both URLs.

    Raises:
        ConfigInvalid: only one is set, or none and no embedded stack runs.
    """
    if has_urls(settings):
        return settings
    running = Stack.running(settings.data_dir)
    if running is None:
        raise _nothing_runs(settings)
    return settings.model_copy(
        update={"database_url": running.database_url, "broker_url": running.broker_url}
    )


def database_of(settings: Settings) -> str:
    """Return the database's URL; a broker is not needed.

    Raises:
        ConfigInvalid: none is set and no embedded stack runs.
    """
    url = settings.database_url or with_urls(settings).database_url
    assert url is not None
    return url


def has_urls(settings: Settings) -> bool:
    """Say whether servers are named; both or none.

    Raises:
        ConfigInvalid: only one is named.
    """
    given = {"database_url": settings.database_url, "broker_url": settings.broker_url}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        return not missing
    other = next(name for name in given if name not in missing)
    message = f"is not set, but {other} is: set both, or neither to use embedded servers"
    raise ConfigInvalid([Problem(None, None, missing[0], message, "URL_MISSING")])


def _nothing_runs(settings: Settings) -> ConfigInvalid:
    message = f"is not set, and no embedded servers run in {settings.data_dir.absolute()}"
    error = ConfigInvalid([Problem(None, None, "database_url", message, "NOTHING_RUNS")])
    error.hint = "start them: remand up; or name yours by REMAND_DATABASE_URL and REMAND_BROKER_URL"
    return error


class LateBell:
    """A bell that loads Celery when it is first rung, so that commands that only read never pay for it."""

    def __init__(self, settings: Settings) -> None:
        """Take settings that name the broker."""
        self._settings = settings
        self._bell: CeleryBell | None = None

    def ring(self, queues: Iterable[str]) -> None:
        """Ring for each queue. Never raises: the ring sweep rings again."""
        wanted = list(queues)
        if wanted:
            self._connected().ring(wanted)

    def pending(self, queue: str) -> int:
        """Return how many bells lie unheard in the broker."""
        return self._connected().pending(queue)

    def flush(self) -> None:
        """Ring what is owed."""
        if self._bell is not None:
            self._bell.flush()

    def check(self) -> None:
        """Make sure that the broker answers.

        Raises:
            BrokerUnreachable: it does not.
        """
        self._connected().check()

    def differing(self, queues: Iterable[str]) -> dict[str, str]:
        """Return which of these queues differ from ours, and how.

        Raises:
            BrokerUnreachable: the broker does not answer.
        """
        return self._connected().differing(queues)

    def _connected(self) -> CeleryBell:
        if self._bell is None:
            from remand_app.bell import bell_to  # noqa: PLC0415 - Celery costs a quarter of a second

            assert self._settings.broker_url is not None
            self._bell = bell_to(
                self._settings.broker_url,
                self._settings.broker_queue_type,
                self._settings.broker_timeout_seconds,
            )
        return self._bell
